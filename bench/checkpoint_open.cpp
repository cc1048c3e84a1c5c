// Time to open a checkpoint of many small tensors: mapping, headers, index, table. No tensor data
// is read. Usage: bench_checkpoint_open [MODEL_DIR | TENSORS SHARDS]; without arguments 31,337
// tensors in 16 shards are written to a temporary folder. One JSON line: the files are in the page
// cache after the first, untimed opening.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "base/cpu_facts.hpp"
#include "io/checkpoint.hpp"
#include "io/safetensors_writer.hpp"

namespace {

namespace fs = std::filesystem;
using moe::io::Checkpoint;
using moe::io::DataAccess;

constexpr int kSamples = 20;
constexpr int kDefaultTensors = 31'337;
constexpr int kDefaultShards = 16;
constexpr int kTensorsPerLayer = 400;

moe::Status write_small_tensors(const fs::path& folder, int tensor_count, int shards) {
  static constexpr std::byte kData[8] = {};
  std::vector<moe::io::NamedTensor> tensors;
  for (int i = 0; i < tensor_count; ++i) {
    tensors.push_back({{fmt::format("model.layers.{}.mlp.experts.{}.gate_proj.weight",
                                    i / kTensorsPerLayer, i % kTensorsPerLayer),
                        moe::io::StoredType::kBf16,
                        {2, 2}},
                       kData});
  }
  return write_checkpoint(folder, tensors, shards);
}

moe::Status time_opening(const fs::path& folder) {
  const auto first = TRY(Checkpoint::open(folder, DataAccess::kHeadersOnly));
  std::vector<double> times_ms;
  for (int i = 0; i < kSamples; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    const auto checkpoint = TRY(Checkpoint::open(folder, DataAccess::kHeadersOnly));
    const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - begin;
    times_ms.push_back(time.count());
    if (checkpoint->tensors().size() != first->tensors().size()) {
      return moe::Error{moe::ErrorCode::kInternal, "two openings differ", ""};
    }
  }
  std::sort(times_ms.begin(), times_ms.end());
  fmt::print(
      "{{\"bench\":\"checkpoint_open\",\"tensors\":{},\"shards\":{},\"bytes\":{},"
      "\"samples\":{},\"median_ms\":{:.2f},\"min_ms\":{:.2f},\"max_ms\":{:.2f},"
      "\"cpu\":\"{}\"}}\n",
      first->tensors().size(), first->shard_count(), first->total_bytes(), kSamples,
      times_ms[kSamples / 2], times_ms.front(), times_ms.back(), moe::cpu_facts().model_name);
  return {};
}

moe::Status run_generated(int tensor_count, int shards) {
  std::string name = (fs::temp_directory_path() / "moe_bench_XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) {
    return moe::Error{moe::ErrorCode::kInvalidArgument, name + ": cannot create the folder",
                      "set TMPDIR to a writable folder"};
  }
  moe::Status status = write_small_tensors(name, tensor_count, shards);
  if (status.ok()) status = time_opening(name);
  std::error_code ignored;
  fs::remove_all(name, ignored);
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  const moe::Status status = argc == 2
                                 ? time_opening(argv[1])
                                 : run_generated(argc == 3 ? std::atoi(argv[1]) : kDefaultTensors,
                                                 argc == 3 ? std::atoi(argv[2]) : kDefaultShards);
  if (status.ok()) return 0;
  fmt::print(stderr, "{}\n", status.error().to_string());
  return moe::exit_status_of(status.error().code);
}
