// moe run: one prompt, one answer.
#include <fmt/format.h>

#include "base/errors.hpp"
#include "base/json.hpp"
#include "cli/help.hpp"
#include "cli/input.hpp"
#include "cli/interrupt.hpp"
#include "cli/logits_file.hpp"
#include "cli/model_flags.hpp"
#include "cli/op_stats.hpp"
#include "cli/output.hpp"
#include "cli/verb.hpp"

namespace moe::cli {
namespace {

constexpr const char* kHelp =
    R"(usage: moe run [MODEL] [-p TEXT] [options]     answers one prompt; the answer streams to stdout
MODEL is a checkpoint folder, by default the bundled model. Without -p the prompt comes from stdin.
prompt  -p, --prompt TEXT      the user's message ("-": stdin)
        --system TEXT          a system message in front of it
        --raw                  no chat template: the text is continued as it stands
        --token-ids 1,2,3      a prompt of ids instead of text ("-": stdin)
answer  (defaults: generation_config.json of the model)        * may be repeated
        --max-tokens N         at most N tokens         --min-tokens N     no end before N tokens
        --temperature T        0: the most likely one   --seed N           the same draws again
        --top-k N  --top-p P  --min-p P                 which tokens are drawn from
        --repetition-penalty R  --presence-penalty P  --frequency-penalty P
        --logit-bias ID=V      * adds V to a logit      --stop TEXT        * ends the answer
        --stop-token-id ID     * ends the answer        --ignore-eos       goes on after its end
output  --format text|json     json: one line with ids, text, finish_reason and usage
        --logprobs N           json: with the N most likely tokens of each position, 0 to 20
        --save-logits FILE     the FP32 logits of every position, as safetensors
        --op-stats             which kernels ran, on stderr
        -v, --verbose          sizes and times, on stderr
machine --device NAME  --threads N  --cpu-isa NAME  --numerics native|legacy
        --context N            tokens of prompt and answer together
        --kv-tokens N          size of the key-value cache
        --prefill-chunk N      prompt tokens computed at once; --disable-op NAME * for diagnostics
)";

struct RunFlags {
  ModelFlags model;
  SamplingFlags sampling;
  std::optional<std::string> prompt;
  std::optional<std::string> system;
  std::optional<std::string> token_ids;
  bool raw = false;
  std::string format = "text";
  std::optional<int32_t> logprobs;
  std::string save_logits;
  bool op_stats = false;

