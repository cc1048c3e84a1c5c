// Text as config.json and generation_config.json, separated by a line of five equals signs. Every
// accessor is tried on every key.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.hpp"
#include "io/generation_config.hpp"
#include "io/hf_config.hpp"
#include "io/rope_config.hpp"

namespace {

void try_accessors(const moe::io::ConfigObject& object) {
  for (const auto& item : object.json().items()) {
    const std::string& key = item.key();
    const auto integer = object.integer(key, -5, 1000);
    if (integer.ok()) CHECK(*integer >= -5 && *integer <= 1000);
    (void)object.number_or(key, 1.0);
    (void)object.boolean(key);
    (void)object.string(key);
    (void)object.integers(key);
    (void)object.numbers(key);
    (void)object.strings(key);
    (void)object.wrong_value(key, "another value");
    const auto nested = object.optional_object(key);
    if (nested.ok() && nested->has_value()) try_accessors(**nested);
  }
  CHECK(object.unread_keys().empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr std::string_view kSeparator = "\n=====\n";
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const size_t cut = text.find(kSeparator);
  const auto config = moe::io::HfConfig::parse(text.substr(0, cut), "config.json");
  if (!config.ok()) return 0;
  (void)config->architecture();
  (void)config->dtype();
  const auto rope = moe::io::rope_config(*config);
  if (rope.ok()) CHECK(rope->theta > 0 && rope->partial_rotary_factor > 0);
  const auto rest =
      cut == std::string_view::npos ? std::string_view("{}") : text.substr(cut + kSeparator.size());
  const auto generation = moe::io::GenerationConfig::parse(rest, "generation_config.json", *config);
  if (generation.ok()) {
    for (int32_t id : generation->eos_token_ids) CHECK_GE(id, 0);
    if (generation->top_p) CHECK(*generation->top_p >= 0 && *generation->top_p <= 1);
  }
  try_accessors(*config);
  return 0;
}
