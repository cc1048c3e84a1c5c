// moe inspect: what is in a checkpoint, from its headers alone.
#include "moe/inspect.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/json.hpp"
#include "cli/help.hpp"
#include "cli/output.hpp"
#include "cli/quantity.hpp"
#include "cli/verb.hpp"

namespace moe::cli {
namespace {

constexpr const char* kHelp =
    R"(usage: moe inspect MODEL [--json]               what is in a checkpoint, without loading it
Reads config.json and the headers of the safetensors files: configuration, tensors by part,
parameters in total and per token, bytes by type, shards, the largest tensors. Works for
architectures that this build cannot run, too.

  --json      everything as one line of JSON
  -h, --help  this text
)";

std::string text_of(const CheckpointInfo& info) {
  std::string text = fmt::format(
      "{}{}\n\n", info.architecture.empty() ? "unknown architecture" : info.architecture,
      info.runs_here ? "" : " (this build cannot run it)");
  for (const auto& [key, value] : info.configuration)
    text += fmt::format("  {:<32} {}\n", key, value);
  text += fmt::format("\n{:<16} {:>9} {:>19} {:>12}\n", "part", "tensors", "parameters", "bytes");
  for (const CheckpointInfo::Part& part : info.parts) {
    text += fmt::format("{:<16} {:>9} {:>19} {:>12}\n", part.name, part.tensors,
                        with_separators(part.parameters), bytes_text(part.bytes));
  }
  text += fmt::format("\nparameters  {}{}\n", with_separators(info.parameters),
                      info.tied_head ? " (the output head is the embedding, counted once)" : "");
  text +=
      fmt::format("per token   {}\n",
                  info.active_parameters ? with_separators(*info.active_parameters) : "not known");
  text += fmt::format(
      "KV cache    {}\n",
      info.kv_bytes_per_token
          ? fmt::format("{} bytes per token",
                        with_separators(static_cast<uint64_t>(*info.kv_bytes_per_token)))
          : "not known for this architecture");
  text += fmt::format("weights     {}:", bytes_text(info.bytes));
  for (const CheckpointInfo::TypeUse& use : info.types) {
    text += fmt::format(" {} {} in {} tensors", use.type, bytes_text(use.bytes), use.tensors);
  }
  text += fmt::format("\nshards      {}\n", info.shards.size());
  for (const CheckpointInfo::Shard& shard : info.shards) {
    text += fmt::format("  {:<40} {:>7} tensors {:>12}\n", shard.file, shard.tensors,
                        bytes_text(shard.bytes));
  }
  text += "largest tensors\n";
  for (const CheckpointInfo::Tensor& tensor : info.largest) {
    text +=
        fmt::format("  {:<56} {:<5} {:<20} {:>10}\n", tensor.name, tensor.type,
                    fmt::format("[{}]", fmt::join(tensor.shape, ", ")), bytes_text(tensor.bytes));
  }
  for (const std::string& note : info.notes) text += "note: " + note + "\n";
  return text;
}

template <class Value>
Json optional_json(const std::optional<Value>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json json_of(const CheckpointInfo& info) {
  Json json;
  json["architecture"] = info.architecture;
  json["runs_here"] = info.runs_here;
  json["configuration"] = Json::object();
  for (const auto& [key, value] : info.configuration) json["configuration"][key] = value;
  json["parameters"] = info.parameters;
  json["active_parameters"] = optional_json(info.active_parameters);
  json["tied_head"] = info.tied_head;
  json["bytes"] = info.bytes;
  json["kv_bytes_per_token"] = optional_json(info.kv_bytes_per_token);
  json["parts"] = Json::array();
  for (const CheckpointInfo::Part& part : info.parts) {
    json["parts"].push_back({{"name", part.name},
                             {"tensors", part.tensors},
                             {"parameters", part.parameters},
                             {"bytes", part.bytes}});
  }
  json["types"] = Json::array();
  for (const CheckpointInfo::TypeUse& use : info.types) {
    json["types"].push_back({{"type", use.type}, {"tensors", use.tensors}, {"bytes", use.bytes}});
  }
  json["shards"] = Json::array();
  for (const CheckpointInfo::Shard& shard : info.shards) {
    json["shards"].push_back(
        {{"file", shard.file}, {"tensors", shard.tensors}, {"bytes", shard.bytes}});
  }
  json["largest"] = Json::array();
  for (const CheckpointInfo::Tensor& tensor : info.largest) {
    json["largest"].push_back({{"name", tensor.name},
                               {"type", tensor.type},
                               {"shape", tensor.shape},
                               {"bytes", tensor.bytes},
                               {"file", tensor.file}});
  }
  json["notes"] = info.notes;
  return json;
}

}  // namespace

void add_inspect(CLI::App& root, Action& action) {
  CLI::App* verb = root.add_subcommand("inspect");
  set_help(*verb, kHelp);
  auto folder = std::make_shared<std::string>();
  auto json = std::make_shared<bool>(false);
  verb->add_option("MODEL", *folder)->required();
  verb->add_flag("--json", *json);
  verb->callback([folder, json, &action] {
    action = [folder, json] {
      const Result<CheckpointInfo> info = moe::inspect(*folder);
      if (!info.ok()) return print_error(info.error());
      if (!*json) return write_stdout(text_of(*info));
      return write_stdout(json_of(*info).dump(-1, ' ', false, Json::error_handler_t::replace) +
                          "\n");
    };
  });
}

}  // namespace moe::cli
