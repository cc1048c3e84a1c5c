// JSON as a stream of events, for files whose tables are too large for a value tree (a checkpoint
// of 31,337 tensors has 4 MB of header). A derived class overrides the events that it accepts;
// every other event is an error that names the offset.
#pragma once

#include <cstddef>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.hpp"
#include "moe/result.hpp"

namespace moe::io {

class JsonEvents : public nlohmann::json_sax<Json> {
 public:
  bool null() override { return unexpected("null"); }
  bool boolean(bool) override { return unexpected("a boolean"); }
  bool number_integer(int64_t) override { return unexpected("a negative number"); }
  bool number_unsigned(uint64_t) override { return unexpected("a number"); }
  bool number_float(double, const std::string&) override {
    return unexpected("a number that is no 64-bit integer");
  }
  bool string(std::string&) override { return unexpected("a string"); }
  bool binary(Json::binary_t&) override { return unexpected("binary data"); }
  bool start_object(size_t) override { return unexpected("an object"); }
  bool key(std::string&) override = 0;
  bool end_object() override = 0;
  bool start_array(size_t) override { return unexpected("an array"); }
  bool end_array() override { return unexpected("the end of an array"); }
  bool parse_error(size_t position, const std::string& token,
                   const nlohmann::detail::exception& error) final;

  // Runs the whole text through the events; the error of the first event that failed.
  Status read(std::string_view text);

 protected:
  // The error for an event that this place does not accept; `got` is a noun.
  virtual bool unexpected(const char* got) = 0;
  // Both record the error and stop the reader.
  bool fail(Error error);
  // Offset of the byte after the event in the text.
  size_t offset() const { return offset_; }
  // Code and message of a syntax error at `position`; `what` comes from the parser.
  virtual Error syntax_error(size_t position, std::string_view what) = 0;

 private:
  std::optional<Error> error_;
  size_t offset_ = 0;
};

}  // namespace moe::io
