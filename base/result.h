// Errors as values. Every fallible function of the project returns Result<T>; nothing throws across an
// interface.
//
//   Result<Machine> read_machine(std::string_view path);
//   ...
//   auto machine = read_machine(path);
//   if (!machine) return propagate(machine, "registering with {}", server);
//
// An Error's message reads as one sentence that says what was tried, on what, and why it failed; its hint
// says what to do next.
#pragma once

#include <fmt/format.h>

#include <expected>
#include <string>
#include <utility>

namespace plimsoll {

// What kind of failure this is. Decides the HTTP status (server/) and the exit status (cli/).
enum class ErrorCode {
  kInvalid,      // the request, command line or configuration is wrong: retrying does not help
  kCorrupt,      // bytes from outside are damaged or not what they claim to be
  kUnsupported,  // a format version or feature this program does not know
  kTooLarge,     // a stated bound was exceeded
  kNotFound,
  kConflict,     // the same name with other content, or the lock is held
  kDenied,       // a privilege or permission is missing
  kUnavailable,  // may work later: network, server starting, disk full
  kExhausted,  // may work later: this process or the machine has no memory or no file descriptor left for it
  kIo,         // the operating system failed a call
};

std::string_view name_of(ErrorCode code);

struct Error {
  ErrorCode code = ErrorCode::kIo;
  std::string message;
  std::string
      field;         // the part of the input to blame ("events[2].name", "--rate"); empty where there is none
  std::string hint;  // what to do next; empty where there is nothing to say

  // "message (field: F); hint", for a terminal or a log.
  std::string text() const;
};

template <typename T>
using Result = std::expected<T, Error>;

using Status = Result<void>;

template <typename... Args>
std::unexpected<Error> fail(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  return std::unexpected(Error{code, fmt::format(format, std::forward<Args>(args)...), {}, {}});
}

// As fail(), with the message "...: strerror(error_number)"; ENOENT, EACCES, EPERM and ENOSPC get their own
// codes.
std::unexpected<Error> fail_errno_text(int error_number, std::string what);

template <typename... Args>
std::unexpected<Error> fail_errno(int error_number, fmt::format_string<Args...> format, Args&&... args) {
  return fail_errno_text(error_number, fmt::format(format, std::forward<Args>(args)...));
}

// Passes on the error of a failed result, its message prefixed by what was being done.
template <typename T, typename... Args>
std::unexpected<Error> propagate(const Result<T>& failed, fmt::format_string<Args...> format,
                                 Args&&... args) {
  Error error = failed.error();
  error.message = fmt::format(format, std::forward<Args>(args)...) + ": " + error.message;
  return std::unexpected(std::move(error));
}

template <typename T>
std::unexpected<Error> propagate(const Result<T>& failed) {
  return std::unexpected(failed.error());
}

std::unexpected<Error> with_field(std::unexpected<Error> failure, std::string field);
std::unexpected<Error> with_hint(std::unexpected<Error> failure, std::string hint);

}  // namespace plimsoll
