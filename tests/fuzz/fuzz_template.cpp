// Fuzzes the chat template interpreter: bytes are a template, then "\n---\n", then JSON variables
// (without them: messages of a fixed shape). render() and render_marked() must agree, and the marks
// must be ascending ranges of the text.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/check.hpp"
#include "text/chat/chat_template.hpp"

namespace moe::text {
namespace {

constexpr std::string_view kSeparator = "\n---\n";
constexpr std::string_view kVariables =
    R"({"messages":[{"role":"system","content":"Be <|brief|>."},)"
    R"({"role":"user","content":[{"type":"text","text":" h\u00fc \ud83d\ude00\n"}]},)"
    R"({"role":"assistant","content":"","tool_calls":[{"function":{"name":"f","arguments":)"
    R"({"a":[1,2.5,null,true],"b":"x\"y"}}}]}],"tools":null,"add_generation_prompt":true,)"
    R"("bos_token":"<s>","n":3,"d":{"a":1,"b":[3,1,2]}})";

int64_t fixed_clock() { return 1'700'000'000; }

// Small, so that one input cannot take long.
ChatTemplateOptions fuzz_options() {
  ChatTemplateOptions options;
  options.clock = &fixed_clock;
  options.limits.text_bytes = size_t{1} << 16;
  options.limits.list_items = 1 << 12;
  options.limits.loop_steps = 20'000;
  options.limits.work_bytes = size_t{16} << 20;
  options.limits.value_weight = 1 << 14;
  return options;
}

void run(std::string_view input) {
  const size_t at = input.find(kSeparator);
  const std::string_view source = input.substr(0, at);
  const auto parsed = ChatTemplate::parse(source, "fuzz", fuzz_options());
  if (!parsed.ok()) return;
  const std::string_view json =
      at == std::string_view::npos ? kVariables : input.substr(at + kSeparator.size());
  const auto variables = parse_json(json, "variables");
  if (!variables.ok()) return;
  const auto plain = parsed->render(*variables);
  const auto marked = parsed->render_marked(*variables);
  CHECK(plain.ok() == marked.ok());
  if (!plain.ok()) {
    CHECK(plain.error().code != ErrorCode::kInternal);
    CHECK(plain.error().message == marked.error().message);
    return;
  }
  CHECK(*plain == marked->text);
  size_t position = 0;
  for (const auto& [begin, end] : marked->untrusted) {
    CHECK(position <= begin && begin < end && end <= marked->text.size());
    position = end;
  }
}

}  // namespace
}  // namespace moe::text

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  moe::text::run(std::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
