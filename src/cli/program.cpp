#include "cli/program.hpp"

#include <csignal>

#include "base/errors.hpp"
#include "cli/help.hpp"
#include "cli/output.hpp"
#include "moe/moe.hpp"

namespace moe::cli {
namespace {

constexpr const char* kHelp =
    R"(usage: moe VERB [options]       runs mixture-of-experts language models from checkpoint folders

  run       answers one prompt; the answer streams to stdout
  chat      a conversation
  tokenize  text to token ids and back
  inspect   what is in a checkpoint, without loading it
  devices   what this machine offers, and which kernels each operation takes
  verify    checks a device against reference data and writes a report

  -h, --help   this text, or `moe VERB --help` for a verb's options
  --version    the version

`moe run -p "What is a lighthouse?"` asks the bundled model.
Exit status: 0, or the row of docs/errors.md; 130 after Ctrl-C.
)";

// The error of a command line that cannot be read.
int usage_error(const CLI::App& root, const CLI::ParseError& error) {
  const auto chosen = root.get_subcommands();
  const std::string verb = chosen.empty() ? "" : " " + chosen.front()->get_name();
  return print_error(
      invalid_argument(error.what(), "`moe" + verb + " --help` shows what can be given"));
}

int parse_and_run(int argc, const char* const* argv) {
  Action action;
  const std::unique_ptr<CLI::App> root = make_command_line(action);
  try {
    root->parse(argc, argv);
  } catch (const CLI::CallForVersion&) {
    return write_stdout(std::string(version()) + "\n");
  } catch (const CLI::CallForHelp&) {
    return write_stdout(root->help());
  } catch (const CLI::ParseError& error) {
    return usage_error(*root, error);
  }
  return action();
}

}  // namespace

std::unique_ptr<CLI::App> make_command_line(Action& action) {
  auto root = std::make_unique<CLI::App>("moe.cpp", "moe");
  set_help(*root, kHelp);
  root->set_version_flag("--version", std::string(version()));
  root->require_subcommand(1);
  add_run(*root, action);
  add_chat(*root, action);
  add_tokenize(*root, action);
  add_inspect(*root, action);
  add_devices(*root, action);
  add_verify(*root, action);
  return root;
}

int run_program(int argc, const char* const* argv) {
  // A closed pipe is seen as an error of write() instead.
  std::signal(SIGPIPE, SIG_IGN);
  try {
    return parse_and_run(argc, argv);
  } catch (const std::bad_alloc&) {
    return print_error(out_of_memory("there is not enough memory", "close other programs"));
  } catch (const std::exception& error) {
    return print_error(internal_error(error.what()));
  }
}

}  // namespace moe::cli
