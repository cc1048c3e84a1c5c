// Functions that every template can call.
#include <fmt/format.h>

#include <array>
#include <ctime>

#include "base/errors.hpp"
#include "text/chat/args.hpp"
#include "text/chat/builtins.hpp"
#include "text/chat/interp.hpp"
#include "text/chat/objects.hpp"
#include "text/chat/print.hpp"

namespace moe::text::jinja {
namespace {

Result<Value> call_range(Interp& interp, Args& args) {
  TRY(positional_only("range", args, 1, 3));
  int64_t start = 0;
  int64_t step = 1;
  int64_t stop = TRY(int_arg("range", args.positional[0], 0));
  if (args.positional.size() > 1) {
    start = stop;
    stop = TRY(int_arg("range", args.positional[1], 0));
  }
  if (args.positional.size() > 2) step = TRY(int_arg("range", args.positional[2], 1));
  if (step == 0) return invalid_argument("range: the step must not be zero");
  const __int128 distance =
      step > 0 ? static_cast<__int128>(stop) - start : static_cast<__int128>(start) - stop;
  const __int128 stride = step > 0 ? static_cast<__int128>(step) : -static_cast<__int128>(step);
  const __int128 count = distance <= 0 ? 0 : (distance + stride - 1) / stride;
  if (count > kMaxRangeItems) {
    return invalid_argument(fmt::format("a range has more than {} items", kMaxRangeItems));
  }
  return interp.make_object(std::make_shared<Range>(start, stop, step, static_cast<size_t>(count)));
}

// The entries of dict(...) and namespace(...): of one mapping or list of pairs, then keywords.
Result<Dict> entries_of(Interp& interp, std::string_view what, Args& args) {
  Dict dict;
  if (args.positional.size() > 1) {
    return invalid_argument(fmt::format("{} takes at most 1 positional argument", what));
  }
  if (!args.positional.empty()) {
    const Value& source = args.positional[0];
    if (source.is(Kind::kDict)) {
      dict = source.as_dict();
    } else {
      for (const Value& item : TRY(interp.collect(source))) {
        const std::vector<Value> pair = TRY(interp.collect(item));
        if (pair.size() != 2 || !dict.set(pair[0], pair[1])) {
          return invalid_argument(fmt::format("{} wants pairs of a key and a value", what));
        }
      }
    }
  }
  for (const auto& [key, value] : args.keyword) dict.set(Value::literal(key), value);
  return dict;
}

Result<Value> call_dict(Interp& interp, Args& args) {
  return interp.make_dict(TRY(entries_of(interp, "dict", args)));
}

Result<Value> call_namespace(Interp& interp, Args& args) {
  const Dict entries = TRY(entries_of(interp, "namespace", args));
  const auto space = interp.make_namespace();
  for (const auto& [key, value] : entries.entries) {
    if (key.is_text()) space->set(key.bytes(), value);
  }
  return interp.make_object(space);
}

Result<Value> call_cycler(Interp& interp, Args& args) {
  if (!args.keyword.empty()) return invalid_argument("cycler takes no keyword arguments");
  if (args.positional.empty()) return invalid_argument("cycler needs at least one item");
  return interp.make_object(std::make_shared<Cycler>(std::move(args.positional)));
}

Result<Value> call_joiner(Interp& interp, Args& args) {
  auto bound = TRY(bind_args("joiner", args, {"sep"}, 0));
  return interp.make_object(
      std::make_shared<Joiner>(bound[0].is(Kind::kMissing) ? Value::literal(", ") : bound[0]));
}

Result<Value> call_raise_exception(Interp& interp, Args& args) {
  auto bound = TRY(bind_args("raise_exception", args, {"message"}, 1));
  const Value message = TRY(to_text(interp, bound[0]));
  return invalid_argument(fmt::format("the template refuses the request: {}", message.bytes()),
                          "send messages in the order and with the roles that the model supports");
}

// Python's strftime of local time, letter by letter: unknown ones are refused, not passed through.
Result<Value> call_strftime_now(Interp& interp, Args& args) {
  constexpr std::string_view kLetters = "aAbBcdDeFgGhHIjmMnpRSTuUVwWxXyYZ%";
  auto bound = TRY(bind_args("strftime_now", args, {"format"}, 1));
  const Text& format = *TRY(text_arg("strftime_now", bound[0]));
  if (format.bytes.size() > kMaxDateFormatBytes) {
    return unsupported(
        fmt::format("a date format longer than {} bytes is not supported", kMaxDateFormatBytes));
  }
  const std::time_t seconds = std::chrono::system_clock::to_time_t(interp.now());
  std::tm local{};
  localtime_r(&seconds, &local);
  TextBuilder out = interp.text_builder();
  const std::string& text = format.bytes;
  for (size_t p = 0; p < text.size();) {
    if (text[p] != '%') {
      const size_t end = std::min(text.find('%', p), text.size());
      out.append_slice(format, p, end);
      p = end;
      continue;
    }
    size_t end = p + 1;
    if (end < text.size() && text[end] == '-') ++end;
    if (end >= text.size() || kLetters.find(text[end]) == std::string_view::npos) {
      return unsupported(fmt::format("the date format '{}' is not supported", text));
    }
    const std::string directive = text.substr(p, end + 1 - p);
    p = end + 1;
    // A naive Python datetime has no zone name.
    if (directive.back() == 'Z') continue;
    std::array<char, 128> buffer{};
    out.append(
        {buffer.data(), std::strftime(buffer.data(), buffer.size(), directive.c_str(), &local)});
  }
  return interp.make_text(std::move(out));
}

Result<Value> call_lipsum(Interp&, Args&) {
  return unsupported("the function 'lipsum' is not supported");
}

struct Global {
  std::string_view name;
  NativeFunction::Run run;
};
constexpr Global kGlobals[] = {
    {"cycler", call_cycler},       {"dict", call_dict},
    {"joiner", call_joiner},       {"lipsum", call_lipsum},
    {"namespace", call_namespace}, {"raise_exception", call_raise_exception},
    {"range", call_range},         {"strftime_now", call_strftime_now},
};

}  // namespace

Value global_value(std::string_view name) {
  for (const Global& global : kGlobals) {
    if (global.name == name) {
      return Value::object(std::make_shared<NativeFunction>(global.name, global.run));
    }
  }
  return {};
}

}  // namespace moe::text::jinja
