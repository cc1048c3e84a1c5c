// Ctrl-C as a question that the program asks, instead of an end in the middle of something.
// While an Interrupt lives, the first SIGINT is only noted; a second one before clear() ends the
// program. One Interrupt at a time.
#pragma once

namespace moe::cli {

inline constexpr int kInterruptedStatus = 130;

class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  bool pending() const;
  void clear();
  // Becomes readable when an interrupt is pending; for poll().
  int descriptor() const;
};

}  // namespace moe::cli
