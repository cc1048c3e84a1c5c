#include "verify/component_verify.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>

#include "verify/component_cases.hpp"
#include "verify/component_compare.hpp"
#include "verify/component_counter.hpp"
#include "verify/component_tensors.hpp"

namespace moe::verify {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr uint16_t kNan = 0x7fc0;
constexpr uint16_t kInf = 0x7f80;

std::vector<Bf16> bits(std::initializer_list<uint16_t> values) {
  std::vector<Bf16> all;
  for (const uint16_t value : values) all.push_back({value});
  return all;
}
std::vector<Bf16> repeated(float value, size_t count) {
  return std::vector<Bf16>(count, to_bf16(value));
}

TEST(CompareBuffer, ExactMeansEveryBit) {
  BufferRule rule;
  rule.exact = true;
  EXPECT_TRUE(compare_buffer(bits({0x3f80, kNan}), bits({0x3f80, 0x7fc1}), 1, rule).ok);
  const BufferDeviation step =
      compare_buffer(bits({0x3f80, 0x3f81}), bits({0x3f80, 0x3f80}), 2, rule);
  EXPECT_FALSE(step.ok);
  EXPECT_EQ(step.unequal, 1U);
  EXPECT_THAT(step.first_bad, HasSubstr("row 0 column 1 is 1.0078125 (0x3f81), wanted 1 (0x3f80)"));
  EXPECT_FALSE(compare_buffer(bits({0x8000}), bits({0x0000}), 1, rule).ok);  // -0 is not 0
}

TEST(CompareBuffer, BoundIsRelativePlusFloor) {
  // 100 ones: RMS 1, floor 4 * 2^-10, bound 2^-6 + 2^-8 = 5 / 256 around 1; a step above 1 is 2 /
  // 256.
  const std::vector<Bf16> want = repeated(1, 100);
  std::vector<Bf16> got = want;
  got[7].bits += 2;  // 4 / 256
  EXPECT_TRUE(compare_buffer(got, want, 10, {}).ok);
  got[7].bits += 1;  // 6 / 256
  const BufferDeviation beyond = compare_buffer(got, want, 10, {});
  EXPECT_FALSE(beyond.ok);
  EXPECT_DOUBLE_EQ(beyond.worst_share, 6.0 / 5.0);
  BufferRule wide;
  wide.spread.max_abs = 1.0 / 256;  // four times that: 2^-6 + 2^-6 = 8 / 256
  EXPECT_TRUE(compare_buffer(got, want, 10, wide).ok);
}

TEST(CompareBuffer, TwoPercentMayBeUnequalPlusEightTimesTheChanged) {
  const std::vector<Bf16> want = repeated(1, 200);
  std::vector<Bf16> got = want;
  for (size_t i = 0; i < 4; ++i) got[i].bits += 1;
  EXPECT_TRUE(compare_buffer(got, want, 10, {}).ok);
  got[4].bits += 1;
  const BufferDeviation many = compare_buffer(got, want, 10, {});
  EXPECT_FALSE(many.ok);
  EXPECT_THAT(many.first_bad, HasSubstr("too many"));
  BufferRule rule;
  rule.spread.changed = 5;
  rule.spread.of = 400;  // the sample of 200 takes half of the five: 4 + 20 = 24
  EXPECT_EQ(compare_buffer(got, want, 10, rule).allowed_unequal, 24);
}

TEST(CompareBuffer, NonfiniteMustMatchInKindAndSign) {
  const auto want = bits({kNan, kInf, 0xff80, 0x3f80});
  EXPECT_TRUE(compare_buffer(bits({0xffc1, kInf, 0xff80, 0x3f80}), want, 4, {}).ok);
  EXPECT_FALSE(compare_buffer(bits({0x3f80, kInf, 0xff80, 0x3f80}), want, 4, {}).ok);
  EXPECT_FALSE(compare_buffer(bits({kNan, 0xff80, 0xff80, 0x3f80}), want, 4, {}).ok);
  EXPECT_FALSE(compare_buffer(bits({kNan, 0x7f7f, 0xff80, 0x3f80}), want, 4, {}).ok);
  EXPECT_FALSE(compare_buffer(bits({kNan, kInf, 0xff80, kNan}), want, 4, {}).ok);
  EXPECT_FALSE(compare_buffer(bits({kNan, kInf, 0xff80, kInf}), want, 4, {}).ok);
}

TEST(CompareBuffer, SkippedRowsMayBeAnythingAndAreNotCounted) {
  BufferRule rule;
  rule.skip = {0, 1};
  const BufferDeviation result =
      compare_buffer(bits({0x3f80, kNan}), bits({0x3f80, 0x7f7f}), 1, rule);
  EXPECT_TRUE(result.ok);
  EXPECT_EQ(result.compared, 1U);
}

TEST(CompareBuffer, WithinAtolCountsAsEqual) {
  BufferRule rule;
  rule.atol = 1.2e-38;
  const std::vector<Bf16> want(50, Bf16{0x0040});
  EXPECT_TRUE(compare_buffer(std::vector<Bf16>(50), want, 10, rule).ok);  // all flushed to zero
  rule.atol = 0x1p-128;  // four times that reaches 0x0040 = 2^-127
  EXPECT_TRUE(compare_buffer(std::vector<Bf16>(50), want, 10, rule).ok);
  rule.atol = 0x1p-130;
  EXPECT_FALSE(compare_buffer(std::vector<Bf16>(50), want, 10, rule).ok);
  rule.atol = 0;
  EXPECT_FALSE(compare_buffer(std::vector<Bf16>(50), want, 10, rule).ok);
}

TEST(CompareBuffer, NoElementsPass) { EXPECT_TRUE(compare_buffer({}, {}, 8, {}).ok); }

TEST(Counter, FollowsTheRecipe) {
  // Recomputed here from the text of the recipe.
  const auto mix = [](uint64_t v) {
    v += 0x9E3779B97F4A7C15U;
    v = (v ^ (v >> 30)) * 0xBF58476D1CE4E5B9U;
    v = (v ^ (v >> 27)) * 0x94D049BB133111EBU;
    return v ^ (v >> 31);
  };
  EXPECT_EQ(counter_bits(5, CounterTag::kDown, 77), mix(mix(5 * 256 + 3) + 77));
  std::vector<Bf16> values(3);
  counter_values(5, CounterTag::kUp, 1000, 0.25, values);
  for (size_t i = 0; i < 3; ++i) {
    const auto k = static_cast<double>(mix(mix(5 * 256 + 2) + 1000 + i) >> 40) - 8388608;
    EXPECT_EQ(values[i], to_bf16(static_cast<float>(k / 8388608 * 0.25)));
  }
  std::vector<int32_t> ids(4);
  counter_expert_ids(5, 9, 4, ids);
  EXPECT_THAT(ids, ::testing::UnorderedElementsAre(0, 1, 2, 3));
  std::vector<float> weights(2);
  counter_weights(5, 9, weights);
  EXPECT_EQ(weights[1], static_cast<float>((mix(mix(5 * 256 + 5) + 19) >> 40) + 1) / 16777216.0F);
}

// A folder of its own per test, removed afterwards.
class ComponentFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    dir_ = fs::temp_directory_path() /
           ("moe_components_" + std::to_string(getpid()) + "_" + info->name());
    fs::create_directories(dir_);
  }
  void TearDown() override { fs::remove_all(dir_); }

  void write(const std::string& file, const std::string& text) {
    std::ofstream(dir_ / file, std::ios::binary) << text;
  }
  std::string error_of_cases(const std::string& json) {
    write("cases.json", json);
    const auto cases = read_component_cases(dir_ / "cases.json");
    return cases.ok() ? "" : cases.error().message;
  }
  // An empty table: every op is missing.
  Result<std::vector<CaseResult>> verify(const ComponentOptions& options = {}) {
    return verify_components(dir_, {*device_, table_}, options);
  }

  fs::path dir_;
  ops::OpTable table_{DeviceFacts{DeviceType::kCpu, "none", "none", "", 1, 0}};

 private:
  // Host memory.
  class HostDevice final : public Device {
   public:
    const DeviceFacts& facts() const override { return facts_; }
    Result<Buffer> allocate(uint64_t bytes) override {
      return Buffer(this, ::operator new(bytes), bytes);
    }
    Status copy_to_device(void* to, const void* from, uint64_t bytes) override {
      std::memcpy(to, from, bytes);
      return {};
    }
    Status copy_to_host(void* to, const void* from, uint64_t bytes) override {
      std::memcpy(to, from, bytes);
      return {};
    }
    bool reads_host_memory() const override { return true; }
    uint64_t allocated_bytes() const override { return 0; }
    uint64_t peak_allocated_bytes() const override { return 0; }

   protected:
    void free(void* data, uint64_t) override { ::operator delete(data); }

   private:
    DeviceFacts facts_;
  };
  std::unique_ptr<Device> device_ = std::make_unique<HostDevice>();
};

