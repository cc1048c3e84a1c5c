// The command line as a whole: builds it, parses, runs the chosen verb, prints errors.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/verb.hpp"

namespace moe::cli {

// The program's command line with all verbs; `action` must outlive it.
std::unique_ptr<CLI::App> make_command_line(Action& action);

// Exit status of the program. Nothing is thrown.
int run_program(int argc, const char* const* argv);

}  // namespace moe::cli
