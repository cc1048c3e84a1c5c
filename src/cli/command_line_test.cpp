// Help pages fit one screen and name every flag that exists.
#include <gtest/gtest.h>

#include <sstream>

#include "cli/help.hpp"
#include "cli/program.hpp"

namespace moe::cli {
namespace {

void expect_one_screen(const std::string& name, const std::string& help) {
  std::istringstream lines(help);
  size_t count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    EXPECT_LE(line.size(), kHelpColumns) << name << ": " << line;
  }
  EXPECT_GT(count, 3u) << name;
  EXPECT_LE(count, kHelpLines) << name;
  EXPECT_EQ(help.back(), '\n') << name;
}

TEST(CommandLine, EveryHelpPageFitsOneScreen) {
  Action action;
  const auto root = make_command_line(action);
  expect_one_screen("moe", root->help());
  const auto verbs = root->get_subcommands([](CLI::App*) { return true; });
  ASSERT_EQ(verbs.size(), 6u);
  for (const CLI::App* verb : verbs) {
    expect_one_screen(verb->get_name(), verb->help());
    EXPECT_NE(root->help().find("  " + verb->get_name() + " "), std::string::npos);
  }
}

TEST(CommandLine, EveryFlagIsInItsHelpPage) {
  Action action;
  const auto root = make_command_line(action);
  for (const CLI::App* verb : root->get_subcommands([](CLI::App*) { return true; })) {
    const std::string help = verb->help();
    for (const CLI::Option* option : verb->get_options()) {
      for (const std::string& name : option->get_lnames()) {
        // Every verb has --help; the biggest pages leave its line out.
        if (name == "help") continue;
        EXPECT_NE(help.find("--" + name), std::string::npos) << verb->get_name() << " --" << name;
      }
      if (option->get_positional()) {
        EXPECT_NE(help.find(option->get_name()), std::string::npos);
      }
    }
  }
}

TEST(CommandLine, EveryFlagInAHelpPageExists) {
  Action action;
  const auto root = make_command_line(action);
  for (const CLI::App* verb : root->get_subcommands([](CLI::App*) { return true; })) {
    const std::string help = verb->help();
    for (size_t at = help.find(" --"); at != std::string::npos; at = help.find(" --", at + 1)) {
      size_t end = at + 3;
      while (end < help.size() && (std::islower(help[end]) != 0 || help[end] == '-')) ++end;
      const std::string flag = help.substr(at + 1, end - at - 1);
      // A page may mention a flag of another verb in `moe run --token-ids`.
      const bool other_verb = at >= 7 && help.compare(at - 7, 7, "moe run") == 0;
      if (other_verb) continue;
      EXPECT_NE(verb->get_option_no_throw(flag), nullptr) << verb->get_name() << " " << flag;
    }
  }
}

}  // namespace
}  // namespace moe::cli
