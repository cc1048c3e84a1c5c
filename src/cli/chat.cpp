// moe chat: a conversation, line by line; works in a terminal and through pipes.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "base/errors.hpp"
#include "cli/help.hpp"
#include "cli/input.hpp"
#include "cli/interrupt.hpp"
#include "cli/line_reader.hpp"
#include "cli/model_flags.hpp"
#include "cli/output.hpp"
#include "cli/verb.hpp"

namespace moe::cli {
namespace {

constexpr const char* kHelp =
    R"(usage: moe chat [MODEL] [options]               a conversation: each line is a message
MODEL is a checkpoint folder, by default the bundled model. Lines are read from the terminal or from
a pipe; answers stream to stdout. Ctrl-C stops an answer, and at the prompt ends the program.
in it   /reset   forgets the conversation          /help   lists the commands
        /exit    ends the program                  //...   a message that begins with a slash
prompt  --system TEXT          a system message at the beginning
answer  (defaults: generation_config.json of the model)        * may be repeated
        --max-tokens N         at most N tokens         --min-tokens N     no end before N tokens
        --temperature T        0: the most likely one   --seed N           the same draws again
        --top-k N  --top-p P  --min-p P                 which tokens are drawn from
        --repetition-penalty R  --presence-penalty P  --frequency-penalty P
        --logit-bias ID=V      * adds V to a logit      --stop TEXT        * ends the answer
        --stop-token-id ID     * ends the answer        --ignore-eos       goes on after its end
machine --device NAME  --threads N  --cpu-isa NAME  --numerics native|legacy
        --context N            tokens of the conversation
        --kv-tokens N          size of the key-value cache
        --prefill-chunk N      prompt tokens computed at once; --disable-op NAME * for diagnostics
        -v, --verbose          sizes and times, on stderr
)";

constexpr const char* kCommands =
    "/reset forgets the conversation, /exit ends the program, // begins a message with a slash";

// Tokens that an answer should find room for before older turns are given up.
constexpr int64_t kAnswerRoom = 256;

struct ChatFlags {
  ModelFlags model;
  SamplingFlags sampling;
  std::optional<std::string> system;
};

class Conversation {
 public:
  Conversation(const ChatFlags& flags, Model model, Sampling sampling)
      : flags_(flags), model_(std::move(model)), sampling_(std::move(sampling)) {
    reset();
  }

  // Exit status of the program.
  int run();

 private:
  void reset();
  // Whether the program goes on.
  bool handle_line(std::string line);
  Status answer(std::string message);
  // The ids of the conversation, after giving up old turns if it does not fit.
  Result<std::vector<int32_t>> fitting_prompt();
  void print_prompt() const;

  const ChatFlags& flags_;
  Model model_;
  Sampling sampling_;
  Interrupt interrupt_;
  Stdout out_;
  std::vector<ChatMessage> messages_;
  int status_ = 0;  // of the last message that failed, when nobody watches
};

void Conversation::reset() {
  messages_.clear();
  if (flags_.system) messages_.push_back({"system", *flags_.system});
}

void Conversation::print_prompt() const {
  if (!stdin_is_terminal()) return;
  std::fputs("> ", stderr);
}

Result<std::vector<int32_t>> Conversation::fitting_prompt() {
  const int64_t context = model_.info().context;
  const int64_t room = std::min(kAnswerRoom, context / 4);
  while (true) {
    std::vector<int32_t> ids = TRY(model_.chat_prompt(messages_));
    const auto count = static_cast<int64_t>(ids.size());
    const size_t oldest = flags_.system ? 1 : 0;
    const bool only_the_last = messages_.size() <= oldest + 1;
    if (count + room <= context || (only_the_last && count < context)) return ids;
    if (only_the_last) {
      return invalid_argument(
          fmt::format("the message has {} tokens, the context holds {}", count, context),
          "send a shorter message, or raise --context");
    }
    print_note(
        fmt::format("the conversation has {} tokens and the context holds {}: "
                    "its oldest turn is dropped",
                    count, context));
    // A turn is a message and its answer.
    const auto begin = messages_.begin() + static_cast<std::ptrdiff_t>(oldest);
    messages_.erase(begin, begin + 2);
  }
}

Status Conversation::answer(std::string message) {
  messages_.push_back({"user", std::move(message)});
  Request request;
  Result<std::vector<int32_t>> ids = fitting_prompt();
  if (!ids.ok()) {
    messages_.pop_back();
    return std::move(ids).error();
  }
  request.prompt = std::move(*ids);
  request.sampling = sampling_;
  const auto keep_going = [this] { return !interrupt_.pending() && !out_.failed(); };
  request.on_piece = [&](const Piece& piece) {
    out_.write(piece.text);
    return keep_going();
  };
  Result<Completion> completion = model_.generate(std::move(request), keep_going);
  if (!completion.ok()) {
    messages_.pop_back();
    return std::move(completion).error();
  }
  out_.write("\n");
  if (completion->error) {
    messages_.pop_back();
    return std::move(*completion->error);
  }
  const auto total = completion->prompt_tokens + static_cast<int64_t>(completion->tokens.size());
  if (completion->finish_reason == "length" && total >= model_.info().context) {
    print_note("the answer ends here: the context is full");
  }
  if (flags_.model.verbose) print_note(fmt::format("{} tokens of the context are used", total));
  messages_.push_back({"assistant", completion->text});
  return {};
}

bool Conversation::handle_line(std::string line) {
  if (line.empty()) return true;
  if (line == "/exit") return false;
  if (line == "/reset") {
    reset();
    return true;
  }
  if (line == "/help") {
    print_note(kCommands);
    return true;
  }
  if (line.starts_with("//")) {
    line.erase(0, 1);
  } else if (line.front() == '/') {
    print_note(fmt::format("unknown command {}; {}", line, kCommands));
    return true;
  }
  const Status status = answer(std::move(line));
  if (!status.ok()) status_ = print_error(status.error());
  interrupt_.clear();
  return !out_.failed();
}

int Conversation::run() {
  LineReader lines(interrupt_);
  while (true) {
    print_prompt();
    std::optional<std::string> line = lines.next();
    if (interrupt_.pending()) {
      if (stdin_is_terminal()) std::fputs("\n", stderr);
      return kInterruptedStatus;
    }
    if (lines.too_long()) {
      return print_error(
          invalid_argument(fmt::format("a line has more than {} bytes", LineReader::kMaxLineBytes),
                           "send shorter lines"));
    }
    if (!line || !handle_line(std::move(*line))) break;
  }
  if (out_.failed()) return out_.finish();
  return stdin_is_terminal() ? 0 : status_;
}

Result<int> converse(const ChatFlags& flags) {
  Model model = TRY(flags.model.load());
  // Refuses a model without a template before the first message is typed.
  const ChatMessage probe{"user", "x"};
  TRY(model.chat_prompt({&probe, 1}));
  Sampling sampling = TRY(flags.sampling.apply_to(model.default_sampling()));
  return Conversation(flags, std::move(model), std::move(sampling)).run();
}

}  // namespace

void add_chat(CLI::App& root, Action& action) {
  CLI::App* verb = root.add_subcommand("chat");
  set_help(*verb, kHelp);
  auto flags = std::make_shared<ChatFlags>();
  flags->model.add_to(*verb);
  flags->sampling.add_to(*verb);
  verb->add_option("--system", flags->system);
  verb->callback([flags, &action] {
    action = [flags] {
      const Result<int> status = converse(*flags);
      return status.ok() ? *status : print_error(status.error());
    };
  });
}

}  // namespace moe::cli
