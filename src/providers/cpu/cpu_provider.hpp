// Opening the processor as a device with its op surface.
#pragma once

#include "providers/provider.hpp"

namespace moe::providers::cpu {

// Errors: invalid_argument for a thread count out of range or an unknown instruction set;
// unsupported when the processor lacks the one that was named.
Result<OpenedDevice> open_cpu(const OpenOptions& options);
DeviceReport report_cpu();

}  // namespace moe::providers::cpu
