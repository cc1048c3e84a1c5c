// The decoders of tokenizer.json: token texts to the text they stand for, one token at a time.
// Decoder is the immutable description, shared by threads; DecodeStream is the state of one text.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "moe/result.hpp"
#include "text/tokenizer/json_view.hpp"

namespace moe::text {

// Takes token texts in parts and gives its own to the next sink. Parts end between characters.
class TokenSink {
 public:
  virtual ~TokenSink() = default;
  virtual Status text(std::string_view part) = 0;
  virtual Status end_token() = 0;
  virtual Status finish() = 0;
};

// One step of the chain.
class DecodeStep {
 public:
  virtual ~DecodeStep() = default;
  virtual std::unique_ptr<TokenSink> start(TokenSink& next) const = 0;
};

class Decoder {
 public:
  // The decoder of a tokenizer.json without one: tokens joined by spaces.
  Decoder();
  // Errors: corrupt, unsupported (with the type's name and path).
  static Result<Decoder> parse(const JsonView& view);

 private:
  friend class DecodeStream;
  std::vector<std::shared_ptr<const DecodeStep>> steps_;
};

class DecodeStream {
 public:
  explicit DecodeStream(const Decoder& decoder);
  DecodeStream(const DecodeStream&) = delete;
  DecodeStream& operator=(const DecodeStream&) = delete;

  // Text that is certain appears in taken(); what later tokens may change waits.
  Status push(std::string_view token);
  Status finish();
  // Hands over the text since the last call: complete, valid UTF-8.
  std::string take();

  ~DecodeStream();

 private:
  class Output;
  std::unique_ptr<Output> output_;
  std::vector<std::unique_ptr<TokenSink>> sinks_;  // last step first
  TokenSink* first_;
};

}  // namespace moe::text
