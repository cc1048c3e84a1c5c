#include "text/chat/scope.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "base/errors.hpp"

namespace moe::text::jinja {
namespace {

// A place: which function (0 is the template itself, 1 a macro in it, ...) and which slot there.
struct Place {
  int function;
  int slot;
  auto operator<=>(const Place&) const = default;
};

enum class LoadKind { kParameter, kContext, kAlias, kUnset };
struct Load {
  LoadKind kind;
  Place source;  // kAlias
};

// The names of one scope. Branches of `if` work on copies that are merged afterwards.
struct Scope {
  const Scope* parent = nullptr;
  int function = 0;
  std::shared_ptr<std::map<std::string, int>> slots;  // shared by the copies of one scope
  int* slot_count = nullptr;
  std::map<std::string, Place> refs;
  std::map<Place, Load> loads;
  std::set<std::string> stores;

  const Place* find(const std::string& name) const {
    const auto at = refs.find(name);
    if (at != refs.end()) return &at->second;
    return parent == nullptr ? nullptr : parent->find(name);
  }

  Place define(const std::string& name, Load load) {
    const auto [at, added] = slots->try_emplace(name, *slot_count);
    if (added) ++*slot_count;
    const Place place{function, at->second};
    refs[name] = place;
    loads[place] = load;
    return place;
  }

  void store(const std::string& name) {
    stores.insert(name);
    if (refs.contains(name)) return;
    const Place* outer = parent == nullptr ? nullptr : parent->find(name);
    define(name, outer != nullptr ? Load{LoadKind::kAlias, *outer} : Load{LoadKind::kUnset, {}});
  }
  Place parameter(const std::string& name) {
    stores.insert(name);
    return define(name, {LoadKind::kParameter, {}});
  }
  void load(const std::string& name) {
    if (find(name) == nullptr) define(name, {LoadKind::kContext, {}});
  }

  // After an `if`: what one branch stores and another does not keeps its outer value there.
  void merge(const std::vector<Scope>& branches) {
    std::set<std::string> added;
    for (const Scope& branch : branches) {
      for (const std::string& name : branch.stores) {
        if (!stores.contains(name)) added.insert(name);
      }
    }
    for (const Scope& branch : branches) {
      for (const auto& [name, place] : branch.refs) refs[name] = place;
      for (const auto& [place, load] : branch.loads) loads[place] = load;
      stores.insert(branch.stores.begin(), branch.stores.end());
    }
    for (const std::string& name : added) {
      const Place* outer = parent == nullptr ? nullptr : parent->find(name);
      loads[refs.at(name)] =
          outer != nullptr ? Load{LoadKind::kAlias, *outer} : Load{LoadKind::kContext, {}};
    }
  }
};

Scope inner_scope(const Scope& outer) {
  Scope scope;
  scope.parent = &outer;
  scope.function = outer.function;
  scope.slots = std::make_shared<std::map<std::string, int>>();
  scope.slot_count = outer.slot_count;
  return scope;
}

template <class Visit>
void for_each_child(const Expr& expr, const Visit& visit) {
  for (const ExprPtr& item : expr.items) {
    if (item != nullptr) visit(*item);
  }
  for (const auto& [name, value] : expr.keywords) visit(*value);
  if (expr.dyn_args != nullptr) visit(*expr.dyn_args);
  if (expr.dyn_keywords != nullptr) visit(*expr.dyn_keywords);
}

// The expressions of a statement itself, not of its bodies.
template <class Visit>
void for_each_expr(const Stmt& stmt, const Visit& visit) {
  for (const ExprPtr* expr : {&stmt.target, &stmt.expr, &stmt.test}) {
    if (*expr != nullptr) visit(**expr);
  }
  for (const ExprPtr& item : stmt.items) visit(*item);
  for (const Stmt::Branch& branch : stmt.branches) {
    if (branch.test != nullptr) visit(*branch.test);
  }
  if (stmt.function != nullptr) {
    for (const ExprPtr& value : stmt.function->defaults) visit(*value);
  }
}

template <class Visit>
void for_each_body(const Stmt& stmt, const Visit& visit) {
  visit(stmt.body);
  visit(stmt.orelse);
  for (const Stmt::Branch& branch : stmt.branches) visit(branch.body);
  if (stmt.function != nullptr) visit(stmt.function->body);
}

bool mentions(const Expr& expr, std::string_view name) {
  if (expr.kind == ExprKind::kName && expr.name == name) return true;
  bool found = false;
  for_each_child(expr, [&](const Expr& child) { found = found || mentions(child, name); });
  return found;
}

bool mentions(const std::vector<Stmt>& body, std::string_view name) {
  bool found = false;
  for (const Stmt& stmt : body) {
    for_each_expr(stmt, [&](const Expr& expr) { found = found || mentions(expr, name); });
    for_each_body(stmt, [&](const auto& inner) { found = found || mentions(inner, name); });
  }
  return found;
}

bool assigns(const Expr& target, std::string_view name) {
  if (target.kind == ExprKind::kName) return target.name == name;
  return std::any_of(target.items.begin(), target.items.end(),
                     [&](const ExprPtr& item) { return assigns(*item, name); });
}

bool assigns(const std::vector<Stmt>& body, std::string_view name) {
  bool found = false;
  for (const Stmt& stmt : body) {
    // A macro's name is no assignment in this sense.
    const bool has_target = stmt.target != nullptr && stmt.kind != StmtKind::kMacro;
    found = found || (has_target && assigns(*stmt.target, name));
    for_each_body(stmt, [&](const auto& inner) { found = found || assigns(inner, name); });
  }
  return found;
}

class Resolver {
 public:
  explicit Resolver(std::string_view template_name) : template_name_(template_name) {}

