#include "text/chat/ast.hpp"

namespace moe::text::jinja {

Stmt::Stmt(StmtKind kind_in, int line_in) : kind(kind_in), line(line_in) {}
Stmt::~Stmt() = default;
Stmt::Stmt(Stmt&&) noexcept = default;
Stmt& Stmt::operator=(Stmt&&) noexcept = default;

}  // namespace moe::text::jinja
