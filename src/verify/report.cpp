#include <fmt/format.h>

#include <fstream>

#include "base/errors.hpp"
#include "base/json.hpp"
#include "verify/verify.hpp"

namespace moe::verify {
namespace {

std::string_view name_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::kPass:
      return "PASS";
    case Outcome::kFail:
      return "FAIL";
    case Outcome::kSkip:
      return "SKIP";
  }
  return "?";
}

uint64_t refusals(const ops::VariantCount& row) {
  uint64_t total = 0;
  for (uint64_t count : row.refused) total += count;
  return total;
}

Json to_json(const VerifyReport& report) {
  Json json;
  json["version"] = 1;
  json["build"] = MOE_BUILD_ID;
  json["device"] = {{"name", report.device.name},
                    {"architecture", report.device.architecture},
                    {"description", report.device.description}};
  json["passed"] = report.count(Outcome::kPass);
  json["failed"] = report.count(Outcome::kFail);
  json["skipped"] = report.count(Outcome::kSkip);
  json["seconds"] = report.seconds;
  json["peak_device_bytes"] = report.peak_device_bytes;
  for (const CaseResult& result : report.results) {
    json["cases"].push_back({{"name", result.name},
                             {"outcome", name_of(result.outcome)},
                             {"measured", result.measured},
                             {"allowed", result.allowed},
                             {"detail", result.detail},
                             {"seconds", result.seconds}});
  }
  json["operations"] = Json::array();
  for (const ops::VariantCount& row : report.counts) {
    json["operations"].push_back({{"op", ops::name_of(row.op)},
                                  {"variant", row.variant},
                                  {"selected", row.selected},
                                  {"refused", refusals(row)},
                                  {"fallbacks", row.fallbacks}});
  }
  return json;
}

std::string to_markdown(const VerifyReport& report) {
  std::string text = fmt::format(
      "# moe verify: {}\n\n- build: {}\n- device: {} ({}), {}\n- time: {:.1f} s\n- peak device "
      "memory: {} "
      "bytes\n\n| case | outcome | measured | allowed | detail |\n|---|---|---|---|---|\n",
      report.summary(), MOE_BUILD_ID, report.device.name, report.device.architecture,
      report.device.description, report.seconds, report.peak_device_bytes);
  const auto cell = [](std::string value) {
    for (char& c : value) {
      if (c == '\n' || c == '|') c = ' ';
    }
    return value;
  };
  for (const CaseResult& result : report.results) {
    text += fmt::format("| {} | {} | {} | {} | {} |\n", cell(result.name), name_of(result.outcome),
                        result.measured, result.allowed, cell(result.detail));
  }
  text += "\n| operation | variant | selected | refused | fallbacks |\n|---|---|---|---|---|\n";
  for (const ops::VariantCount& row : report.counts) {
    text += fmt::format("| {} | {} | {} | {} | {} |\n", ops::name_of(row.op), row.variant,
                        row.selected, refusals(row), row.fallbacks);
  }
  return text;
}

Status write_file(const std::filesystem::path& path, const std::string& text) {
  std::ofstream stream(path, std::ios::binary);
  stream << text;
  stream.close();
  if (stream) return {};
  return invalid_argument(fmt::format("cannot write the report {}", path.string()),
                          "check that the folder exists and can be written");
}

}  // namespace

std::string format_case(const CaseResult& result) {
  std::string line = fmt::format("{} {}", name_of(result.outcome), result.name);
  if (!result.measured.empty()) line += ": measured " + result.measured;
  if (!result.allowed.empty()) line += ", allowed " + result.allowed;
  if (!result.detail.empty()) line += ": " + result.detail;
  for (char& c : line) {
    if (c == '\n') c = ' ';
  }
  return line;
}

Status write_report(const VerifyReport& report, const std::filesystem::path& path) {
  TRY(write_file(path, to_json(report).dump(2, ' ', false, Json::error_handler_t::replace) + "\n"));
  std::filesystem::path markdown = path;
  return write_file(markdown.replace_extension(".md"), to_markdown(report));
}

}  // namespace moe::verify
