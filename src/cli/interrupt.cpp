#include "cli/interrupt.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>

namespace moe::cli {
namespace {

// What a signal handler may touch.
std::atomic<bool> noted{false};
std::array<int, 2> wake_pipe = {-1, -1};
static_assert(std::atomic<bool>::is_always_lock_free);

void on_interrupt(int) {
  const int saved_errno = errno;
  if (noted.exchange(true)) ::_exit(kInterruptedStatus);
  const char byte = 0;
  // A full pipe is readable already.
  [[maybe_unused]] const ssize_t ignored = ::write(wake_pipe[1], &byte, 1);
  errno = saved_errno;
}

void set_handler(void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  ::sigaction(SIGINT, &action, nullptr);
}

}  // namespace

Interrupt::Interrupt() {
  if (wake_pipe[0] < 0 && ::pipe2(wake_pipe.data(), O_NONBLOCK | O_CLOEXEC) != 0) {
    wake_pipe = {-1, -1};  // waiting for input is then not woken; noted still works
  }
  clear();
  set_handler(&on_interrupt);
}

Interrupt::~Interrupt() { set_handler(SIG_DFL); }

bool Interrupt::pending() const { return noted; }

void Interrupt::clear() {
  noted = false;
  char bytes[16];
  while (::read(wake_pipe[0], bytes, sizeof(bytes)) > 0) {
  }
}

int Interrupt::descriptor() const { return wake_pipe[0]; }

}  // namespace moe::cli
