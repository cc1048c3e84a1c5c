// The verbs of the program. Each adds its subcommand with its flags to the command line, and sets
// `action` to its work when it was chosen; the work returns the exit status.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace moe::cli {

using Action = std::function<int()>;

void add_run(CLI::App& root, Action& action);
void add_chat(CLI::App& root, Action& action);
void add_tokenize(CLI::App& root, Action& action);
void add_inspect(CLI::App& root, Action& action);
void add_devices(CLI::App& root, Action& action);
void add_verify(CLI::App& root, Action& action);

}  // namespace moe::cli
