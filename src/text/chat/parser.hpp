// Tokens to syntax tree. The grammar is jinja2's; a statement, filter or test that does not exist
// is an error with its line. Statements are in parse_statements.cpp, expressions in
// parse_expressions.cpp.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/chat/ast.hpp"
#include "text/chat/lexer.hpp"
#include "text/chat/limits.hpp"

namespace moe::text::jinja {

class Parser {
 public:
  Parser(std::vector<Token> tokens, std::string_view name, const Limits& limits)
      : tokens_(std::move(tokens)), name_(name), limits_(limits) {}

  Result<std::vector<Stmt>> parse_template();

 private:
  // Words that end the body of a statement.
  using Ends = std::vector<std::string_view>;
  struct NestingGuard;

  const Token& current() const { return tokens_[position_]; }
  const Token& ahead() const { return tokens_[std::min(position_ + 1, tokens_.size() - 1)]; }
  bool at_operator(std::string_view op) const {
    return current().kind == TokenKind::kOperator && current().text == op;
  }
  bool at_name(std::string_view word) const {
    return current().kind == TokenKind::kName && current().text == word;
  }
  void advance() {
    if (position_ + 1 < tokens_.size()) ++position_;
  }
  bool skip_operator(std::string_view op);
  bool skip_name(std::string_view word);
  Status expect_operator(std::string_view op);
  Status expect_name(std::string_view word);
  Result<std::string> expect_any_name();
  Status expect(TokenKind kind, std::string_view what);
  Error fail(const std::string& what, int line = 0) const;
  Error refuse(const std::string& what, int line) const;
  Error unexpected() const;

  // Statements.
  Result<std::vector<Stmt>> parse_body(const Ends& ends);
  Result<std::vector<Stmt>> parse_block_body(const Ends& ends);
  Status parse_tag(std::vector<Stmt>& body);
  Result<Stmt> parse_statement(const std::string& word, int line);
  Result<Stmt> parse_for(int line);
  Result<Stmt> parse_if(int line);
  Result<Stmt> parse_set(int line);
  Result<Stmt> parse_macro(int line);
  Result<Stmt> parse_call_block(int line);
  Result<Stmt> parse_generation(int line);
  Result<Stmt> parse_filter_block(int line);
  Result<Stmt> parse_with(int line);
  Status parse_print(std::vector<Stmt>& body);
  Status parse_signature(Function& function);
  Status require_loop(std::string_view word, int line) const;
  Result<std::vector<Stmt>> parse_function_body(const Ends& ends);

  // Expressions.
  Result<ExprPtr> parse_expression(bool with_conditional = true);
  Result<ExprPtr> parse_conditional();
  Result<ExprPtr> parse_logic(bool is_or);
  Result<ExprPtr> parse_not();
  Result<ExprPtr> parse_compare();
  Result<ExprPtr> parse_sum();
  Result<ExprPtr> parse_concat();
  Result<ExprPtr> parse_product();
  Result<ExprPtr> parse_power();
  Result<ExprPtr> parse_unary(bool with_filter = true);
  Result<ExprPtr> parse_primary(bool with_namespace = false);
  Result<ExprPtr> parse_postfix(ExprPtr expr);
  Result<ExprPtr> parse_filters_and_tests(ExprPtr expr);
  Result<ExprPtr> parse_subscript(ExprPtr expr);
  Result<ExprPtr> parse_index(ExprPtr object, int line);
  Result<ExprPtr> parse_call(ExprPtr callee);
  Status parse_call_args(Expr& call);
  Status parse_call_arg(Expr& call);
  Result<ExprPtr> parse_filter(ExprPtr input);
  Result<ExprPtr> parse_test(ExprPtr input);
  Result<ExprPtr> parse_list();
  Result<ExprPtr> parse_dict();
  enum class TupleOf { kExpressions, kPlainExpressions, kTargets, kNamespaceTargets };
  Result<ExprPtr> parse_tuple(TupleOf parts, bool parentheses);
  Result<ExprPtr> parse_target(bool with_namespace);
  Status check_target(const Expr& target) const;
  Result<std::string> parse_target_name();
  Result<std::string> parse_dotted_name();

  ExprPtr make(ExprKind kind, int line) const;
  // Adds a child and accounts for its depth.
  static void add(Expr& parent, ExprPtr child);
  Status check_depth(const Expr& expr) const;
  Status check_nesting() const;

  std::vector<Token> tokens_;
  std::string_view name_;
  const Limits& limits_;
  size_t position_ = 0;
  int statement_nesting_ = 0;
  int expression_nesting_ = 0;
  int loops_ = 0;  // around the current statement, within the current function
};

// Parses a whole template and resolves its names.
Result<std::unique_ptr<Function>> parse_template(std::string_view source, std::string_view name,
                                                 const Limits& limits);

}  // namespace moe::text::jinja
