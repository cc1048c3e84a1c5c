#include "io/json_events.hpp"

#include "base/check.hpp"

namespace moe::io {
namespace {

// Walks the text and keeps the reader's offset up to date.
class TrackedByte {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  TrackedByte(std::string_view text, size_t position, size_t* offset)
      : text_(text), position_(position), offset_(offset) {}
  reference operator*() const { return text_[position_]; }
  TrackedByte& operator++() {
    *offset_ = ++position_;
    return *this;
  }
  TrackedByte operator++(int) {
    TrackedByte before = *this;
    ++*this;
    return before;
  }
  friend bool operator==(const TrackedByte& a, const TrackedByte& b) {
    return a.position_ == b.position_;
  }

 private:
  std::string_view text_;
  size_t position_;
  size_t* offset_;
};

}  // namespace

bool JsonEvents::parse_error(size_t position, const std::string& token,
                             const nlohmann::detail::exception& error) {
  (void)token;
  // The parser counts bytes from 1.
  return fail(syntax_error(position == 0 ? 0 : position - 1, error.what()));
}

bool JsonEvents::fail(Error error) {
  if (!error_) error_ = std::move(error);
  return false;
}

Status JsonEvents::read(std::string_view text) {
  // The parser takes a NUL for the end of the text, and what follows would go unread.
  if (const size_t nul = text.find('\0'); nul != std::string_view::npos) {
    return syntax_error(nul, "a zero byte");
  }
  // Padding is skipped at once; trailing spaces mean nothing in JSON.
  text = text.substr(0, text.find_last_not_of(' ') + 1);
  const bool done = Json::sax_parse(TrackedByte(text, 0, &offset_),
                                    TrackedByte(text, text.size(), &offset_), this);
  if (done) return {};
  CHECK(error_.has_value());
  return *std::move(error_);
}

}  // namespace moe::io
