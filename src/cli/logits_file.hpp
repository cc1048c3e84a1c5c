// Writes the logits of a run as safetensors: tensor "logits" [positions, vocab] F32, row i for
// position first_position + i of prompt and answer. Rows are kept in a file without a name beside
// the target until their number is known, not in memory. One thread at a time.
#pragma once

#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>

#include "moe/moe.hpp"

namespace moe::cli {

class LogitsFile {
 public:
  // Errors: invalid_argument when the folder cannot be written, before any work is done.
  static Result<LogitsFile> create(const std::filesystem::path& path);

  // Remembers the first failure for finish().
  void append(const LogitRows& rows);
  bool failed() const { return error_.has_value(); }
  // Writes the file. Requires that all rows were appended in order.
  Status finish(const Completion& completion);

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  LogitsFile(std::filesystem::path path, std::FILE* rows) : path_(std::move(path)), rows_(rows) {}

  std::filesystem::path path_;
  std::unique_ptr<std::FILE, Close> rows_;
  int64_t first_position_ = 0;
  int64_t positions_ = 0;
  int64_t vocab_size_ = 0;
  std::optional<Error> error_;
};

}  // namespace moe::cli
