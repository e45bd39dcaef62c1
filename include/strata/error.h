// SPDX-License-Identifier: Apache-2.0
// Errors and the text they are made of. Everything that can go wrong is one of three things: the caller's input
// (Error), the run (RunFailed), or our own bug (STRATA_CHECK).
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

namespace strata {

// A mistake the caller can fix. The message reads "place: subject: what is wrong, with both values; then the cure".
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The input was right but the run could not go on: it diverged, a device or a disk failed.
class RunFailed : public Error {
 public:
  using Error::Error;
};

// Our own bug, found by STRATA_CHECK.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

std::string to_text(bool value);
std::string to_text(std::int64_t value);
std::string to_text(std::uint64_t value);
std::string to_text(double value);  // the shortest text that reads back as the same number

// One argument of cat: anything that is text, a number, or has a to_text of its own.
class Piece {
 public:
  Piece(const char* text) : text_(text) {}
  Piece(std::string_view text) : text_(text) {}
  Piece(const std::string& text) : text_(text) {}
  Piece(char letter) : text_(1, letter) {}
  Piece(bool value) : text_(to_text(value)) {}
  Piece(int value) : text_(to_text(static_cast<std::int64_t>(value))) {}
  Piece(unsigned value) : text_(to_text(static_cast<std::uint64_t>(value))) {}
  Piece(long value) : text_(to_text(static_cast<std::int64_t>(value))) {}
  Piece(long long value) : text_(to_text(static_cast<std::int64_t>(value))) {}
  Piece(unsigned long value) : text_(to_text(static_cast<std::uint64_t>(value))) {}
  Piece(unsigned long long value) : text_(to_text(static_cast<std::uint64_t>(value))) {}
  Piece(double value) : text_(to_text(value)) {}
  Piece(float value) : text_(to_text(static_cast<double>(value))) {}
  template <class T>
    requires(!std::is_pointer_v<T>) && requires(const T& value) {
      { to_text(value) } -> std::same_as<std::string>;
    }
  Piece(const T& value) : text_(to_text(value)) {}

  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

std::string join(std::initializer_list<Piece> pieces);

// The pieces one after the other: cat("got ", shape, ", wanted rank ", 4).
template <class... Pieces> std::string cat(const Pieces&... pieces) { return join({Piece(pieces)...}); }

[[noreturn]] void check_failed(const char* condition, const char* file, int line, const std::string& message);

}  // namespace strata

// States what our own code guarantees; a failure is a bug in strata, reported as such (exit code 70).
#define STRATA_CHECK(condition, ...) \
  ((condition) ? void() : ::strata::check_failed(#condition, __FILE__, __LINE__, ::strata::cat(__VA_ARGS__)))