constexpr const char* kExpert =
    R"({"expert":[{"name":"a","file":"a.safetensors","M":1,"H":2,"I":3,"E":4,"topk":2}]})";

TEST_F(ComponentFolder, MalformedCasesNameTheField) {
  EXPECT_THAT(error_of_cases("[]"), HasSubstr("wanted an object"));
  EXPECT_THAT(error_of_cases(R"({"expert":7})"),
              HasSubstr("\"expert\" is number, wanted an array"));
  EXPECT_THAT(error_of_cases(R"({"expert":[{"name":"a"}]})"), HasSubstr("expert[0]"));
  EXPECT_EQ(error_of_cases(kExpert), "");
  const auto with = [](const std::string& from, const std::string& to) {
    std::string text = kExpert;
    text.replace(text.find(from), from.size(), to);
    return text;
  };
  EXPECT_THAT(error_of_cases(with("\"M\":1", "\"M\":-1")), HasSubstr("M"));
  EXPECT_THAT(error_of_cases(with("\"M\":1", "\"M\":1.5")), HasSubstr("M"));
  EXPECT_THAT(error_of_cases(with("\"H\":2", "\"H\":0")), HasSubstr("H"));
  EXPECT_EQ(error_of_cases(with("\"H\":2", "\"H\":65536")), "");
  EXPECT_THAT(error_of_cases(with("\"H\":2", "\"H\":65537")), HasSubstr("H"));
  EXPECT_THAT(error_of_cases(with("\"E\":4", "\"E\":\"4\"")), HasSubstr("E"));
  EXPECT_THAT(error_of_cases(with("a.safetensors", "../a.safetensors")), HasSubstr("file"));
  EXPECT_THAT(error_of_cases(with("a.safetensors", "")), HasSubstr("file"));
  EXPECT_NE(error_of_cases("{"), "");
}

