#include "cli/logits_file.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "base/check.hpp"
#include "base/errors.hpp"
#include "io/safetensors_writer.hpp"

namespace moe::cli {
namespace {

constexpr size_t kCopyBytes = size_t{1} << 20;

Error file_error(const std::filesystem::path& path, const char* what) {
  return invalid_argument(
      fmt::format("{}: cannot {}: {}", path.string(), what, std::strerror(errno)),
      "check that the folder exists, can be written and has room");
}

}  // namespace

Result<LogitsFile> LogitsFile::create(const std::filesystem::path& path) {
  if (path.empty()) {
    return invalid_argument("--save-logits: the file name is empty", "name a file");
  }
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    return invalid_argument(path.string() + ": cannot write: it is a folder", "name a file");
  }
  std::string name = path.string() + ".rows.XXXXXX";
  const int descriptor = ::mkstemp(name.data());
  if (descriptor < 0) return file_error(path, "write");
  ::unlink(name.c_str());
  std::FILE* rows = ::fdopen(descriptor, "w+b");
  if (rows == nullptr) {
    ::close(descriptor);
    return file_error(path, "write");
  }
  return LogitsFile(path, rows);
}

void LogitsFile::append(const LogitRows& rows) {
  if (failed()) return;
  if (positions_ == 0) first_position_ = rows.first_position;
  CHECK_EQ(rows.first_position, first_position_ + positions_);
  vocab_size_ = rows.vocab_size;
  positions_ += static_cast<int64_t>(rows.values.size()) / rows.vocab_size;
  const size_t written =
      std::fwrite(rows.values.data(), sizeof(float), rows.values.size(), rows_.get());
  if (written != rows.values.size()) error_ = file_error(path_, "write");
}

Status LogitsFile::finish(const Completion& completion) {
  if (error_) return *error_;
  const std::vector<io::TensorSpec> specs = {
      {"logits", io::StoredType::kF32, {positions_, vocab_size_}}};
  const io::FileMetadata metadata = {
      {"positions", fmt::format("{} to {}", first_position_, first_position_ + positions_ - 1)},
      {"prompt_tokens", std::to_string(completion.prompt_tokens)},
      {"completion_tokens", std::to_string(completion.tokens.size())},
      {"note", "row i: logits after the token at that position; the last token is never fed"}};
  io::SafetensorsWriter writer = TRY(io::SafetensorsWriter::create(path_, specs, metadata));
  if (std::fflush(rows_.get()) != 0) return file_error(path_, "write");
  std::rewind(rows_.get());
  std::vector<std::byte> piece(kCopyBytes);
  while (true) {
    const size_t count = std::fread(piece.data(), 1, piece.size(), rows_.get());
    if (count == 0) break;
    TRY(writer.append(0, std::span(piece).first(count)));
  }
  if (std::ferror(rows_.get()) != 0) return file_error(path_, "read back rows of");
  return writer.finish();
}

}  // namespace moe::cli
