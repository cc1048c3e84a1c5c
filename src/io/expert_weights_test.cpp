#include "io/expert_weights.hpp"

#include <fmt/format.h>

#include "io/safetensors_writer.hpp"
#include "io/test_files.hpp"

namespace moe::io {
namespace {

constexpr int64_t kE = 3;
constexpr int64_t kI = 4;
constexpr int64_t kH = 5;

enum Part { kGate = 0, kUp = 1, kDown = 2 };

// A value that tells where it belongs: out and in count rows and columns of the [out, in] matrix.
uint16_t value_of(int64_t expert, Part part, int64_t out, int64_t in) {
  return static_cast<uint16_t>(((expert * 3 + part) * 16 + out) * 16 + in);
}

// A checkpoint under construction; each tensor's elements come from a function of its position.
class Builder {
 public:
  template <class ValueAt>
  void add(const std::string& name, std::vector<int64_t> shape, ValueAt value_at,
           StoredType type = StoredType::kBf16) {
    int64_t count = 1;
    for (int64_t dimension : shape) count *= dimension;
    auto& data = data_.emplace_back();
    for (int64_t i = 0; i < count; ++i) data.push_back(value_at(i));
    specs_.push_back({name, type, std::move(shape)});
  }
  void add_zeros(const std::string& name, std::vector<int64_t> shape,
                 StoredType type = StoredType::kBf16) {
    add(name, std::move(shape), [](int64_t) { return uint16_t{0}; }, type);
  }
  std::shared_ptr<const Checkpoint> open() {
    std::vector<NamedTensor> tensors;
    for (size_t i = 0; i < specs_.size(); ++i) {
      auto bytes = std::as_bytes(std::span(data_[i]));
      tensors.push_back({specs_[i], bytes});
    }
    EXPECT_TRUE(write_checkpoint(folder_.path(), tensors, 1).ok());
    return Checkpoint::open(folder_.path()).value();
  }

  // The matrix of one part of one expert, [out, in].
  void add_single(int64_t expert, Part part, const std::string& name) {
    const int64_t rows = part == kDown ? kH : kI;
    const int64_t cols = part == kDown ? kI : kH;
    add(fmt::format("b.experts.{}.{}.weight", expert, name), {rows, cols},
        [=](int64_t i) { return value_of(expert, part, i / cols, i % cols); });
  }
  void add_gate_up(int64_t expert, const std::string& name) {
    add(fmt::format("b.experts.{}.{}", expert, name), {2 * kI, kH}, [=](int64_t i) {
      const int64_t row = i / kH;
      return value_of(expert, row < kI ? kGate : kUp, row % kI, i % kH);
    });
  }
  void add_stacks(const std::string& gate_up, const std::string& down, StackLayout layout) {
    const bool out_in = layout == StackLayout::kOutIn;
    const std::vector<int64_t> gate_up_shape =
        out_in ? std::vector<int64_t>{kE, 2 * kI, kH} : std::vector<int64_t>{kE, kH, 2 * kI};
    add(gate_up, gate_up_shape, [=](int64_t i) {
      const int64_t in_expert = i % (2 * kI * kH);
      const int64_t out = out_in ? in_expert / kH : in_expert % (2 * kI);
      const int64_t in = out_in ? in_expert % kH : in_expert / (2 * kI);
      return value_of(i / (2 * kI * kH), out < kI ? kGate : kUp, out % kI, in);
    });
    const std::vector<int64_t> down_shape =
        out_in ? std::vector<int64_t>{kE, kH, kI} : std::vector<int64_t>{kE, kI, kH};
    add(down, down_shape, [=](int64_t i) {
      const int64_t in_expert = i % (kI * kH);
      return out_in ? value_of(i / (kI * kH), kDown, in_expert / kI, in_expert % kI)
                    : value_of(i / (kI * kH), kDown, in_expert % kH, in_expert / kH);
    });
  }

