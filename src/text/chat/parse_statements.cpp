#include <fmt/format.h>

#include <algorithm>

#include "base/errors.hpp"
#include "text/chat/nesting.hpp"
#include "text/chat/parser.hpp"
#include "text/chat/scope.hpp"

namespace moe::text::jinja {
namespace {

constexpr std::string_view kMendFix = "mend the template or restore it from its source";
constexpr std::string_view kRefuseFix = "use a chat template without this construct";

}  // namespace

Error Parser::fail(const std::string& what, int line) const {
  return corrupt(fmt::format("{}:{}: {}", name_, line == 0 ? current().line : line, what),
                 std::string(kMendFix));
}

Error Parser::refuse(const std::string& what, int line) const {
  return unsupported(fmt::format("{}:{}: {}", name_, line, what), std::string(kRefuseFix));
}

Error Parser::unexpected() const {
  switch (current().kind) {
    case TokenKind::kEnd:
      return fail("unexpected end of template");
    case TokenKind::kBlockEnd:
      return fail("unexpected end of tag");
    case TokenKind::kVariableEnd:
      return fail("unexpected end of expression");
    case TokenKind::kString:
      return fail("unexpected string");
    default:
      return fail(fmt::format("unexpected '{}'", current().text));
  }
}

bool Parser::skip_operator(std::string_view op) {
  if (!at_operator(op)) return false;
  advance();
  return true;
}

bool Parser::skip_name(std::string_view word) {
  if (!at_name(word)) return false;
  advance();
  return true;
}

Status Parser::expect_operator(std::string_view op) {
  if (skip_operator(op)) return {};
  Error error = unexpected();
  error.message += fmt::format(", expected '{}'", op);
  return error;
}

Status Parser::expect_name(std::string_view word) {
  if (skip_name(word)) return {};
  Error error = unexpected();
  error.message += fmt::format(", expected '{}'", word);
  return error;
}

Result<std::string> Parser::expect_any_name() {
  if (current().kind != TokenKind::kName) {
    Error error = unexpected();
    error.message += ", expected a name";
    return error;
  }
  std::string text = current().text;
  advance();
  return text;
}

Status Parser::expect(TokenKind kind, std::string_view what) {
  if (current().kind == kind) {
    advance();
    return {};
  }
  Error error = unexpected();
  error.message += fmt::format(", expected {}", what);
  return error;
}

Result<std::vector<Stmt>> Parser::parse_template() { return parse_body({}); }

// Statements up to a tag whose word is one of `ends`; that word is then the current token.
Result<std::vector<Stmt>> Parser::parse_body(const Ends& ends) {
  NestingGuard guard(statement_nesting_);
  if (statement_nesting_ > limits_.nesting) {
    return fail(fmt::format("statements are nested deeper than {}", limits_.nesting));
  }
  std::vector<Stmt> body;
  while (current().kind != TokenKind::kEnd) {
    const int line = current().line;
    if (current().kind == TokenKind::kData) {
      Stmt data(StmtKind::kData, line);
      data.data = Value::literal(current().text);
      body.push_back(std::move(data));
      advance();
    } else if (current().kind == TokenKind::kVariableBegin) {
      advance();
      Stmt output(StmtKind::kOutput, line);
      output.expr = TRY(parse_tuple(TupleOf::kExpressions, false));
      TRY(expect(TokenKind::kVariableEnd, "}}"));
      body.push_back(std::move(output));
    } else {
      TRY(expect(TokenKind::kBlockBegin, "a tag"));
      const bool ended = current().kind == TokenKind::kName &&
                         std::find(ends.begin(), ends.end(), current().text) != ends.end();
      if (ended) return body;
      TRY(parse_tag(body));
    }
  }
  if (!ends.empty()) {
    return fail(
        fmt::format("unexpected end of template, expected '{}'", fmt::join(ends, "' or '")));
  }
  return body;
}

// As parse_body, for the rest of an opening tag and what follows it.
Result<std::vector<Stmt>> Parser::parse_block_body(const Ends& ends) {
  skip_operator(":");
  TRY(expect(TokenKind::kBlockEnd, "%}"));
  return parse_body(ends);
}

Status Parser::parse_tag(std::vector<Stmt>& body) {
  if (current().kind != TokenKind::kName) return fail("expected the name of a statement");
  const std::string word = current().text;
  const int line = current().line;
  advance();
  if (word == "print") {
    TRY(parse_print(body));
  } else {
    body.push_back(TRY(parse_statement(word, line)));
  }
  return expect(TokenKind::kBlockEnd, "%}");
}

Result<Stmt> Parser::parse_statement(const std::string& word, int line) {
  if (word == "for") return parse_for(line);
  if (word == "if") return parse_if(line);
  if (word == "set") return parse_set(line);
  if (word == "macro") return parse_macro(line);
  if (word == "call") return parse_call_block(line);
  if (word == "generation") return parse_generation(line);
  if (word == "filter") return parse_filter_block(line);
  if (word == "with") return parse_with(line);
  if (word == "break" || word == "continue") {
    TRY(require_loop(word, line));
    return Stmt(word == "break" ? StmtKind::kBreak : StmtKind::kContinue, line);
  }
  constexpr std::string_view kKnown[] = {"block",      "extends", "include", "import", "from",
                                         "autoescape", "do",      "trans",   "debug"};
  if (std::find(std::begin(kKnown), std::end(kKnown), word) != std::end(kKnown)) {
    return refuse(fmt::format("the statement '{}' is not supported", word), line);
  }
  return fail(fmt::format("unknown statement '{}'", word), line);
}

Status Parser::require_loop(std::string_view word, int line) const {
  if (loops_ > 0) return {};
  return fail(fmt::format("'{}' outside a loop", word), line);
}

Result<Stmt> Parser::parse_for(int line) {
  Stmt stmt(StmtKind::kFor, line);
  stmt.target = TRY(parse_target(false));
  TRY(expect_name("in"));
  stmt.expr = TRY(parse_tuple(TupleOf::kPlainExpressions, false));
  if (skip_name("if")) stmt.test = TRY(parse_expression());
  if (at_name("recursive")) return refuse("'for ... recursive' is not supported", line);
  ++loops_;
  auto body = parse_block_body({"endfor", "else"});
  --loops_;
  if (!body) return std::move(body).error();
  stmt.body = std::move(*body);
  if (skip_name("endfor")) return stmt;
  advance();
  stmt.orelse = TRY(parse_block_body({"endfor"}));
  advance();
  return stmt;
}

Result<Stmt> Parser::parse_if(int line) {
  Stmt stmt(StmtKind::kIf, line);
  while (true) {
    Stmt::Branch branch;
    branch.test = TRY(parse_tuple(TupleOf::kPlainExpressions, false));
    branch.body = TRY(parse_block_body({"elif", "else", "endif"}));
    stmt.branches.push_back(std::move(branch));
    if (skip_name("elif")) continue;
    if (skip_name("else")) {
      Stmt::Branch last;
      last.body = TRY(parse_block_body({"endif"}));
      stmt.branches.push_back(std::move(last));
    }
    advance();
    return stmt;
  }
}

Result<Stmt> Parser::parse_set(int line) {
  Stmt stmt(StmtKind::kSet, line);
  stmt.target = TRY(parse_target(true));
  if (skip_operator("=")) {
    stmt.expr = TRY(parse_tuple(TupleOf::kExpressions, false));
    return stmt;
  }
  stmt.kind = StmtKind::kSetBlock;
  if (at_operator("|")) {
    ExprPtr filter;
    while (skip_operator("|")) filter = TRY(parse_filter(std::move(filter)));
    stmt.expr = std::move(filter);
  }
  stmt.body = TRY(parse_block_body({"endset"}));
  advance();
  return stmt;
}

// The body of what runs as a function of its own: loops around it do not count.
Result<std::vector<Stmt>> Parser::parse_function_body(const Ends& ends) {
  const int loops = loops_;
  loops_ = 0;
  auto body = parse_block_body(ends);
  loops_ = loops;
  return body;
}

Result<Stmt> Parser::parse_macro(int line) {
  Stmt stmt(StmtKind::kMacro, line);
  stmt.function = std::make_unique<Function>();
  stmt.function->line = line;
  stmt.target = make(ExprKind::kName, line);
  stmt.target->name = TRY(parse_target_name());
  stmt.function->name = stmt.target->name;
  TRY(parse_signature(*stmt.function));
  stmt.function->body = TRY(parse_function_body({"endmacro"}));
  advance();
  return stmt;
}

Status Parser::parse_signature(Function& function) {
  TRY(expect_operator("("));
  while (!at_operator(")")) {
    if (!function.parameters.empty()) TRY(expect_operator(","));
    std::string parameter = TRY(parse_target_name());
    auto& all = function.parameters;
    if (std::find(all.begin(), all.end(), parameter) != all.end()) {
      return fail(fmt::format("duplicate parameter '{}'", parameter));
    }
    if (skip_operator("=")) {
      function.defaults.push_back(TRY(parse_expression()));
    } else if (!function.defaults.empty()) {
      return fail("a parameter without default follows one with default");
    }
    all.push_back(std::move(parameter));
  }
  return expect_operator(")");
}

Result<Stmt> Parser::parse_call_block(int line) {
  Stmt stmt(StmtKind::kCallBlock, line);
  stmt.function = std::make_unique<Function>();
  stmt.function->line = line;
  if (at_operator("(")) TRY(parse_signature(*stmt.function));
  stmt.expr = TRY(parse_expression());
  if (stmt.expr->kind != ExprKind::kCall) return fail("expected a call", line);
  stmt.function->body = TRY(parse_function_body({"endcall"}));
  advance();
  return stmt;
}

Result<Stmt> Parser::parse_generation(int line) {
  Stmt stmt(StmtKind::kGeneration, line);
  stmt.function = std::make_unique<Function>();
  stmt.function->line = line;
  stmt.function->body = TRY(parse_function_body({"endgeneration"}));
  advance();
  return stmt;
}

Result<Stmt> Parser::parse_filter_block(int line) {
  Stmt stmt(StmtKind::kFilterBlock, line);
  ExprPtr filter = TRY(parse_filter(nullptr));
  while (skip_operator("|")) filter = TRY(parse_filter(std::move(filter)));
  stmt.expr = std::move(filter);
  stmt.body = TRY(parse_block_body({"endfilter"}));
  advance();
  return stmt;
}

Result<Stmt> Parser::parse_with(int line) {
  Stmt stmt(StmtKind::kWith, line);
  while (current().kind != TokenKind::kBlockEnd) {
    if (!stmt.items.empty()) TRY(expect_operator(","));
    stmt.items.push_back(TRY(parse_target(false)));
    TRY(expect_operator("="));
    stmt.items.push_back(TRY(parse_expression()));
  }
  stmt.body = TRY(parse_block_body({"endwith"}));
  advance();
  return stmt;
}

Status Parser::parse_print(std::vector<Stmt>& body) {
  bool first = true;
  while (current().kind != TokenKind::kBlockEnd) {
    if (!first) TRY(expect_operator(","));
    first = false;
    Stmt output(StmtKind::kOutput, current().line);
    output.expr = TRY(parse_expression());
    body.push_back(std::move(output));
  }
  return {};
}

Result<std::unique_ptr<Function>> parse_template(std::string_view source, std::string_view name,
                                                 const Limits& limits) {
  if (source.size() > limits.template_bytes) {
    return corrupt(fmt::format("{}: the template has {} bytes, the limit is {}", name,
                               source.size(), limits.template_bytes),
                   "use a smaller chat template");
  }
  if (!is_valid_utf8(source)) {
    return corrupt(fmt::format("{}: the template is not valid UTF-8", name), std::string(kMendFix));
  }
  auto root = std::make_unique<Function>();
  root->line = 1;
  Parser parser(TRY(tokenize(source, name)), name, limits);
  root->body = TRY(parser.parse_template());
  TRY(resolve_names(*root, name));
  return root;
}

}  // namespace moe::text::jinja
