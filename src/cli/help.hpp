// Help pages as written text: one screen each, checked by tests against the flags that exist.
#pragma once

#include <CLI/CLI.hpp>

namespace moe::cli {

inline constexpr size_t kHelpLines = 24;
inline constexpr size_t kHelpColumns = 100;

// `text` must live as long as the app.
void set_help(CLI::App& app, const char* text);

}  // namespace moe::cli
