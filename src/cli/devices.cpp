// moe devices: what the machine offers, and which variants each operation takes there.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/errors.hpp"
#include "base/json.hpp"
#include "cli/help.hpp"
#include "cli/model_flags.hpp"
#include "cli/output.hpp"
#include "cli/quantity.hpp"
#include "cli/verb.hpp"

namespace moe::cli {
namespace {

constexpr const char* kHelp =
    R"(usage: moe devices [options]                    what this machine offers
For each device kind that the program knows: whether it can be used, or why not and the fix. For
usable ones, each operation with its variants, best first, and why the others are not taken.

  --json             everything as one line of JSON
  --device NAME      only this one
  --threads N        as for `moe run`: CPU threads
  --cpu-isa NAME     as for `moe run`: portable, avx2, avx512, avx512_bf16
  --disable-op NAME  as for `moe run`: leaves out an operation or a variant; may be repeated
  -h, --help         this text
)";

struct DevicesFlags {
  DeviceFlags device;
  bool json = false;
};

std::string text_of(const DeviceInfo& device) {
  std::string text = fmt::format("{:<9} {}: {}\n", device.name,
                                 device.usable ? "usable" : "not usable", device.detail);
  if (!device.usable) return text;
  text += fmt::format("          {}, {} threads", device.architecture, device.threads);
  if (device.memory_bytes > 0) text += ", memory " + bytes_text(device.memory_bytes);
  text += "\n";
  for (const OpVariants& op : device.ops) {
    text += fmt::format(
        "  {:<30} {}\n", op.op,
        op.variants.empty() ? "(no provider)" : fmt::format("{}", fmt::join(op.variants, ", ")));
    for (const OpVariants::Unavailable& other : op.unavailable) {
      text += fmt::format("  {:<30} not {}: {}\n", "", other.variant, other.reason);
    }
  }
  return text;
}

Json json_of(const DeviceInfo& device) {
  Json json = {{"name", device.name}, {"usable", device.usable}, {"detail", device.detail}};
  if (!device.usable) return json;
  json["architecture"] = device.architecture;
  json["description"] = device.description;
  json["threads"] = device.threads;
  json["memory_bytes"] = device.memory_bytes;
  json["ops"] = Json::array();
  for (const OpVariants& op : device.ops) {
    Json unavailable = Json::array();
    for (const OpVariants::Unavailable& other : op.unavailable) {
      unavailable.push_back({{"variant", other.variant}, {"reason", other.reason}});
    }
    json["ops"].push_back(
        {{"op", op.op}, {"variants", op.variants}, {"unavailable", std::move(unavailable)}});
  }
  return json;
}

Result<int> list_devices(const DevicesFlags& flags) {
  const std::string& wanted = flags.device.device;
  std::string text;
  std::string names = "auto";
  Json json = Json::array();
  for (const DeviceInfo& device : TRY(devices(flags.device.options()))) {
    names += ", " + device.name;
    if (wanted != "auto" && wanted != device.name) continue;
    text += text_of(device);
    json.push_back(json_of(device));
  }
  if (json.empty()) {
    return not_found(fmt::format("device '{}' is unknown", wanted), "choose one of: " + names);
  }
  if (!flags.json) return write_stdout(text);
  return write_stdout(json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
}

}  // namespace

void add_devices(CLI::App& root, Action& action) {
  CLI::App* verb = root.add_subcommand("devices");
  set_help(*verb, kHelp);
  auto flags = std::make_shared<DevicesFlags>();
  flags->device.add_to(*verb);
  verb->add_flag("--json", flags->json);
  verb->callback([flags, &action] {
    action = [flags] {
      const Result<int> status = list_devices(*flags);
      return status.ok() ? *status : print_error(status.error());
    };
  });
}

}  // namespace moe::cli
