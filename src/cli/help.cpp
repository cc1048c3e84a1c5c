#include "cli/help.hpp"

namespace moe::cli {
namespace {

class FixedText : public CLI::FormatterBase {
 public:
  explicit FixedText(const char* text) : text_(text) {}
  std::string make_help(const CLI::App*, std::string, CLI::AppFormatMode) const override {
    return text_;
  }

 private:
  const char* text_;
};

}  // namespace

void set_help(CLI::App& app, const char* text) {
  app.set_help_flag("-h,--help");
  app.formatter(std::make_shared<FixedText>(text));
}

}  // namespace moe::cli
