// moe tokenize: text to token ids and back. Reads the tokenizer alone, not the weights.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/errors.hpp"
#include "base/json.hpp"
#include "cli/help.hpp"
#include "cli/input.hpp"
#include "cli/output.hpp"
#include "cli/verb.hpp"
#include "text/tokenizer/tokenizer.hpp"

namespace moe::cli {
namespace {

constexpr const char* kHelp =
    R"(usage: moe tokenize MODEL [-p TEXT] [options]   text to token ids and back
MODEL is a folder with a tokenizer.json. Without -p the text comes from stdin, byte for byte.

  -p, --prompt TEXT   the text ("-": stdin)
  --decode 1,2,3      the other way: the text of these ids ("-": stdin)
  --ids-only          only the ids, on one line, as `moe run --token-ids` takes them
  --json              one line of JSON: ids, tokens and their number
  --no-special        without the special tokens that the tokenizer adds; in decoding, leaves
                      special tokens out of the text
  --plain             text that reads like a special token stays text
  -h, --help          this text
)";

struct TokenizeFlags {
  std::string folder;
  std::optional<std::string> prompt;
  std::optional<std::string> decode;
  bool ids_only = false;
  bool json = false;
  bool no_special = false;
  bool plain = false;
};

std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<std::string> given_text(const std::optional<std::string>& given) {
  if (given && *given != "-") return *given;
  if (!given && stdin_is_terminal()) {
    return invalid_argument("there is no text", "give one with -p TEXT, or pipe it into stdin");
  }
  return read_stdin();
}

std::string listing(const text::Tokenizer& tokenizer, const std::vector<int32_t>& ids) {
  std::string lines;
  for (const int32_t id : ids) {
    const std::string_view token = tokenizer.id_to_token(id).value_or("");
    lines +=
        fmt::format("{:>8}  {}{}\n", id, dump(token), tokenizer.is_special(id) ? "  special" : "");
  }
  return lines + fmt::format("{} tokens\n", ids.size());
}

Result<int> decode(const text::Tokenizer& tokenizer, const TokenizeFlags& flags) {
  const std::vector<int32_t> ids = TRY(parse_token_ids(TRY(given_text(flags.decode))));
  for (const int32_t id : ids) {
    if (tokenizer.id_to_token(id)) continue;
    return invalid_argument(fmt::format("id {} is not in the vocabulary, whose highest id is {}",
                                        id, tokenizer.vocab_size() - 1),
                            "give ids of this model's tokenizer");
  }
  const std::string text = TRY(tokenizer.decode(ids, flags.no_special));
  return write_stdout((flags.json ? dump(Json{{"text", text}}) : text) + "\n");
}

Result<int> tokenize(const TokenizeFlags& flags) {
  if (flags.decode && flags.prompt) {
    return invalid_argument("--decode and --prompt do not go together", "leave one of them out");
  }
  if (flags.ids_only && flags.json) {
    return invalid_argument("--ids-only and --json do not go together", "leave one of them out");
  }
  const std::shared_ptr<const text::Tokenizer> tokenizer = TRY(text::Tokenizer::load(flags.folder));
  if (flags.decode) return decode(*tokenizer, flags);
  const std::string text = TRY(given_text(flags.prompt));
  const std::vector<int32_t> ids = TRY(tokenizer->encode(
      text, !flags.no_special,
      flags.plain ? text::SpecialTokens::kPlainText : text::SpecialTokens::kParse));
  if (flags.ids_only) return write_stdout(fmt::format("{}\n", fmt::join(ids, ",")));
  if (!flags.json) return write_stdout(listing(*tokenizer, ids));
  Json tokens = Json::array();
  for (const int32_t id : ids) tokens.push_back(tokenizer->id_to_token(id).value_or(""));
  return write_stdout(
      dump(Json{{"ids", ids}, {"tokens", std::move(tokens)}, {"count", ids.size()}}) + "\n");
}

}  // namespace

void add_tokenize(CLI::App& root, Action& action) {
  CLI::App* verb = root.add_subcommand("tokenize");
  set_help(*verb, kHelp);
  auto flags = std::make_shared<TokenizeFlags>();
  verb->add_option("MODEL", flags->folder)->required();
  verb->add_option("-p,--prompt", flags->prompt);
  verb->add_option("--decode", flags->decode);
  verb->add_flag("--ids-only", flags->ids_only);
  verb->add_flag("--json", flags->json);
  verb->add_flag("--no-special", flags->no_special);
  verb->add_flag("--plain", flags->plain);
  verb->callback([flags, &action] {
    action = [flags] {
      const Result<int> status = tokenize(*flags);
      return status.ok() ? *status : print_error(status.error());
    };
  });
}

}  // namespace moe::cli