  Status resolve_root(Function& root) {
    Scope scope;
    scope.slots = std::make_shared<std::map<std::string, int>>();
    scope.slot_count = &root.slot_count;
    collect(root.body, scope);
    if (mentions(root.body, "self") && !assigns(root.body, "self")) {
      return unsupported(fmt::format("{}: the variable 'self' is not supported", template_name_),
                         "use a chat template without blocks");
    }
    TRY(bind(root.body, scope, false));
    root.frame = frame_of(scope);
    return {};
  }

 private:
  Error fail(int line, const std::string& what) const {
    return corrupt(fmt::format("{}:{}: {}", template_name_, line, what),
                   "mend the template or use another chat template");
  }

  // First pass over one scope: which names it loads and stores, in source order.
  void collect(const Expr& expr, Scope& scope) {
    if (expr.kind == ExprKind::kName || expr.kind == ExprKind::kNamespaceRef) scope.load(expr.name);
    for_each_child(expr, [&](const Expr& child) { collect(child, scope); });
  }
  void collect_target(const Expr& target, Scope& scope, bool as_parameter) {
    if (target.kind == ExprKind::kNamespaceRef) {
      scope.load(target.name);
    } else if (target.kind == ExprKind::kTuple) {
      for (const ExprPtr& item : target.items) collect_target(*item, scope, as_parameter);
    } else if (as_parameter) {
      scope.parameter(target.name);
    } else {
      scope.store(target.name);
    }
  }

  void collect(const std::vector<Stmt>& body, Scope& scope) {
    for (const Stmt& stmt : body) collect(stmt, scope);
  }

  void collect(const Stmt& stmt, Scope& scope) {
    switch (stmt.kind) {
      case StmtKind::kIf:
        return collect_if(stmt, scope);
      case StmtKind::kSet:
        collect(*stmt.expr, scope);
        return collect_target(*stmt.target, scope, false);
      case StmtKind::kSetBlock:
        return collect_target(*stmt.target, scope, false);
      case StmtKind::kMacro:
        return scope.store(stmt.target->name);
      case StmtKind::kWith:
        for (size_t i = 1; i < stmt.items.size(); i += 2) collect(*stmt.items[i], scope);
        return;
      case StmtKind::kOutput:
      case StmtKind::kFor:
      case StmtKind::kCallBlock:
      case StmtKind::kFilterBlock:
        return collect(*stmt.expr, scope);
      case StmtKind::kData:
      case StmtKind::kGeneration:
      case StmtKind::kBreak:
      case StmtKind::kContinue:
        return;
    }
  }

