#include "text/chat/chat_template.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace moe::text {
namespace {

using testing::HasSubstr;

Result<ChatTemplate::Rendering> render(std::string_view source, const Json& variables,
                                       const jinja::Limits& limits = {}) {
  ChatTemplateOptions options;
  options.limits = limits;
  auto parsed = ChatTemplate::parse(source, "t.jinja", options);
  if (!parsed.ok()) return std::move(parsed).error();
  return parsed->render_marked(variables);
}

std::string error_of(std::string_view source, const Json& variables = Json::object(),
                     const jinja::Limits& limits = {}) {
  const auto rendered = render(source, variables, limits);
  return rendered.ok() ? "no error: " + rendered->text : rendered.error().to_string();
}

// The output with the untrusted ranges in brackets.
std::string marked(std::string_view source, const Json& variables) {
  const auto rendered = render(source, variables);
  if (!rendered.ok()) return rendered.error().to_string();
  std::string out;
  size_t position = 0;
  for (const auto& [begin, end] : rendered->untrusted) {
    EXPECT_LE(position, begin);
    EXPECT_LT(begin, end);
    out += rendered->text.substr(position, begin - position);
    out += "[" + rendered->text.substr(begin, end - begin) + "]";
    position = end;
  }
  return out + rendered->text.substr(position);
}

Json message(std::string_view content) {
  return {{"messages", {{{"role", "user"}, {"content", std::string(content)}}}},
          {"trusted", "T"},
          {"tools", {{{"name", "f\n"}}}}};
}

TEST(ChatTemplateErrors, SyntaxErrorsTellNameLineAndFix) {
  EXPECT_THAT(error_of("a\n{{ 1 + }}"), HasSubstr("corrupt: t.jinja:2: unexpected end"));
  EXPECT_THAT(error_of("a\n\n{% foo %}"), HasSubstr("t.jinja:3: unknown statement 'foo'"));
  EXPECT_THAT(error_of("{% if 1 %}\nx"), HasSubstr("expected 'elif' or 'else' or 'endif'"));
  EXPECT_THAT(error_of("{{ x\n|nope }}"), HasSubstr("t.jinja:2: no filter named 'nope'"));
  EXPECT_THAT(error_of("{{ x\n is nope }}"), HasSubstr("t.jinja:2: no test named 'nope'"));
  EXPECT_THAT(error_of("{{ 'a }}"), HasSubstr("string is not closed"));
  EXPECT_THAT(error_of("{# a"), HasSubstr("missing end of comment"));
  EXPECT_THAT(error_of("{% foo %}"), HasSubstr("\nfix: "));
  EXPECT_THAT(error_of("\n{% include 'x' %}"),
              HasSubstr("unsupported: t.jinja:2: the statement 'include' is not supported"));
  EXPECT_THAT(error_of("\xff"), HasSubstr("not valid UTF-8"));
}

TEST(ChatTemplateErrors, RenderErrorsTellTheLine) {
  EXPECT_THAT(error_of("a\n{{ x.y }}"), HasSubstr("t.jinja:2: 'x' is undefined"));
  EXPECT_THAT(error_of("{{ 1 }}\n{{ 'a'\n + 1 }}"), HasSubstr("t.jinja:2: unsupported operand"));
  EXPECT_THAT(error_of("\n{{ raise_exception('no') }}"),
              HasSubstr("invalid_argument: t.jinja:2: the template refuses the request: no"));
  EXPECT_THAT(error_of("{% macro m() %}\n{{ 1 // 0 }}{% endmacro %}\n{{ m() }}"),
              HasSubstr("t.jinja:2: integer division"));
  EXPECT_THAT(error_of("{{ [].append(1) }}"), HasSubstr("unsafe"));
  EXPECT_THAT(error_of("{{ 'a'.encode() }}"), HasSubstr("attribute 'encode'"));
  EXPECT_THAT(error_of("{{ strftime_now('%Q') }}"), HasSubstr("date format"));
}

TEST(ChatTemplateErrors, BadVariablesAreRefused) {
  EXPECT_THAT(error_of("x", Json::array()),
              HasSubstr("variables of a chat template are an object"));
  EXPECT_THAT(error_of("x", {{"n", UINT64_MAX}}), HasSubstr("18446744073709551615"));
  EXPECT_THAT(error_of("x", {{"s", "\xff"}}), HasSubstr("not valid UTF-8"));
  Json deep = 1;
  for (int i = 0; i < jinja::kMaxValueDepth; ++i) deep = Json::array({deep});
  EXPECT_EQ(error_of("x", {{"v", deep}}), "no error: x");
  EXPECT_THAT(error_of("x", {{"v", Json::array({deep})}}), HasSubstr("nested deeper"));
}

TEST(ChatTemplateMarks, OnlyTextOfTheRequestIsUntrusted) {
  const Json v = message("a<|x|>b");
  EXPECT_EQ(marked("<{{ messages[0].content }}>{{ trusted }}", v), "<[a<|x|>b]>T");
  EXPECT_EQ(marked("{{ messages[0].role ~ '\n' ~ trusted }}", v), "[user]\nT");
  EXPECT_EQ(marked("{{ 'a' if messages[0].content else 'b' }}", v), "a");
  EXPECT_EQ(marked("{% for k in messages[0] %}{{ k }},{% endfor %}", v), "[role],[content],");
}

TEST(ChatTemplateMarks, OperationsKeepProvenance) {
  const Json v = message(" aXb ");
  const auto content = [&](std::string_view rest) {
    return marked("{{ ('<' ~ messages[0].content ~ '>')" + std::string(rest) + " }}", v);
  };
  EXPECT_EQ(content("[1:4]"), "[ aX]");
  EXPECT_EQ(content("[0]"), "<");
  EXPECT_EQ(content("[::-1]"), ">[ bXa ]<");
  EXPECT_EQ(content(".strip('<>').strip()"), "[aXb]");
  EXPECT_EQ(content(".split('X')"), "['<[ a]', '[b ]>']");
  EXPECT_EQ(content(".split('X')|join('-')"), "<[ a]-[b ]>");
  EXPECT_EQ(content("|replace('X', 'YY')"), "<[ a]YY[b ]>");
  EXPECT_EQ(content("|upper"), "<[ AXB ]>");
  EXPECT_EQ(content("|tojson"), "\"<[ aXb ]>\"");
  EXPECT_EQ(content("|list|join"), "<[ aXb ]>");
  EXPECT_EQ(content("|indent(2, true)"), "  <[ aXb ]>");
  EXPECT_EQ(content("|e"), "&lt;[ aXb ]&gt;");
  EXPECT_EQ(content(" * 2"), "<[ aXb ]><[ aXb ]>");
  EXPECT_EQ(content(".partition('X')|last"), "[b ]>");
  EXPECT_EQ(content("|title"), "<[ Axb ]>");
  EXPECT_EQ(content("|truncate(4, true, '', 0)"), "<[ aX]");
  EXPECT_EQ(marked("{{ '%s|%5s' % (messages[0].content, trusted) }}", v), "[ aXb ]|    T");
  EXPECT_EQ(marked("{{ '{}|{:>7}'.format(trusted, messages[0].content) }}", v), "T|  [ aXb ]");
  EXPECT_EQ(marked("{{ tools|tojson }}", v), "[{\"[name]\": \"[f\\n]\"}]");
  EXPECT_EQ(marked("{{ tools }}", v), "[{'[name]': '[f\\n]'}]");
  EXPECT_EQ(marked("{% set x %}<{{ messages[0].content }}>{% endset %}{{ x }}", v), "<[ aXb ]>");
  EXPECT_EQ(marked("{% macro m(x) %}<{{ x }}>{% endmacro %}{{ m(messages[0].content) }}", v),
            "<[ aXb ]>");
  EXPECT_EQ(marked("{% filter upper %}q{{ messages[0].content }}{% endfilter %}", v), "Q[ AXB ]");
}

TEST(ChatTemplateMarks, RenderGivesTheSameText) {
  const auto parsed = ChatTemplate::parse("<{{ messages[0].content }}>", "t");
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(*parsed->render(message("a")), "<a>");
  EXPECT_EQ(parsed->render_marked(message("a"))->text, "<a>");
}

TEST(ChatTemplateLimits, TemplateBytes) {
  jinja::Limits limits;
  limits.template_bytes = 5;
  EXPECT_EQ(error_of("12345", {}, limits).substr(0, 8), "invalid_");  // {} is no object: it parsed
  EXPECT_THAT(error_of("123456", {}, limits), HasSubstr("has 6 bytes, the limit is 5"));
}

std::string repeated(std::string_view unit, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += unit;
  return text;
}

TEST(ChatTemplateLimits, NestingOfSourceIsAnErrorNotACrash) {
  const int most = jinja::kMaxNesting;
  for (const auto& [open, close] : {std::pair("(", ")"), std::pair("[", "]"), std::pair("not ", ""),
                                    std::pair("-", ""), std::pair("x[", "]")}) {
    for (const int levels : {10'000, most + 1}) {
      const std::string source =
          "{{ " + repeated(open, levels) + "1" + repeated(close, levels) + " }}";
      EXPECT_THAT(error_of(source), HasSubstr("nested deeper than 100")) << open;
    }
  }
  // The innermost list is empty: one level less than brackets.
  EXPECT_EQ(error_of("{{ " + repeated("[", most - 1) + repeated("]", most - 1) + "|length }}"),
            "no error: 1");
  EXPECT_EQ(
      error_of(repeated("{% if 1 %}", most - 1) + "{{ 1 }}" + repeated("{% endif %}", most - 1)),
      "no error: 1");
  EXPECT_THAT(error_of(repeated("{% if 1 %}", most) + "x"), HasSubstr("nested deeper than 100"));
  EXPECT_THAT(error_of("{{ x" + repeated("|upper", 20'000) + " }}"), HasSubstr("nested deeper"));
  EXPECT_THAT(error_of("{{ x" + repeated(".a", 20'000) + " }}"), HasSubstr("nested deeper"));
  EXPECT_THAT(error_of("{{ 1" + repeated(" if 1 else 2", 20'000) + " }}"),
              HasSubstr("nested deeper"));
  EXPECT_EQ(error_of("{{ 0" + repeated(" + 1", 20'000) + " }}"), "no error: 20000");
  EXPECT_EQ(error_of("{{ 0" + repeated(" or 0", 20'000) + " }}"), "no error: 0");
}

TEST(ChatTemplateLimits, RecursionOfMacrosIsAnErrorNotACrash) {
  const std::string macro =
      "{% macro m(n) %}{% if n > 0 %}{{ m(n - 1) ~ '.' }}{% endif %}{% endmacro %}";
  EXPECT_EQ(error_of(macro + "{{ m(100)|length }}"), "no error: 100");
  EXPECT_THAT(error_of(macro + "{{ m(100000) }}"), HasSubstr("evaluation is nested deeper"));
  EXPECT_THAT(error_of("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}"),
              HasSubstr("evaluation is nested deeper"));
  EXPECT_THAT(error_of("{% macro m() %}{% call m() %}{{ caller }}{% endcall %}{{ caller }}{% "
                       "endmacro %}{{ m() }}"),
              HasSubstr("evaluation is nested deeper"));
}

TEST(ChatTemplateLimits, TextAndOutputBytes) {
  jinja::Limits limits;
  limits.text_bytes = 10;
  const Json none = Json::object();
  EXPECT_EQ(error_of("{{ 'ab' * 5 }}", none, limits), "no error: ababababab");
  EXPECT_THAT(error_of("{{ 'ab' * 6 }}", none, limits), HasSubstr("longer than 10 bytes"));
  EXPECT_THAT(error_of("12345{{ 'abcdef' }}", none, limits), HasSubstr("longer than 10 bytes"));
  for (const char* big :
       {"'x' * 10 ** 12", "'x'.center(10 ** 12)", "'%1000000000000s' % 'x'", "'x'.zfill(10 ** 12)",
        "'x'|indent(10 ** 12, true)", "'a\tb'.expandtabs(10 ** 9)", "'{:>1000000000}'.format(1)",
        "[1]|tojson(indent=10 ** 10)"}) {
    EXPECT_THAT(error_of("{{ " + std::string(big) + " }}"), HasSubstr("unsupported")) << big;
  }
}

TEST(ChatTemplateLimits, ListsLoopsAndWork) {
  EXPECT_THAT(error_of("{{ [1] * 10 ** 9 }}"), HasSubstr("more than 1048576 items"));
  EXPECT_THAT(error_of("{{ range(100001) }}"), HasSubstr("more than 100000 items"));
  EXPECT_EQ(error_of("{{ range(100000)|length }}"), "no error: 100000");
  jinja::Limits limits;
  limits.loop_steps = 9;
  const Json none = Json::object();
  EXPECT_EQ(error_of("{% for i in range(9) %}{{ i }}{% endfor %}", none, limits),
            "no error: 012345678");
  EXPECT_THAT(error_of("{% for i in range(10) %}{{ loop.index }}{% endfor %}", none, limits),
              HasSubstr("more than 9 loop steps"));
  EXPECT_THAT(error_of("{% set ns = namespace(s='x' * 1000) %}{% for i in range(60) %}"
                       "{% set ns.s = ns.s + ns.s %}{% endfor %}"),
              HasSubstr("longer than"));
  EXPECT_THAT(error_of("{% set ns = namespace(l=[]) %}{% for i in range(1000) %}"
                       "{% set ns.l = [ns.l] %}{% endfor %}"),
              HasSubstr("levels"));
  EXPECT_THAT(error_of("{% set ns = namespace(l=[1]) %}{% for i in range(100) %}"
                       "{% set ns.l = [ns.l, ns.l] %}{% endfor %}{{ ns.l == ns.l }}"),
              HasSubstr("parts"));
  EXPECT_THAT(error_of("{% set ns = namespace(g=[1]) %}{% for i in range(100000) %}"
                       "{% set ns.g = ns.g|map('string') %}{% endfor %}"),
              HasSubstr("levels"));
}

TEST(ChatTemplateLimits, CyclesThroughNamespacesAreFreed) {
  EXPECT_EQ(
      error_of("{% set ns = namespace() %}{% set ns.a = [ns] %}"
               "{% for i in [1, 2] %}{% set ns.l = loop %}{{ loop.changed(loop) }}{% endfor %}"),
      "no error: TrueFalse");
  EXPECT_THAT(error_of("{% set ns = namespace() %}{% for i in [1] %}{% set ns.l = loop.cycle %}"
                       "{% endfor %}{{ ns.l(1) }}"),
              HasSubstr("after its loop has ended"));
  EXPECT_EQ(error_of("{% set ns = namespace(h=none) %}{% for i in range(100000) %}"
                     "{% set ns.h = namespace(next=ns.h) %}{% endfor %}ok"),
            "no error: ok");
}

}  // namespace
}  // namespace moe::text