TEST_F(ComponentFolder, MalformedRoutersAndLargeCasesNameTheField) {
  EXPECT_THAT(error_of_cases(R"({"router":[{"name":"r","file":"r","T":1,"E":4,"topk":5}]})"),
              HasSubstr("topk"));
  EXPECT_THAT(error_of_cases(R"({"router":[{"name":"r","file":"r","T":1,"E":4,"topk":2,
              "logits_dtype":"f32","scoring":"magic"}]})"),
              HasSubstr("scoring"));
  EXPECT_THAT(error_of_cases(R"({"router":[{"name":"r","file":"r","T":1,"E":4,"topk":2,
              "logits_dtype":"f16","scoring":"softmax"}]})"),
              HasSubstr("logits_dtype"));
  EXPECT_THAT(error_of_cases(R"({"expert_large":[{"name":"l","file":"l","M":1,"H":2,"I":3,"E":4,
              "topk":2,"generator":"counter","generator_seed":1,
              "scales":{"x":0.3,"w_gate":1,"w_up":1,"w_down":1}}]})"),
              HasSubstr("power of two"));
}

TEST_F(ComponentFolder, WithoutCasesJsonThereIsAnError) {
  const auto results = verify();
  ASSERT_FALSE(results.ok());
  EXPECT_EQ(results.error().code, ErrorCode::kNotFound);
}

TEST_F(ComponentFolder, AnAbsentFileFailsOrSkips) {
  write("cases.json", kExpert);
  auto results = verify().value();
  ASSERT_EQ(results.size(), 2U);
  EXPECT_EQ(results[0].name, "expert/a/native");
  EXPECT_EQ(results[0].outcome, Outcome::kFail);
  ComponentOptions options;
  options.skip_missing_files = true;
  results = verify(options).value();
  EXPECT_EQ(results[1].outcome, Outcome::kSkip);
  EXPECT_THAT(results[1].detail, HasSubstr("a.safetensors is not in this folder"));
}

TEST_F(ComponentFolder, ForeignBytesFailWithTheReason) {
  write("cases.json", kExpert);
  for (const std::string& bytes :
       {std::string(), std::string(7, 'x'), std::string("\xff\xff\xff\xff\xff\xff\xff\xff{}", 10),
        std::string("\x02\0\0\0\0\0\0\0{}", 10)}) {
    write("a.safetensors", bytes);
    const std::vector<CaseResult> results = verify().value();
    for (const CaseResult& result : results) {
      EXPECT_EQ(result.outcome, Outcome::kFail);
      EXPECT_FALSE(result.detail.empty());
    }
  }
}

TEST_F(ComponentFolder, AWrongShapeFailsAndAMissingProviderIsNamed) {
  const fs::path data = fs::path(MOE_SOURCE_DIR) / "tests/data/oracle/components";
  fs::copy_file(data / "m1_h8_i1.safetensors", dir_ / "a.safetensors");
  write("cases.json", kExpert);
  EXPECT_THAT(verify().value()[0].detail,
              HasSubstr("tensor \"x\" is BF16 [1, 8], wanted BF16 [1, 2]"));
  write("cases.json", R"({"expert":[{"name":"a","file":"a.safetensors","M":1,"H":8,"I":1,"E":2,
        "topk":1,"rows_unchecked":[1]}]})");
  EXPECT_THAT(verify().value()[0].detail, HasSubstr("rows_unchecked names row 1 of 1"));
  write("cases.json",
        R"({"expert":[{"name":"a","file":"a.safetensors","M":1,"H":8,"I":1,"E":2,"topk":1}]})");
  EXPECT_THAT(verify().value()[0].detail,
              HasSubstr("kMoeGroupedGemmBf16GateUpSilu has no provider"));
}

TEST_F(ComponentFolder, FilterAndProgress) {
  write("cases.json", kExpert);
  int seen = 0;
  ComponentOptions options;
  options.filter = "/legacy";
  options.on_result = [&](const CaseResult& result) {
    EXPECT_EQ(result.name, "expert/a/legacy");
    ++seen;
  };
  EXPECT_EQ(verify(options).value().size(), 1U);
  EXPECT_EQ(seen, 1);
}

}  // namespace
}  // namespace moe::verify
