// For tests: a small valid config.json to vary. Not part of the program.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "io/hf_config.hpp"

namespace moe::model::test {

// What every family has.
inline Json small_config(const std::string& architecture) {
  return Json{{"architectures", Json::array({architecture})},
              {"vocab_size", 160},
              {"hidden_size", 128},
              {"intermediate_size", 96},
              {"max_position_embeddings", 512},
              {"num_attention_heads", 4},
              {"num_key_value_heads", 2},
              {"num_hidden_layers", 2},
              {"rms_norm_eps", 1e-6},
              {"hidden_act", "silu"}};
}

inline io::HfConfig parsed(const Json& json) {
  return io::HfConfig::parse(json.dump(), "config.json").value();
}

template <class T>
void expect_error(const Result<T>& result, ErrorCode code, const std::string& part) {
  ASSERT_FALSE(result.ok()) << part;
  EXPECT_EQ(result.error().code, code) << result.error().to_string();
  EXPECT_THAT(result.error().message, ::testing::HasSubstr(part));
  EXPECT_FALSE(result.error().fix.empty());
}

}  // namespace moe::model::test
