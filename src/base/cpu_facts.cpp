#include "base/cpu_facts.hpp"

#include <sched.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <string>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace moe {
namespace {

#if defined(__x86_64__)
uint64_t read_xcr0() {
  uint32_t low = 0;
  uint32_t high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (static_cast<uint64_t>(high) << 32) | low;
}

bool bit(uint32_t word, int index) { return ((word >> index) & 1U) != 0; }

// Intel SDM volume 2, CPUID leaves 1 and 7; volume 1 section 13.1 for XCR0.
void read_isa(CpuFacts& facts) {
  uint32_t a = 0;
  uint32_t b = 0;
  uint32_t c = 0;
  uint32_t d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0) return;
  const bool osxsave = bit(c, 27);
  const bool fma = bit(c, 12);
  const bool f16c = bit(c, 29);
  if (!osxsave) return;
  const uint64_t xcr0 = read_xcr0();
  const bool ymm_saved = (xcr0 & 0x6) == 0x6;
  const bool zmm_saved = (xcr0 & 0xe6) == 0xe6;
  const bool tiles_saved = (xcr0 & 0x60000) == 0x60000;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return;
  facts.avx2_fma = ymm_saved && bit(b, 5) && fma && f16c;
  facts.avx512 =
      zmm_saved && facts.avx2_fma && bit(b, 16) && bit(b, 17) && bit(b, 30) && bit(b, 31);
  facts.amx_bf16 = tiles_saved && bit(d, 22) && bit(d, 24);
  const uint32_t max_subleaf = a;
  if (max_subleaf >= 1 && __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0) {
    facts.avx512_bf16 = facts.avx512 && bit(a, 5);
  }
}
#else
void read_isa(CpuFacts&) {}
#endif

int affinity_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return std::max(1, CPU_COUNT(&set));
}

// cgroup v2 "cpu.max" holds "<quota|max> <period>"; v1 has two files with one number each.
int quota_cores() {
  constexpr int kNoQuota = 1 << 20;
  const auto cores_of = [](double quota, double period) {
    if (quota <= 0 || period <= 0) return kNoQuota;
    return std::max(1, static_cast<int>((quota + period - 1) / period));
  };
  std::ifstream v2("/sys/fs/cgroup/cpu.max");
  std::string quota;
  double period = 0;
  if (v2 >> quota >> period) {
    if (quota == "max") return kNoQuota;
    return cores_of(std::strtod(quota.c_str(), nullptr), period);
  }
  std::ifstream quota_file("/sys/fs/cgroup/cpu/cpu.cfs_quota_us");
  std::ifstream period_file("/sys/fs/cgroup/cpu/cpu.cfs_period_us");
  double quota_us = 0;
  if (quota_file >> quota_us && period_file >> period) return cores_of(quota_us, period);
  return kNoQuota;
}

std::string read_model_name() {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line)) {
    if (line.rfind("model name", 0) != 0) continue;
    const size_t colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown processor";
}

CpuFacts read_facts() {
  CpuFacts facts;
  read_isa(facts);
  facts.allowed_cores = std::min(affinity_cores(), quota_cores());
  facts.model_name = read_model_name();
  return facts;
}

}  // namespace

const CpuFacts& cpu_facts() {
  static const CpuFacts facts = read_facts();
  return facts;
}

std::string isa_summary(const CpuFacts& facts) {
  std::string text = "portable";
  if (facts.avx2_fma) text = "avx2";
  if (facts.avx512) text = "avx512";
  if (facts.avx512_bf16) text = "avx512_bf16";
  if (facts.amx_bf16) text += "+amx_bf16";
  return text;
}

}  // namespace moe
