// Runs the built program as a user's shell would, and collects what it wrote.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace moe::cli_test {

namespace fs = std::filesystem;

// A folder that is removed at the end.
class Scratch {
 public:
  Scratch() {
    std::string name = (fs::temp_directory_path() / "moe_cli_XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) std::abort();
    path_ = name;
  }
  ~Scratch() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  fs::path operator/(const std::string& name) const { return path_ / name; }

 private:
  fs::path path_;
};

inline std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

struct Outcome {
  int status = -1;  // exit status, or 1000 + signal
  std::string out;
  std::string err;
};

struct Streams {
  std::string stdout_path;    // where stdout goes instead of the pipe; "" = the pipe
  bool stderr_joins = false;  // stderr goes into the pipe, too
};

// A running program with its stdin and stdout as pipes and stderr in a file.
class Process {
 public:
  explicit Process(const std::vector<std::string>& arguments, const Streams& streams = {}) {
    int in[2];
    int out[2];
    if (::pipe2(in, O_CLOEXEC) != 0 || ::pipe2(out, O_CLOEXEC) != 0) std::abort();
    std::vector<char*> argv = {const_cast<char*>("moe")};
    for (const std::string& argument : arguments)
      argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    const std::string error_path = (scratch_ / "stderr").string();
    child_ = ::fork();
    if (child_ == 0) {
      if (!streams.stdout_path.empty()) {
        out[1] = ::open(streams.stdout_path.c_str(), O_WRONLY | O_CLOEXEC);
      }
      const int err = ::open(error_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
      ::dup2(in[0], STDIN_FILENO);
      ::dup2(out[1], STDOUT_FILENO);
      ::dup2(streams.stderr_joins ? out[1] : err, STDERR_FILENO);
      ::execv(MOE_PROGRAM, argv.data());
      ::_exit(127);
    }
    ::close(in[0]);
    ::close(out[1]);
    input_ = in[1];
    output_ = out[0];
  }
  ~Process() {
    close_input();
    close_output();
    if (child_ > 0) {
      ::kill(child_, SIGKILL);
      ::waitpid(child_, nullptr, 0);
    }
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  void write(const std::string& text) {
    ASSERT_EQ(::write(input_, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  void close_input() { close_descriptor(input_); }
  void close_output() { close_descriptor(output_); }
  void interrupt() { ::kill(child_, SIGINT); }

  // Waits until stdout has something more; false at its end or after a minute.
  bool read_some() {
    pollfd watched = {output_, POLLIN, 0};
    if (::poll(&watched, 1, 60'000) <= 0) return false;
    char bytes[4096];
    const ssize_t count = ::read(output_, bytes, sizeof(bytes));
    if (count <= 0) return false;
    out_.append(bytes, static_cast<size_t>(count));
    return true;
  }
  // Waits until stdout holds `text`.
  bool wait_for(const std::string& text) {
    while (out_.find(text) == std::string::npos) {
      if (!read_some()) return false;
    }
    return true;
  }
  std::string err() const { return read_file(scratch_ / "stderr"); }

  Outcome wait() {
    close_input();
    while (output_ >= 0 && read_some()) {
    }
    int status = 0;
    ::waitpid(child_, &status, 0);
    child_ = -1;
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status), out_, err()};
  }

 private:
  static void close_descriptor(int& descriptor) {
    if (descriptor >= 0) ::close(descriptor);
    descriptor = -1;
  }

  Scratch scratch_;
  pid_t child_ = -1;
  int input_ = -1;
  int output_ = -1;
  std::string out_;
};

// Runs to the end with that stdin (at most what a pipe holds, 64 KiB).
inline Outcome run(const std::vector<std::string>& arguments, const std::string& input = {}) {
  ::signal(SIGPIPE, SIG_IGN);
  Process process(arguments);
  if (!input.empty()) process.write(input);
  return process.wait();
}

inline std::string wordnet() { return (fs::path(MOE_SOURCE_DIR) / "models/wordnet-moe").string(); }
inline std::string oracle_model(const std::string& name) {
  return (fs::path(MOE_SOURCE_DIR) / "tests/data/oracle/models" / name).string();
}

}  // namespace moe::cli_test
