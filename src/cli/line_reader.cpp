#include "cli/line_reader.hpp"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace moe::cli {

bool LineReader::read_more() {
  pollfd watched[] = {{STDIN_FILENO, POLLIN, 0}, {interrupt_.descriptor(), POLLIN, 0}};
  while (!interrupt_.pending()) {
    if (::poll(watched, 2, -1) < 0 && errno != EINTR) return false;
    if (interrupt_.pending()) return false;
    if ((watched[0].revents & (POLLIN | POLLHUP | POLLERR | POLLNVAL)) == 0) continue;
    char bytes[4096];
    const ssize_t count = ::read(STDIN_FILENO, bytes, sizeof(bytes));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    held_.append(bytes, static_cast<size_t>(count));
    return true;
  }
  return false;
}

std::optional<std::string> LineReader::next() {
  size_t looked_at = 0;
  while (!at_end_) {
    const size_t line_break = held_.find('\n', looked_at);
    if (line_break != std::string::npos) {
      std::string line = held_.substr(0, line_break);
      held_.erase(0, line_break + 1);
      if (!line.empty() && line.back() == '\r') line.pop_back();
      return line;
    }
    looked_at = held_.size();
    if (too_long()) return std::nullopt;
    at_end_ = !read_more();
  }
  // A last line without a line break counts, unless Ctrl-C cut it short.
  if (held_.empty() || interrupt_.pending()) return std::nullopt;
  return std::exchange(held_, {});
}

}  // namespace moe::cli
