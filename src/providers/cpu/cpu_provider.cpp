#include "providers/cpu/cpu_provider.hpp"

#include <fmt/format.h>

#include "base/cpu_facts.hpp"
#include "base/errors.hpp"
#include "providers/cpu/cpu_device.hpp"
#include "providers/cpu/lists.hpp"

namespace moe::providers::cpu {
namespace {

Result<Isa> wanted_isa(const std::string& name) {
  if (name.empty()) return best_isa();
  const std::optional<Isa> isa = isa_named(name);
  if (!isa) {
    return invalid_argument(
        fmt::format("device cpu: instruction set '{}' is unknown, wanted one of: {}", name,
                    isa_names()),
        "name one of these, or none for the best that the processor has");
  }
  if (!runs_here(*isa)) {
    return unsupported(
        fmt::format("device cpu: instruction set {} was asked for, but the processor ({}) or this "
                    "build has no more than {}",
                    name, cpu_facts().model_name, name_of(best_isa())),
        "name a lower one, or none for the best that the processor has");
  }
  return *isa;
}

Result<int> wanted_threads(int threads) {
  if (threads < 0 || threads > ThreadPool::kMaxThreads) {
    return invalid_argument(
        fmt::format("device cpu: {} threads, wanted 0 (all allowed cores) to {}", threads,
                    ThreadPool::kMaxThreads),
        "choose a number in that range");
  }
  return threads == 0 ? cpu_facts().allowed_cores : threads;
}

}  // namespace

Result<OpenedDevice> open_cpu(const OpenOptions& options) {
  const Isa isa = TRY(wanted_isa(options.cpu_isa));
  const int threads = TRY(wanted_threads(options.threads));
  OpenedDevice opened;
  opened.device = std::make_unique<CpuDevice>(threads, isa);
  opened.table = std::make_unique<ops::OpTable>(opened.device->facts());
  register_variants(*opened.table, isa, options.disabled);
  return opened;
}

DeviceReport report_cpu() {
  return {"cpu", true,
          fmt::format("{}, {} allowed cores, instruction set {}", cpu_facts().model_name,
                      cpu_facts().allowed_cores, isa_summary(cpu_facts()))};
}

}  // namespace moe::providers::cpu