  void collect_if(const Stmt& stmt, Scope& scope) {
    const auto& branches = stmt.branches;
    collect(*branches[0].test, scope);
    std::vector<Scope> copies(2, scope);
    collect(branches[0].body, copies[0]);
    // jinja2 analyses all elif parts in one copy, one after the other, and else in another.
    for (size_t i = 1; i < branches.size(); ++i) {
      if (branches[i].test != nullptr) {
        collect_elif(branches[i], copies[1]);
      } else {
        copies.push_back(scope);
        collect(branches[i].body, copies.back());
      }
    }
    scope.merge(copies);
  }

  void collect_elif(const Stmt::Branch& branch, Scope& scope) {
    collect(*branch.test, scope);
    std::vector<Scope> copies(1, scope);
    collect(branch.body, copies[0]);
    scope.merge(copies);
  }

  // Second pass: every name gets its place; scopes inside are opened.
  void bind_name(Expr& expr, const Scope& scope) {
    const Place* place = scope.find(expr.name);
    expr.ref = {scope.function - place->function, place->slot};
  }

  Status bind(Expr& expr, const Scope& scope, bool soft) {
    if (expr.kind == ExprKind::kName || expr.kind == ExprKind::kNamespaceRef) {
      bind_name(expr, scope);
    }
    if (expr.kind == ExprKind::kFilter && expr.filter == nullptr && !soft) {
      return fail(expr.line, fmt::format("no filter named '{}'", expr.name));
    }
    if (expr.kind == ExprKind::kTest && expr.test == nullptr && !soft) {
      return fail(expr.line, fmt::format("no test named '{}'", expr.name));
    }
    const bool inner_soft = soft || expr.kind == ExprKind::kConditional;
    Status status;
    for_each_child(expr, [&](const Expr& child) {
      if (status.ok()) status = bind(const_cast<Expr&>(child), scope, inner_soft);
    });
    return status;
  }

  Status bind(std::vector<Stmt>& body, const Scope& scope, bool soft) {
    for (Stmt& stmt : body) TRY(bind(stmt, scope, soft));
    return {};
  }

  // `soft`: inside a branch, where jinja2 lets an unknown filter be until it is used.
  Status bind(Stmt& stmt, const Scope& scope, bool soft) {
    switch (stmt.kind) {
      case StmtKind::kIf:
        for (Stmt::Branch& branch : stmt.branches) {
          if (branch.test != nullptr) TRY(bind(*branch.test, scope, true));
          TRY(bind(branch.body, scope, true));
        }
        return {};
      case StmtKind::kSet:
        TRY(bind(*stmt.expr, scope, soft));
        return bind(*stmt.target, scope, soft);
      case StmtKind::kOutput:
        return bind(*stmt.expr, scope, soft);
      case StmtKind::kFor:
        return bind_for(stmt, scope, soft);
      case StmtKind::kSetBlock:
        TRY(bind(*stmt.target, scope, soft));
        return bind_block(stmt, scope);
      case StmtKind::kFilterBlock:
        return bind_block(stmt, scope);
      case StmtKind::kWith:
        return bind_with(stmt, scope, soft);
      case StmtKind::kMacro:
        TRY(bind(*stmt.target, scope, soft));
        return bind_function(*stmt.function, scope);
      case StmtKind::kCallBlock:
        TRY(bind(*stmt.expr, scope, soft));
        return bind_function(*stmt.function, scope);
      case StmtKind::kGeneration:
        return bind_function(*stmt.function, scope);
      case StmtKind::kData:
      case StmtKind::kBreak:
      case StmtKind::kContinue:
        return {};
    }
    return {};
  }

  Status bind_for(Stmt& stmt, const Scope& scope, bool soft) {
    if (assigns(*stmt.target, "loop") || assigns(stmt.body, "loop") ||
        assigns(stmt.orelse, "loop")) {
      return fail(stmt.line, "cannot assign to the special variable 'loop' within a loop");
    }
    TRY(bind(*stmt.expr, scope, soft));
    Scope loop = inner_scope(scope);
    if (mentions(stmt.body, "loop")) stmt.loop_slot = loop.parameter("loop").slot;
    collect_target(*stmt.target, loop, true);
    collect(stmt.body, loop);
    TRY(bind(*stmt.target, loop, false));
    TRY(bind(stmt.body, loop, false));
    stmt.frame = frame_of(loop);
    if (stmt.test != nullptr) {
      Scope test = inner_scope(scope);
      collect_target(*stmt.target, test, true);
      collect(*stmt.test, test);
      TRY(bind(*stmt.test, test, false));
      stmt.test_frame = frame_of(test);
      // The loop's `if` sees the target through slots of its own.
      stmt.items.push_back(copy_target(*stmt.target));
      TRY(bind(*stmt.items[0], test, false));
    }
    if (!stmt.orelse.empty()) {
      Scope orelse = inner_scope(scope);
      collect(stmt.orelse, orelse);
      TRY(bind(stmt.orelse, orelse, false));
      stmt.orelse_frame = frame_of(orelse);
    }
    return {};
  }

