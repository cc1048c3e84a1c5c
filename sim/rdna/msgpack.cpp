// See msgpack.hpp. Format: github.com/msgpack/msgpack/blob/master/spec.md.
#include "rdna/msgpack.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <utility>

#include "base/errors.hpp"

namespace moe::sim::rdna {
namespace {

constexpr const char* kFix = "the code object is damaged; build it again";

class Reader {
 public:
  Reader(std::span<const std::byte> bytes, std::string_view source, MsgpackLimits limits)
      : bytes_(bytes), source_(source), limits_(limits) {}

  Result<Json> value(int depth);
  bool at_end() const { return position_ == bytes_.size(); }
  Error wrong(const std::string& what) const {
    return corrupt(fmt::format("{}: metadata, byte {}: {}", source_, position_, what), kFix);
  }

 private:
  Result<uint64_t> big_endian(size_t size);
  Result<std::string> text(uint64_t size);
  Result<Json> array(uint64_t count, int depth);
  Result<Json> map(uint64_t count, int depth);
  Result<Json> of_type(uint8_t type, int depth);
  Result<Json> signed_integer(size_t size);

  std::span<const std::byte> bytes_;
  std::string_view source_;
  MsgpackLimits limits_;
  size_t position_ = 0;
  size_t values_ = 0;
};

Result<uint64_t> Reader::big_endian(size_t size) {
  if (bytes_.size() - position_ < size) {
    return wrong(fmt::format("cut off, wanted {} bytes, got {}", size, bytes_.size() - position_));
  }
  uint64_t number = 0;
  for (size_t i = 0; i < size; ++i)
    number = number << 8 | static_cast<uint8_t>(bytes_[position_++]);
  return number;
}

Result<Json> Reader::signed_integer(size_t size) {
  const uint64_t number = TRY(big_endian(size));
  const auto unused = static_cast<int>(64 - 8 * size);
  return Json(static_cast<int64_t>(number << unused) >> unused);
}

Result<std::string> Reader::text(uint64_t size) {
  if (bytes_.size() - position_ < size) {
    return wrong(fmt::format("string of {} bytes, got {}", size, bytes_.size() - position_));
  }
  const auto* data = reinterpret_cast<const char*>(bytes_.data() + position_);
  position_ += static_cast<size_t>(size);
  return std::string(data, static_cast<size_t>(size));
}

Result<Json> Reader::array(uint64_t count, int depth) {
  Json list = Json::array();
  for (uint64_t i = 0; i < count; ++i) list.push_back(TRY(value(depth + 1)));
  return list;
}

Result<Json> Reader::map(uint64_t count, int depth) {
  if (count > limits_.max_map_entries) {
    return wrong(
        fmt::format("a map of {} entries, the limit is {}", count, limits_.max_map_entries));
  }
  Json object = Json::object();
  for (uint64_t i = 0; i < count; ++i) {
    Json key = TRY(value(depth + 1));
    if (!key.is_string())
      return wrong(fmt::format("a map key is {}, wanted a string", key.type_name()));
    const auto& name = key.get_ref<const std::string&>();
    if (object.contains(name)) return wrong(fmt::format("duplicate key \"{}\"", name));
    object[name] = TRY(value(depth + 1));
  }
  return object;
}

Result<Json> Reader::of_type(uint8_t type, int depth) {
  switch (type) {
    case 0xc0:
      return Json(nullptr);
    case 0xc2:
      return Json(false);
    case 0xc3:
      return Json(true);
    case 0xcc:
      return Json(TRY(big_endian(1)));
    case 0xcd:
      return Json(TRY(big_endian(2)));
    case 0xce:
      return Json(TRY(big_endian(4)));
    case 0xcf:
      return Json(TRY(big_endian(8)));
    case 0xd0:
      return signed_integer(1);
    case 0xd1:
      return signed_integer(2);
    case 0xd2:
      return signed_integer(4);
    case 0xd3:
      return signed_integer(8);
    case 0xd9:
      return Json(TRY(text(TRY(big_endian(1)))));
    case 0xda:
      return Json(TRY(text(TRY(big_endian(2)))));
    case 0xdb:
      return Json(TRY(text(TRY(big_endian(4)))));
    case 0xdc:
      return array(TRY(big_endian(2)), depth);
    case 0xdd:
      return array(TRY(big_endian(4)), depth);
    case 0xde:
      return map(TRY(big_endian(2)), depth);
    case 0xdf:
      return map(TRY(big_endian(4)), depth);
  }
  return wrong(fmt::format("type 0x{:02x} does not belong into metadata", type));
}

Result<Json> Reader::value(int depth) {
  if (depth > limits_.max_depth) {
    return wrong(fmt::format("nested deeper than {} levels", limits_.max_depth));
  }
  if (++values_ > limits_.max_values) {
    return wrong(fmt::format("more than {} values", limits_.max_values));
  }
  const auto type = static_cast<uint8_t>(TRY(big_endian(1)));
  if (type < 0x80) return Json(uint64_t{type});
  if (type < 0x90) return map(type & 15, depth);
  if (type < 0xa0) return array(type & 15, depth);
  if (type < 0xc0) return Json(TRY(text(type & 31)));
  if (type >= 0xe0) return Json(int64_t{static_cast<int8_t>(type)});
  return of_type(type, depth);
}

}  // namespace

Result<Json> read_msgpack(std::span<const std::byte> bytes, std::string_view source,
                          MsgpackLimits limits) {
  if (bytes.size() > limits.max_bytes) {
    return corrupt(fmt::format("{}: metadata of {} bytes, the limit is {}", source, bytes.size(),
                               limits.max_bytes),
                   kFix);
  }
  Reader reader(bytes, source, limits);
  Json root = TRY(reader.value(0));
  if (!reader.at_end()) return reader.wrong("bytes behind the value");
  return root;
}

}  // namespace moe::sim::rdna
