// moe verify: runs the cases of an oracle folder and prints a line for each.
#include "verify/verify.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include "base/errors.hpp"
#include "cli/help.hpp"
#include "cli/model_flags.hpp"
#include "cli/output.hpp"
#include "cli/verb.hpp"

namespace moe::cli {
namespace {

constexpr const char* kHelp =
    R"(usage: moe verify --oracle DIR [options]        checks a device against reference data
Runs what DIR holds of models/, components/, tokenizers/ and templates/. One line a case, beginning
PASS, FAIL or SKIP, with the measured and the allowed deviation; the last line counts them.
Exit status: 0 when nothing failed, 1 when a case failed, 3 when there was none.

  --oracle DIR       the folder with the cases
  --device NAME      the device to check, by default the best usable one
  --filter TEXT      only cases whose name contains TEXT
  --report FILE.json writes a report, and the same as FILE.md beside it
  --full             all tokens of the large component cases, not only samples of them
  --threads N        as for `moe run`: CPU threads
  --cpu-isa NAME     as for `moe run`: portable, avx2, avx512, avx512_bf16
  --disable-op NAME  as for `moe run`: leaves out an operation or a variant; may be repeated
  -h, --help         this text
)";

constexpr int kFailedStatus = 1;

struct VerifyFlags {
  std::filesystem::path oracle;
  DeviceFlags device;
  std::string filter;
  std::filesystem::path report;
  bool full = false;
};

// A report that cannot be written should not be found out after the work.
Status check_report(const std::filesystem::path& report) {
  if (report.empty()) return {};
  const std::filesystem::path parent = report.parent_path();
  const std::string folder = parent.empty() ? "." : parent.string();
  if (report.extension() == ".md") {
    return invalid_argument(
        fmt::format("--report {} would be overwritten by its own Markdown", report.string()),
        "name a .json file");
  }
  if (::access(folder.c_str(), W_OK) == 0) return {};
  return invalid_argument(fmt::format("cannot write the report {}", report.string()),
                          "check that the folder exists and can be written");
}

Result<int> run_cases(const VerifyFlags& flags) {
  TRY(check_report(flags.report));
  const DeviceOptions device_options = flags.device.options();
  verify::VerifyOptions options;
  options.device = flags.device.device;
  options.device_options.threads = device_options.threads;
  options.device_options.cpu_isa = device_options.cpu_isa;
  options.device_options.disabled = device_options.disabled;
  options.filter = flags.filter;
  options.full = flags.full;
  Stdout out;
  verify::VerifyReport seen;  // for the last line when something ends the work early
  const Result<verify::VerifyReport> report = verify::verify_oracle(
      flags.oracle, options,
      [&](const verify::CaseResult& result) { out.write(verify::format_case(result) + "\n"); });
  if (!report.ok()) {
    out.write(seen.summary() + "\n");
    return report.error();
  }
  out.write(report->summary() + "\n");
  if (!flags.report.empty()) TRY(verify::write_report(*report, flags.report));
  const int written = out.finish();
  return report->passed() ? written : kFailedStatus;
}

}  // namespace

void add_verify(CLI::App& root, Action& action) {
  CLI::App* verb = root.add_subcommand("verify");
  set_help(*verb, kHelp);
  auto flags = std::make_shared<VerifyFlags>();
  verb->add_option("--oracle", flags->oracle)->required();
  flags->device.add_to(*verb);
  verb->add_option("--filter", flags->filter);
  verb->add_option("--report", flags->report);
  verb->add_flag("--full", flags->full);
  verb->callback([flags, &action] {
    action = [flags] {
      const Result<int> status = run_cases(*flags);
      return status.ok() ? *status : print_error(status.error());
    };
  });
}

}  // namespace moe::cli