  static ExprPtr copy_target(const Expr& target) {
    auto copy = std::make_unique<Expr>();
    copy->kind = target.kind;
    copy->line = target.line;
    copy->name = target.name;
    for (const ExprPtr& item : target.items) copy->items.push_back(copy_target(*item));
    return copy;
  }

  Status bind_block(Stmt& stmt, const Scope& scope) {
    Scope block = inner_scope(scope);
    collect(stmt.body, block);
    if (stmt.expr != nullptr) collect(*stmt.expr, block);
    TRY(bind(stmt.body, block, false));
    if (stmt.expr != nullptr) TRY(bind(*stmt.expr, block, false));
    stmt.frame = frame_of(block);
    return {};
  }

  Status bind_with(Stmt& stmt, const Scope& scope, bool soft) {
    Scope with = inner_scope(scope);
    for (size_t i = 0; i < stmt.items.size(); i += 2) collect_target(*stmt.items[i], with, true);
    collect(stmt.body, with);
    for (size_t i = 0; i < stmt.items.size(); i += 2) {
      TRY(bind(*stmt.items[i], with, soft));
      TRY(bind(*stmt.items[i + 1], scope, soft));
    }
    TRY(bind(stmt.body, with, false));
    stmt.frame = frame_of(with);
    return {};
  }

  Status bind_function(Function& function, const Scope& scope) {
    Scope inner = inner_scope(scope);
    inner.function = scope.function + 1;
    inner.slot_count = &function.slot_count;
    for (const std::string& parameter : function.parameters) {
      function.parameter_slots.push_back(inner.parameter(parameter).slot);
      if (parameter == "caller") function.explicit_caller = true;
    }
    if (function.explicit_caller && mentions(function.body, "caller") &&
        (function.defaults.empty() || function.parameters.back() != "caller")) {
      return fail(function.line, "the parameter 'caller' must be the last one and have a default");
    }
    const auto special = [&](const char* name) {
      const auto& all = function.parameters;
      const bool declared = std::find(all.begin(), all.end(), name) != all.end();
      return declared || !mentions(function.body, name) ? -1 : inner.parameter(name).slot;
    };
    function.caller_slot = special("caller");
    function.kwargs_slot = special("kwargs");
    function.varargs_slot = special("varargs");
    for (const ExprPtr& value : function.defaults) collect(*value, inner);
    collect(function.body, inner);
    for (const ExprPtr& value : function.defaults) TRY(bind(*value, inner, false));
    TRY(bind(function.body, inner, false));
    function.frame = frame_of(inner);
    return {};
  }

  static ScopeFrame frame_of(const Scope& scope) {
    ScopeFrame frame;
    std::map<int, std::string> names;
    for (const auto& [name, slot] : *scope.slots) names[slot] = name;
    for (const auto& [place, load] : scope.loads) {
      frame.slots.push_back(place.slot);
      const Ref source{scope.function - load.source.function, load.source.slot};
      switch (load.kind) {
        case LoadKind::kParameter:
          break;
        case LoadKind::kContext:
          frame.loads.push_back({ScopeLoad::Action::kContext, place.slot, {}, names[place.slot]});
          break;
        case LoadKind::kAlias:
          frame.loads.push_back({ScopeLoad::Action::kAlias, place.slot, source, {}});
          break;
        case LoadKind::kUnset:
          frame.loads.push_back({ScopeLoad::Action::kUnset, place.slot, {}, {}});
          break;
      }
    }
    return frame;
  }

  std::string_view template_name_;
};

}  // namespace

Status resolve_names(Function& root, std::string_view template_name) {
  return Resolver(template_name).resolve_root(root);
}

}  // namespace moe::text::jinja
