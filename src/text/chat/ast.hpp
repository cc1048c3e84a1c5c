// The syntax tree of a template, made by the parser; scope.cpp then fills in where names live.
// Read-only while rendering, so one tree serves any number of threads.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "text/chat/builtins.hpp"
#include "text/chat/value.hpp"

namespace moe::text::jinja {

// Where a variable lives: `hops` function activations outwards, at `slot`.
struct Ref {
  int hops = 0;
  int slot = -1;
};

enum class ExprKind {
  kConstant,
  kName,       // name, ref
  kList,       // items
  kTuple,      // items
  kDict,       // items: key, value, key, value ...
  kAttribute,  // items[0].name
  kItem,       // items[0][items[1]]
  kSlice,      // items[0][items[1]:items[2]:items[3]], absent ones null
  kCall,       // items[0](items[1..], keywords, dyn_args, dyn_keywords)
  kFilter,     // items[0]|name(items[1..], ...); items[0] null in filter blocks
  kTest,       // items[0] is name(items[1..], ...)
  kNot,        // items[0]
  kNegate,
  kPlus,
  kAnd,           // items
  kOr,            // items
  kCompare,       // items[0] ops[0] items[1] ops[1] items[2] ...
  kArithmetic,    // the same, left to right
  kConcat,        // items joined by ~
  kConditional,   // items[0] if items[1] else items[2] (null: undefined)
  kNamespaceRef,  // assignment target name.attribute: name, ref, attribute
};

enum class Op {
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kFloorDivide,
  kModulo,
  kPower,
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kIn,
  kNotIn
};

struct Expr;
using ExprPtr = std::unique_ptr<Expr>;

struct Expr {
  ExprKind kind;
  int line;
  int depth = 1;
  std::string name;
  std::string attribute;
  Ref ref;
  Value constant;
  std::vector<ExprPtr> items;
  std::vector<Op> ops;
  std::vector<std::pair<std::string, ExprPtr>> keywords;
  ExprPtr dyn_args;
  ExprPtr dyn_keywords;
  // Null when nothing of that name exists: then using it is an error.
  const Filter* filter = nullptr;
  const Test* test = nullptr;
};

// What entering a scope does to the variables that it names.
struct ScopeLoad {
  enum class Action { kContext, kAlias, kUnset };
  Action action;
  int slot;          // in the current activation
  Ref source;        // kAlias
  std::string name;  // kContext
};
struct ScopeFrame {
  std::vector<ScopeLoad> loads;
  std::vector<int> slots;  // all slots of the scope: unset when it is left
};

// A macro, the body of a call block, or the whole template: what has variables of its own.
struct Function {
  std::string name;  // empty: a call block's body
  int line = 0;
  int slot_count = 0;
  ScopeFrame frame;
  std::vector<std::string> parameters;
  std::vector<int> parameter_slots;
  std::vector<ExprPtr> defaults;  // of the last parameters
  int caller_slot = -1;           // -1: not used by the body
  int kwargs_slot = -1;
  int varargs_slot = -1;
  bool explicit_caller = false;  // "caller" is among the parameters
  std::vector<struct Stmt> body;
};

enum class StmtKind {
  kData,         // data
  kOutput,       // expr
  kIf,           // branches
  kFor,          // target in expr if test: body else orelse
  kSet,          // target = expr
  kSetBlock,     // target = body, filtered by expr when given
  kMacro,        // target is the name; function
  kCallBlock,    // expr is the call; function is the caller
  kGeneration,   // function
  kFilterBlock,  // expr is the filter; body
  kWith,         // items: target, value, target, value ...; body
  kBreak,
  kContinue,
};

struct Stmt {
  // Defined in ast.cpp, where Branch is complete.
  Stmt(StmtKind kind_in, int line_in);
  ~Stmt();
  Stmt(Stmt&&) noexcept;
  Stmt& operator=(Stmt&&) noexcept;

  StmtKind kind;
  int line;
  Value data;
  ExprPtr target;
  ExprPtr expr;
  ExprPtr test;
  std::vector<ExprPtr> items;
  std::vector<Stmt> body;
  std::vector<Stmt> orelse;
  struct Branch;
  std::vector<Branch> branches;
  std::unique_ptr<Function> function;
  ScopeFrame frame;
  ScopeFrame test_frame;
  ScopeFrame orelse_frame;
  int loop_slot = -1;  // of the variable `loop`; -1: not used
};

struct Stmt::Branch {
  ExprPtr test;  // null: else
  std::vector<Stmt> body;
};

}  // namespace moe::text::jinja
