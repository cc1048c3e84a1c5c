// Result<T>: a value or an Error, shaped like std::expected (which g++ 12 lacks in C++20).
// Status is Result<void>. TRY unwraps a result or returns its error from the enclosing function.
#pragma once

#include <cstdlib>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

#include "moe/error.hpp"

namespace moe {

template <class T>
class [[nodiscard]] Result {
 public:
  using value_type = T;

  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  // Each requires ok(), checked: a wrong access ends the process.
  T& value() & { return *checked(std::get_if<0>(&state_)); }
  const T& value() const& { return *checked(std::get_if<0>(&state_)); }
  // By value, so that a loop over f().value() does not dangle.
  T value() && { return std::move(*checked(std::get_if<0>(&state_))); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  // Requires !ok().
  const Error& error() const& { return *checked(std::get_if<1>(&state_)); }
  Error&& error() && { return std::move(*checked(std::get_if<1>(&state_))); }

 private:
  template <class P>
  static P* checked(P* pointer) {
    if (pointer == nullptr) std::abort();
    return pointer;
  }
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  using value_type = void;

  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT: implicit

  bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  void value() const {
    if (error_) std::abort();
  }

  const Error& error() const& {
    if (!error_) std::abort();
    return *error_;
  }
  Error&& error() && {
    if (!error_) std::abort();
    return std::move(*error_);
  }

 private:
  std::optional<Error> error_;
};

using Status = Result<void>;

}  // namespace moe

// TRY(expr): the value of a Result, or an early return of its error. May be nested.
// A statement expression keeps move-only values usable as `auto x = TRY(f());`; the counter keeps
// the names of nested ones apart.
#define TRY(...) MOE_TRY_COUNTED(__COUNTER__, __VA_ARGS__)
#define MOE_TRY_COUNTED(counter, ...) MOE_TRY_NAMED(counter, __VA_ARGS__)
#define MOE_TRY_NAMED(counter, ...)                                           \
  __extension__({                                                             \
    auto moe_try_##counter = (__VA_ARGS__);                                   \
    if (!moe_try_##counter.ok()) return std::move(moe_try_##counter).error(); \
    std::move(moe_try_##counter).value();                                     \
  })