  bool json() const { return format == "json"; }
};

// What was given: text, or ids instead of it.
struct Prompt {
  std::string text;
  std::vector<int32_t> ids;
};

// Reads stdin where that was asked for.
Result<std::string> given_text(const RunFlags& flags) {
  const std::optional<std::string>& given = flags.token_ids ? flags.token_ids : flags.prompt;
  if (given && *given != "-") return *given;
  if (!given && stdin_is_terminal()) {
    return invalid_argument("there is no prompt", "give one with -p TEXT, or pipe it into stdin");
  }
  std::string text = TRY(read_stdin());
  // A message typed through `echo` or a file does not mean its last line break.
  if (!flags.raw && !flags.token_ids && !text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

Result<Prompt> given_prompt(const RunFlags& flags) {
  Prompt prompt;
  prompt.text = TRY(given_text(flags));
  if (flags.token_ids) prompt.ids = TRY(parse_token_ids(prompt.text));
  return prompt;
}

Status check_flags(const RunFlags& flags) {
  const auto conflict = [](const char* a, const char* b) {
    return invalid_argument(fmt::format("{} and {} do not go together", a, b),
                            "leave one of them out");
  };
  if (flags.token_ids && flags.prompt) return conflict("--token-ids", "--prompt");
  if (flags.token_ids && flags.system) return conflict("--token-ids", "--system");
  if (flags.raw && flags.system) return conflict("--raw", "--system");
  if (flags.logprobs && !flags.json()) {
    return invalid_argument("--logprobs has no place in text output", "add --format json");
  }
  return {};
}

Result<std::vector<int32_t>> prompt_ids(const Model& model, const RunFlags& flags,
                                        const Prompt& prompt) {
  if (flags.token_ids) return prompt.ids;
  if (flags.raw) return model.tokenize(prompt.text);
  std::vector<ChatMessage> messages;
  if (flags.system) messages.push_back({"system", *flags.system});
  messages.push_back({"user", prompt.text});
  Result<std::vector<int32_t>> ids = model.chat_prompt(messages);
  const bool no_template = !ids.ok() && ids.error().code == ErrorCode::kNotFound;
  if (!no_template || flags.system) return ids;
  print_note("the model has no chat template; the text is continued as it stands");
  return model.tokenize(prompt.text);
}

Json logprobs_json(const std::vector<PositionLogprobs>& positions) {
  Json list = Json::array();
  for (const PositionLogprobs& position : positions) {
    Json top = Json::array();
    for (const TokenLogprob& entry : position.top) {
      top.push_back({{"token_id", entry.token}, {"logprob", entry.logprob}});
    }
    list.push_back({{"token_id", position.drawn.token},
                    {"logprob", position.drawn.logprob},
                    {"rank", position.rank},
                    {"top", std::move(top)}});
  }
  return list;
}

std::string completion_json(const Completion& completion, bool has_text, bool with_logprobs) {
  const auto count = static_cast<int64_t>(completion.tokens.size());
  Json json;
  json["token_ids"] = completion.tokens;
  json["text"] = has_text ? Json(completion.text) : Json(nullptr);
  json["finish_reason"] = completion.finish_reason;
  json["usage"] = {{"prompt_tokens", completion.prompt_tokens},
                   {"completion_tokens", count},
                   {"total_tokens", completion.prompt_tokens + count}};
  if (with_logprobs) json["logprobs"] = logprobs_json(completion.logprobs);
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

double rate(int64_t count, double seconds) {
  return seconds > 0 ? static_cast<double>(count) / seconds : 0;
}

void print_times(const Completion& completion) {
  const auto count = static_cast<int64_t>(completion.tokens.size());
  print_note(fmt::format("prompt: {} tokens in {:.3f} s ({:.1f} tokens/s)",
                         completion.prompt_tokens, completion.prefill_seconds,
                         rate(completion.prompt_tokens, completion.prefill_seconds)));
  print_note(fmt::format("answer: {} tokens in {:.3f} s ({:.1f} tokens/s), seed {}", count,
                         completion.decode_seconds, rate(count - 1, completion.decode_seconds),
                         completion.seed));
}

Result<int> answer(const RunFlags& flags) {
  TRY(check_flags(flags));
  std::optional<LogitsFile> logits_file;
  if (!flags.save_logits.empty()) logits_file = TRY(LogitsFile::create(flags.save_logits));
  const Prompt prompt = TRY(given_prompt(flags));
  Model model = TRY(flags.model.load());
  if (!flags.json() && !model.info().has_tokenizer) {
    return unsupported("the model folder has no tokenizer.json, so the answer has no text",
                       "add --format json for token ids");
  }

  Interrupt interrupt;
  Stdout out;
  Request request;
  request.prompt = TRY(prompt_ids(model, flags, prompt));
  request.sampling = TRY(flags.sampling.apply_to(model.default_sampling()));
  request.sampling.top_logprobs = flags.logprobs;
  const auto keep_going = [&] {
    return !interrupt.pending() && !out.failed() && !(logits_file && logits_file->failed());
  };
  request.on_piece = [&](const Piece& piece) {
    if (!flags.json()) out.write(piece.text);
    return keep_going();
  };
  if (logits_file) {
    request.on_logits = [&](const LogitRows& rows) { logits_file->append(rows); };
  }
  const Completion completion = TRY(model.generate(std::move(request), keep_going));

  out.write(flags.json() ? completion_json(completion, model.info().has_tokenizer,
                                           flags.logprobs.has_value())
                         : "\n");
  if (logits_file) TRY(logits_file->finish(completion));
  if (flags.op_stats) fmt::print(stderr, "{}", op_stats_text(model));
  if (flags.model.verbose) print_times(completion);
  if (completion.error) return *completion.error;
  return interrupt.pending() ? kInterruptedStatus : out.finish();
}

}  // namespace

void add_run(CLI::App& root, Action& action) {
  CLI::App* verb = root.add_subcommand("run");
  set_help(*verb, kHelp);
  auto flags = std::make_shared<RunFlags>();
  flags->model.add_to(*verb);
  flags->sampling.add_to(*verb);
  verb->add_option("-p,--prompt", flags->prompt);
  verb->add_option("--system", flags->system);
  verb->add_option("--token-ids", flags->token_ids);
  verb->add_flag("--raw", flags->raw);
  verb->add_option("--format", flags->format)->check(CLI::IsMember({"text", "json"}));
  add_number(*verb, "--logprobs", flags->logprobs);
  verb->add_option("--save-logits", flags->save_logits);
  verb->add_flag("--op-stats", flags->op_stats);
  verb->callback([flags, &action] {
    action = [flags] {
      const Result<int> status = answer(*flags);
      return status.ok() ? *status : print_error(status.error());
    };
  });
}

}  // namespace moe::cli
