#include "api/convert.hpp"

namespace moe {
namespace {

std::vector<OpVariants> variants_of(const ops::OpTable& table) {
  std::vector<OpVariants> rows(ops::kOpCount);
  for (size_t op = 0; op < rows.size(); ++op) {
    rows[op].op = ops::name_of(static_cast<ops::OpId>(op));
  }
  // Counters are in the order of the provider's lists.
  for (const ops::VariantCount& count : table.counts()) {
    rows[static_cast<size_t>(count.op)].variants.push_back(count.variant);
  }
  for (const ops::Unavailable& entry : table.unavailable()) {
    rows[static_cast<size_t>(entry.op)].unavailable.push_back(
        {entry.variant, std::string(ops::name_of(entry.reason))});
  }
  return rows;
}

}  // namespace

std::string_view version() { return MOE_VERSION; }

Result<std::vector<DeviceInfo>> devices(const DeviceOptions& options) {
  const providers::OpenOptions open = TRY(api::to_open_options(options));
  std::vector<DeviceInfo> list;
  for (const providers::DeviceReport& report : providers::list_devices()) {
    DeviceInfo info;
    info.name = report.name;
    info.usable = report.usable;
    info.detail = report.detail;
    if (report.usable) {
      const providers::OpenedDevice opened = TRY(providers::open_device(report.name, open));
      const DeviceFacts& facts = opened.device->facts();
      info.architecture = facts.architecture;
      info.description = facts.description;
      info.threads = facts.threads;
      info.memory_bytes = facts.memory_bytes;
      info.ops = variants_of(*opened.table);
    }
    list.push_back(std::move(info));
  }
  return list;
}

}  // namespace moe
