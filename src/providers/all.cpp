// The list of device kinds that the project knows, and which of them this build has.
#include <fmt/format.h>

#include <string_view>

#include "base/errors.hpp"
#include "providers/cpu/cpu_provider.hpp"
#include "providers/provider.hpp"

namespace moe::providers {
namespace {

struct Kind {
  std::string_view name;
  // Null: known, but not in this build.
  Result<OpenedDevice> (*open)(const OpenOptions&);
  DeviceReport (*report)();
};

// Best first: "auto" takes the first usable one.
constexpr Kind kKinds[] = {
    {"cuda", nullptr, nullptr},
    {"rocm", nullptr, nullptr},
    {"rocm-sim", nullptr, nullptr},
    {"cpu", &cpu::open_cpu, &cpu::report_cpu},
};

std::string built_names() {
  std::string names;
  for (const Kind& kind : kKinds) {
    if (kind.open == nullptr) continue;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", kind.name);
  }
  return names;
}

std::string missing_fix() {
  return fmt::format("choose one of: auto, {}; or use a build with that provider", built_names());
}

}  // namespace

Result<OpenedDevice> open_device(const std::string& name, const OpenOptions& options) {
  for (const Kind& kind : kKinds) {
    if (name == "auto" && kind.report != nullptr && kind.report().usable) {
      return kind.open(options);
    }
    if (name != kind.name) continue;
    if (kind.open != nullptr) return kind.open(options);
    return unsupported(
        fmt::format("device '{}' is not in this build, which has: {}", name, built_names()),
        missing_fix());
  }
  return not_found(fmt::format("device '{}' is unknown; this build has: {}", name, built_names()),
                   fmt::format("choose one of: auto, {}", built_names()));
}

std::vector<DeviceReport> list_devices() {
  std::vector<DeviceReport> reports;
  for (const Kind& kind : kKinds) {
    if (kind.report != nullptr) {
      reports.push_back(kind.report());
    } else {
      reports.push_back({std::string(kind.name), false,
                         "not in this build; fix: use a build with that provider"});
    }
  }
  return reports;
}

}  // namespace moe::providers