 private:
  TestFolder folder_;
  std::vector<TensorSpec> specs_;
  std::vector<std::vector<uint16_t>> data_;
};

ExpertQuery query_of(StackLayout layout = StackLayout::kOutIn) {
  ExpertQuery query;
  query.prefix = "b.";
  query.experts = kE;
  query.intermediate = kI;
  query.hidden = kH;
  query.stack_layout = layout;
  return query;
}

void expect_matrix(const ExpertMatrix& matrix, int64_t expert, Part part, StackLayout layout) {
  const int64_t outputs = part == kDown ? kH : kI;
  const int64_t inputs = part == kDown ? kI : kH;
  for (int64_t out = 0; out < outputs; ++out) {
    for (int64_t in = 0; in < inputs; ++in) {
      const bool out_in = layout == StackLayout::kOutIn;
      const int64_t at = (out_in ? out : in) * matrix.row_stride + (out_in ? in : out);
      const auto value = reinterpret_cast<const uint16_t*>(matrix.data)[at];
      ASSERT_EQ(value, value_of(expert, part, out, in)) << expert << " " << part << " " << out;
    }
  }
}

void expect_all(const Result<ExpertWeights>& result, StackLayout layout = StackLayout::kOutIn) {
  ASSERT_TRUE(result.ok()) << result.error().message;
  ASSERT_EQ(result->gate.size(), static_cast<size_t>(kE));
  ASSERT_EQ(result->up.size(), static_cast<size_t>(kE));
  ASSERT_EQ(result->down.size(), static_cast<size_t>(kE));
  EXPECT_EQ(result->layout, layout);
  for (size_t j = 0; j < static_cast<size_t>(kE); ++j) {
    expect_matrix(result->gate[j], static_cast<int64_t>(j), kGate, layout);
    expect_matrix(result->up[j], static_cast<int64_t>(j), kUp, layout);
    expect_matrix(result->down[j], static_cast<int64_t>(j), kDown, layout);
  }
}

void add_all_singles(Builder& builder, const ExpertNames& names) {
  for (int64_t j = 0; j < kE; ++j) {
    builder.add_single(j, kGate, std::string(names.gate));
    builder.add_single(j, kUp, std::string(names.up));
    builder.add_single(j, kDown, std::string(names.down));
  }
}

TEST(ExpertWeights, SingleMatricesUnderEitherNames) {
  for (const ExpertNames& names : {ExpertNames(), kMixtralExpertNames}) {
    Builder builder;
    add_all_singles(builder, names);
    auto query = query_of();
    query.names = names;
    const auto checkpoint = builder.open();
    expect_all(find_expert_weights(*checkpoint, query));
    // The declaration is about stacks only.
    query.stack_layout = StackLayout::kInOut;
    expect_all(find_expert_weights(*checkpoint, query));
  }
}

TEST(ExpertWeights, GateAndUpInOneMatrixOfEachExpert) {
  for (const char* name : {"gate_up_proj.weight", "gate_up_proj", "w13.weight", "w13"}) {
    Builder builder;
    for (int64_t j = 0; j < kE; ++j) {
      builder.add_gate_up(j, name);
      builder.add_single(j, kDown, "down_proj");
    }
    expect_all(find_expert_weights(*builder.open(), query_of()));
  }
}

TEST(ExpertWeights, StacksUnderEveryNameAndLayout) {
  const std::vector<std::pair<std::string, std::string>> names = {
      {"b.experts.gate_up_proj", "b.experts.down_proj"},
      {"b.experts.gate_up_proj.weight", "b.experts.down_proj.weight"},
      {"b.input_linear.weight", "b.output_linear.weight"}};
  for (const auto& [gate_up, down] : names) {
    for (StackLayout layout : {StackLayout::kOutIn, StackLayout::kInOut}) {
      Builder builder;
      builder.add_stacks(gate_up, down, layout);
      expect_all(find_expert_weights(*builder.open(), query_of(layout)), layout);
    }
  }
}

TEST(ExpertWeights, UndeclaredTransposedStackIsUnsupported) {
  Builder builder;
  builder.add_stacks("b.experts.gate_up_proj", "b.experts.down_proj", StackLayout::kInOut);
  expect_error(find_expert_weights(*builder.open(), query_of()), ErrorCode::kUnsupported,
               "model.safetensors: tensor \"b.experts.gate_up_proj\" has shape [3, 5, 8], wanted "
               "[3, 8, 5]: the stack is transposed");
  Builder other;
  other.add_stacks("b.experts.gate_up_proj", "b.experts.down_proj", StackLayout::kOutIn);
  expect_error(find_expert_weights(*other.open(), query_of(StackLayout::kInOut)),
               ErrorCode::kUnsupported,
               "has shape [3, 8, 5], wanted [3, 5, 8]: the stack is not transposed");
}

TEST(ExpertWeights, SquareStackGoesByDeclaration) {
  auto query = query_of();
  query.intermediate = 2;
  query.hidden = 4;  // 2I = H
  Builder builder;
  builder.add_zeros("b.experts.gate_up_proj", {3, 4, 4});
  builder.add_zeros("b.experts.down_proj", {3, 4, 2});
  const auto checkpoint = builder.open();
  const auto* base = checkpoint->find("b.experts.gate_up_proj")->data;
  const auto found = find_expert_weights(*checkpoint, query).value();
  EXPECT_EQ(found.up[1].data, base + 2 * (16 + 8));
  // Declared transposed, the down stack shows that it is not.
  query.stack_layout = StackLayout::kInOut;
  expect_error(find_expert_weights(*checkpoint, query), ErrorCode::kUnsupported,
               "\"b.experts.down_proj\" has shape [3, 4, 2], wanted [3, 2, 4]");

  Builder transposed;
  transposed.add_zeros("b.experts.gate_up_proj", {3, 4, 4});
  transposed.add_zeros("b.experts.down_proj", {3, 2, 4});
  const auto other = transposed.open();
  base = other->find("b.experts.gate_up_proj")->data;
  const auto in_out = find_expert_weights(*other, query).value();
  EXPECT_EQ(in_out.up[1].data, base + 2 * (16 + 2));
  EXPECT_EQ(in_out.up[1].row_stride, 4);
  EXPECT_EQ(in_out.down[1].row_stride, 4);
}

TEST(ExpertWeights, MissingPiecesAreNamed) {
  const auto code = ErrorCode::kNotFound;
  Builder none;
  none.add_zeros("b.gate.weight", {kE, kH});
  expect_error(find_expert_weights(*none.open(), query_of()), code,
               "no expert weights under \"b.\"");
  Builder up;
  up.add_single(0, kGate, "gate_proj");
  expect_error(find_expert_weights(*up.open(), query_of()), code,
               "no tensor \"b.experts.0.up_proj.weight\"");
  Builder expert;
  for (int64_t j = 0; j < 2; ++j) {
    expert.add_gate_up(j, "w13");
    expert.add_single(j, kDown, "down_proj");
  }
  expect_error(find_expert_weights(*expert.open(), query_of()), code,
               "no tensor \"b.experts.2.gate_proj.weight\"");
  Builder down;
  down.add_zeros("b.experts.gate_up_proj", {kE, 2 * kI, kH});
  expect_error(find_expert_weights(*down.open(), query_of()), code,
               "no tensor \"b.experts.down_proj.weight\"");
}

TEST(ExpertWeights, WrongShapeTypeOrNumberIsNamed) {
  Builder shape;
  add_all_singles(shape, ExpertNames());
  auto query = query_of();
  query.hidden = 6;
  const auto checkpoint = shape.open();
  expect_error(find_expert_weights(*checkpoint, query), ErrorCode::kCorrupt,
               "tensor \"b.experts.0.gate_proj.weight\" has shape [4, 5], wanted [4, 6]");
  query = query_of();
  query.experts = 2;
  expect_error(find_expert_weights(*checkpoint, query), ErrorCode::kCorrupt,
               "belongs to an expert past the last one, wanted 2 experts");
  Builder stack;
  stack.add_zeros("b.experts.gate_up_proj", {kE + 1, 2 * kI, kH});
  stack.add_zeros("b.experts.down_proj", {kE, kH, kI});
  expect_error(find_expert_weights(*stack.open(), query_of()), ErrorCode::kCorrupt,
               "\"b.experts.gate_up_proj\" has shape [4, 8, 5], wanted [3, 8, 5]");
  Builder type;
  type.add_zeros("b.experts.gate_up_proj", {kE, 2 * kI, kH}, StoredType::kF16);
  type.add_zeros("b.experts.down_proj", {kE, kH, kI});
  expect_error(find_expert_weights(*type.open(), query_of()), ErrorCode::kUnsupported,
               "\"b.experts.gate_up_proj\" has type F16, wanted BF16");
}

TEST(ExpertWeights, TwoLayoutsAtOnceAreCorrupt) {
  Builder builder;
  builder.add_stacks("b.experts.gate_up_proj", "b.experts.down_proj", StackLayout::kOutIn);
  builder.add_single(0, kGate, "gate_proj");
  expect_error(find_expert_weights(*builder.open(), query_of()), ErrorCode::kCorrupt,
               "the experts under \"b.\" are stored in more than one layout");
  Builder doubled;
  doubled.add_gate_up(0, "w13");
  doubled.add_single(0, kGate, "gate_proj");
  expect_error(find_expert_weights(*doubled.open(), query_of()), ErrorCode::kCorrupt,
               "\"b.experts.0.w13\" beside other gate and up weights");
  Builder suffix;
  suffix.add_gate_up(0, "w13");
  suffix.add_gate_up(0, "w13.weight");
  expect_error(find_expert_weights(*suffix.open(), query_of()), ErrorCode::kCorrupt,
               "has both \"b.experts.0.w13\" and \"b.experts.0.w13.weight\"");
}

TEST(ExpertWeights, SizesAtTheLimitPassAndOnePastAreInvalid) {
  Builder builder;
  builder.add_zeros("x", {1});
  const auto checkpoint = builder.open();
  const auto with = [&](int64_t experts, int64_t inner, int64_t hidden) {
    auto query = query_of();
    query.experts = experts;
    query.intermediate = inner;
    query.hidden = hidden;
    return find_expert_weights(*checkpoint, query);
  };
  expect_error(with(kMaxExperts, kMaxExpertWidth, kMaxExpertWidth), ErrorCode::kNotFound,
               "no expert");
  expect_error(with(1, 1, 1), ErrorCode::kNotFound, "no expert weights");
  expect_error(with(kMaxExperts + 1, 1, 1), ErrorCode::kInvalidArgument, "experts is 65537");
  expect_error(with(0, 1, 1), ErrorCode::kInvalidArgument, "experts is 0, wanted 1 to 65536");
  expect_error(with(1, 0, 1), ErrorCode::kInvalidArgument, "intermediate size is 0");
  expect_error(with(1, 1, kMaxExpertWidth + 1), ErrorCode::kInvalidArgument, "hidden size is");
}

}  // namespace
}  // namespace moe::io
