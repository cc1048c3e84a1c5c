#include "text/tokenizer/pattern.hpp"

#include <fmt/format.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/errors.hpp"
#include "text/tokenizer/onig_pattern.hpp"
#include "text/tokenizer/utf8.hpp"

namespace moe::text {
namespace {

constexpr size_t kJitStackStartBytes = size_t{32} << 10;
constexpr size_t kJitStackMostBytes = size_t{16} << 20;

template <class T, void (*Free)(T*)>
struct Deleter {
  void operator()(T* pointer) const { Free(pointer); }
};
template <class T, void (*Free)(T*)>
using Handle = std::unique_ptr<T, Deleter<T, Free>>;

using CodeHandle = Handle<pcre2_code, pcre2_code_free>;
using MatchData = Handle<pcre2_match_data, pcre2_match_data_free>;
using MatchContext = Handle<pcre2_match_context, pcre2_match_context_free>;
using CompileContext = Handle<pcre2_compile_context, pcre2_compile_context_free>;
using JitStack = Handle<pcre2_jit_stack, pcre2_jit_stack_free>;

// What a match writes to; one set for each thread.
struct Workspace {
  MatchData data{pcre2_match_data_create(1, nullptr)};
  MatchContext context{pcre2_match_context_create(nullptr)};
  JitStack stack{pcre2_jit_stack_create(kJitStackStartBytes, kJitStackMostBytes, nullptr)};

  Workspace() {
    if (!ready()) return;
    pcre2_set_match_limit(context.get(), kRegexMatchLimit);
    pcre2_jit_stack_assign(context.get(), nullptr, stack.get());
  }
  bool ready() const { return data != nullptr && context != nullptr; }
};

std::string message_of(int code) {
  PCRE2_UCHAR8 text[128];
  if (pcre2_get_error_message(code, text, sizeof text) < 0) return fmt::format("error {}", code);
  return reinterpret_cast<const char*>(text);
}

}  // namespace

struct Pattern::Code {
  CodeHandle handle;
};

Result<Pattern> Pattern::parse(const JsonView& view) {
  const auto text = TRY(view.find("String"));
  if (text) {
    auto pattern = literal(std::string(TRY(text->string())));
    if (!pattern) return text->not_supported(pattern.error().message);
    return pattern;
  }
  const auto expression = TRY(view.find("Regex"));
  if (!expression) return view.wrong("an object with \"String\" or \"Regex\"");
  auto pattern = regex(TRY(expression->string()));
  if (!pattern) return expression->not_supported(pattern.error().message);
  return pattern;
}

Result<Pattern> Pattern::literal(std::string text) {
  Pattern pattern;
  pattern.source_ = text;
  pattern.literal_ = std::move(text);
  // The empty text is found between all characters: the regular expression gives just that.
  if (pattern.literal_.empty()) TRY(pattern.compile(""));
  return pattern;
}

Result<Pattern> Pattern::regex(std::string_view oniguruma) {
  Pattern pattern;
  pattern.source_ = oniguruma;
  const std::string translated = TRY(pcre2_from_oniguruma(oniguruma));
  TRY(pattern.compile(translated));
  return pattern;
}

Status Pattern::compile(std::string_view pcre2_pattern) {
  int code = 0;
  PCRE2_SIZE at = 0;
  const CompileContext context(pcre2_compile_context_create(nullptr));
  if (context == nullptr) return out_of_memory("regular expression: no memory for the compiler");
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  pcre2_set_bsr(context.get(), PCRE2_BSR_UNICODE);
  CodeHandle handle(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pcre2_pattern.data()),
                                  pcre2_pattern.size(), PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE,
                                  &code, &at, context.get()));
  if (handle == nullptr) {
    return unsupported(fmt::format("regular expression /{}/: {}", source_, message_of(code)));
  }
  pcre2_jit_compile(handle.get(), PCRE2_JIT_COMPLETE);  // without JIT matching is only slower
  code_ = std::make_shared<const Code>(Code{std::move(handle)});
  return {};
}

Status Pattern::find_all(std::string_view text, std::vector<Match>& matches) const {
  if (code_ != nullptr) return find_regex(text, matches);
  for (size_t at = text.find(literal_); at != std::string_view::npos;
       at = text.find(literal_, at + literal_.size())) {
    matches.push_back({static_cast<uint32_t>(at), static_cast<uint32_t>(at + literal_.size())});
  }
  return {};
}

Status Pattern::find_regex(std::string_view text, std::vector<Match>& matches) const {
  thread_local const Workspace workspace;
  if (!workspace.ready()) return out_of_memory("regular expression: no memory for matching");
  constexpr size_t kNever = static_cast<size_t>(-1);
  size_t at = 0;
  size_t last_end = kNever;
  while (at <= text.size()) {
    const int found =
        pcre2_match(code_->handle.get(), reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), at,
                    PCRE2_NO_UTF_CHECK, workspace.data.get(), workspace.context.get());
    if (found == PCRE2_ERROR_NOMATCH) break;
    if (found < 0) {
      return unsupported(fmt::format("regular expression /{}/ at byte {} of a text of {} bytes: {}",
                                     source_, at, text.size(), message_of(found)),
                         "shorten the text, or use another model: the tokenizer's expression "
                         "needs too many steps on it");
    }
    const PCRE2_SIZE* range = pcre2_get_ovector_pointer(workspace.data.get());
    const size_t begin = range[0];
    const size_t end = range[1];
    if (begin == end && end == last_end) {
      // An empty match right after a match does not count.
      at += at < text.size() ? code_point_at(text, at).size : 1;
      continue;
    }
    matches.push_back({static_cast<uint32_t>(begin), static_cast<uint32_t>(end)});
    at = end;
    last_end = end;
  }
  return {};
}

}  // namespace moe::text
