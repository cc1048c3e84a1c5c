#include "io/file_map.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/errors.hpp"

namespace moe::io {
namespace {

// An open regular file; closes the descriptor.
class RegularFile {
 public:
  RegularFile(int descriptor, size_t size) : descriptor_(descriptor), size_(size) {}
  RegularFile(RegularFile&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)), size_(other.size_) {}
  RegularFile& operator=(RegularFile&&) = delete;
  ~RegularFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  int descriptor() const { return descriptor_; }
  size_t size() const { return size_; }

 private:
  int descriptor_;
  size_t size_;
};

Error open_error(const std::filesystem::path& path, int code) {
  if (code == ENOENT || code == ENOTDIR) {
    return not_found(fmt::format("{}: no such file", path.string()),
                     "check the path, or download the file again");
  }
  if (code == EACCES || code == EPERM) {
    return invalid_argument(fmt::format("{}: permission denied", path.string()),
                            "make the file readable for this user");
  }
  return invalid_argument(fmt::format("{}: cannot open: {}", path.string(), std::strerror(code)),
                          "check the path and the file system");
}

const char* kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

Result<RegularFile> open_regular_file(const std::filesystem::path& path) {
  // O_NONBLOCK: opening a pipe for reading would otherwise wait for a writer.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return open_error(path, errno);
  struct stat facts{};
  if (::fstat(descriptor, &facts) != 0) {
    const int code = errno;
    ::close(descriptor);
    return open_error(path, code);
  }
  RegularFile file(descriptor, static_cast<size_t>(facts.st_size));
  if (!S_ISREG(facts.st_mode)) {
    return invalid_argument(
        fmt::format("{}: is {}, wanted a regular file", path.string(), kind_of(facts.st_mode)),
        "give the path of a file");
  }
  return file;
}

}  // namespace

Result<std::shared_ptr<const FileMap>> FileMap::open(const std::filesystem::path& path) {
  const RegularFile file = TRY(open_regular_file(path));
  const std::byte* begin = nullptr;
  if (file.size() > 0) {
    void* memory = ::mmap(nullptr, file.size(), PROT_READ, MAP_PRIVATE, file.descriptor(), 0);
    if (memory == MAP_FAILED) {
      return out_of_memory(fmt::format("{}: cannot map {} bytes: {}", path.string(), file.size(),
                                       std::strerror(errno)),
                           "raise the limits on address space and mappings (ulimit -v, "
                           "vm.max_map_count)");
    }
    begin = static_cast<const std::byte*>(memory);
  }
  return std::shared_ptr<const FileMap>(new FileMap(path, begin, file.size()));
}

FileMap::~FileMap() {
  if (begin_ != nullptr) ::munmap(const_cast<std::byte*>(begin_), size_);
}

void FileMap::drop_pages(std::span<const std::byte> range) const {
  if (range.empty()) return;
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<uintptr_t>(range.data()) / page * page;
  const auto end = reinterpret_cast<uintptr_t>(range.data()) + range.size();
  // Only a hint: a failure leaves the pages resident.
  (void)::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

Result<std::string> read_small_file(const std::filesystem::path& path, size_t max_bytes) {
  const RegularFile file = TRY(open_regular_file(path));
  if (file.size() > max_bytes) {
    return corrupt(fmt::format("{}: has {} bytes, the limit for this file is {}", path.string(),
                               file.size(), max_bytes),
                   "restore the file from its source");
  }
  std::string text(file.size(), '\0');
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t count = ::read(file.descriptor(), text.data() + done, text.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return open_error(path, errno);
    if (count == 0) break;
    done += static_cast<size_t>(count);
  }
  text.resize(done);
  return text;
}

}  // namespace moe::io
