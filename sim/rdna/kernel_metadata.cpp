// See kernel_metadata.hpp.
#include "rdna/kernel_metadata.hpp"

#include <fmt/format.h>

#include <limits>

#include "base/errors.hpp"
#include "rdna/msgpack.hpp"

namespace moe::sim::rdna {
namespace {

constexpr const char* kFix = "build the code object with clang 19 (see docs) or another LLVM >= 15";

// One map of the metadata, with its place for errors.
class Map {
 public:
  Map(const Json& value, std::string where) : value_(value), where_(std::move(where)) {}

  Error wrong(std::string_view key, const std::string& what) const {
    return corrupt(fmt::format("{}: {} {}", where_, key, what), kFix);
  }

  Result<const Json*> find(std::string_view key, bool required) const {
    if (!value_.is_object()) {
      return corrupt(fmt::format("{} is {}, wanted a map", where_, value_.type_name()), kFix);
    }
    const auto found = value_.find(key);
    if (found != value_.end()) return &*found;
    if (required) return wrong(key, "is missing");
    return static_cast<const Json*>(nullptr);
  }

  Result<uint32_t> number(std::string_view key, uint64_t limit, bool required = true) const {
    const Json* found = TRY(find(key, required));
    if (found == nullptr) return uint32_t{0};
    if (!found->is_number_unsigned()) {
      return wrong(key, fmt::format("is {}, wanted an unsigned number", found->type_name()));
    }
    const auto number = found->get<uint64_t>();
    if (number > limit) return wrong(key, fmt::format("is {}, the limit is {}", number, limit));
    return static_cast<uint32_t>(number);
  }

  Result<std::string> text(std::string_view key, bool required = true) const {
    const Json* found = TRY(find(key, required));
    if (found == nullptr) return std::string();
    if (!found->is_string()) {
      return wrong(key, fmt::format("is {}, wanted a string", found->type_name()));
    }
    return found->get<std::string>();
  }

  Result<bool> flag(std::string_view key) const {
    const Json* found = TRY(find(key, false));
    if (found == nullptr) return false;
    if (!found->is_boolean()) {
      return wrong(key, fmt::format("is {}, wanted a boolean", found->type_name()));
    }
    return found->get<bool>();
  }

  // nullptr when absent and not required.
  Result<const Json*> list(std::string_view key, size_t limit, bool required) const {
    const Json* found = TRY(find(key, required));
    if (found == nullptr) return found;
    if (!found->is_array()) {
      return wrong(key, fmt::format("is {}, wanted a list", found->type_name()));
    }
    if (found->size() > limit) {
      return wrong(key, fmt::format("has {} entries, the limit is {}", found->size(), limit));
    }
    return found;
  }

 private:
  const Json& value_;
  std::string where_;
};

constexpr uint64_t kAnyNumber = std::numeric_limits<uint32_t>::max();

Result<std::vector<KernelArgument>> read_arguments(const Map& kernel, const std::string& where,
                                                   uint64_t segment_bytes) {
  std::vector<KernelArgument> arguments;
  const Json* list = TRY(kernel.list(".args", kMaxKernelArguments, false));
  if (list == nullptr) return arguments;
  uint64_t end = 0;
  for (const Json& entry : *list) {
    const Map map(entry, fmt::format("{} argument {}", where, arguments.size()));
    KernelArgument argument;
    argument.name = TRY(map.text(".name", false));
    argument.offset = TRY(map.number(".offset", kMaxKernargBytes));
    argument.size = TRY(map.number(".size", kMaxKernargBytes));
    argument.value_kind = TRY(map.text(".value_kind"));
    if (argument.offset < end) {
      return map.wrong(".offset",
                       fmt::format("is {}, the argument before ends at {}", argument.offset, end));
    }
    end = uint64_t{argument.offset} + argument.size;
    if (end > segment_bytes) {
      return map.wrong(".offset",
                       fmt::format("+ .size is {}, the segment has {} bytes", end, segment_bytes));
    }
    arguments.push_back(std::move(argument));
  }
  return arguments;
}

Result<KernelMetadata> read_kernel(const Json& entry, const std::string& where) {
  const Map map(entry, where);
  KernelMetadata kernel;
  kernel.name = TRY(map.text(".name"));
  kernel.symbol = TRY(map.text(".symbol"));
  const std::string named = fmt::format("{} \"{}\"", where, kernel.name);
  const Map inside(entry, named);
  kernel.kernarg_segment_bytes = TRY(inside.number(".kernarg_segment_size", kMaxKernargBytes));
  kernel.kernarg_segment_alignment = TRY(inside.number(".kernarg_segment_align", kMaxKernargBytes));
  kernel.group_segment_fixed_bytes = TRY(inside.number(".group_segment_fixed_size", kAnyNumber));
  kernel.private_segment_fixed_bytes =
      TRY(inside.number(".private_segment_fixed_size", kAnyNumber));
  kernel.vgpr_count = TRY(inside.number(".vgpr_count", kAnyNumber));
  kernel.sgpr_count = TRY(inside.number(".sgpr_count", kAnyNumber));
  kernel.vgpr_spill_count = TRY(inside.number(".vgpr_spill_count", kAnyNumber, false));
  kernel.sgpr_spill_count = TRY(inside.number(".sgpr_spill_count", kAnyNumber, false));
  kernel.max_flat_workgroup_size =
      TRY(inside.number(".max_flat_workgroup_size", kMaxWorkgroupSize));
  kernel.wavefront_size = TRY(inside.number(".wavefront_size", kAnyNumber));
  kernel.uses_dynamic_stack = TRY(inside.flag(".uses_dynamic_stack"));
  kernel.arguments = TRY(read_arguments(inside, named, kernel.kernarg_segment_bytes));
  return kernel;
}

}  // namespace

Result<CodeObjectMetadata> read_metadata(std::span<const std::byte> note, std::string_view source) {
  const Json root = TRY(read_msgpack(note, source));
  const std::string where = fmt::format("{}: metadata", source);
  const Map map(root, where);
  CodeObjectMetadata metadata;
  const Json* version = TRY(map.list("amdhsa.version", 2, true));
  if (version->size() != 2 || !(*version)[0].is_number_unsigned() ||
      !(*version)[1].is_number_unsigned()) {
    return map.wrong("amdhsa.version", "is not a list of two numbers");
  }
  const uint64_t major = (*version)[0].get<uint64_t>();
  const uint64_t minor = (*version)[1].get<uint64_t>();
  if (major > kAnyNumber || minor > kAnyNumber) return map.wrong("amdhsa.version", "is absurd");
  metadata.version_major = static_cast<uint32_t>(major);
  metadata.version_minor = static_cast<uint32_t>(minor);
  metadata.target = TRY(map.text("amdhsa.target"));
  const Json* kernels = TRY(map.list("amdhsa.kernels", kMaxKernels, true));
  for (const Json& entry : *kernels) {
    metadata.kernels.push_back(
        TRY(read_kernel(entry, fmt::format("{}: kernel {}", source, metadata.kernels.size()))));
  }
  return metadata;
}

}  // namespace moe::sim::rdna
