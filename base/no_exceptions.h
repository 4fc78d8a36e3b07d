// The boundary that a thread of ours has: what the standard library throws, of memory above all, becomes an error, so that one piece of work
// fails and not the program.
#pragma once

#include <exception>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace plimsoll {

// The error that `make` describes; without memory for its words, one that says so alone.
template <typename Make>
std::unexpected<Error> failure_without_exceptions(const Make& make) noexcept {
  try {
    return make();
  } catch (const std::exception&) {
    return std::unexpected(Error{ErrorCode::kTooLarge, "out of memory", {}, {}});
  }
}

// What `work` returns, a Result or Status; kTooLarge where it throws. `what` begins the message: "symbolizing addresses".
template <typename Work>
auto no_exceptions(std::string_view what, Work&& work) -> decltype(work()) {
  try {
    return std::forward<Work>(work)();
  } catch (const std::exception& exception) {
    return failure_without_exceptions(
        [&] { return fail(ErrorCode::kTooLarge, "{}: {}", what, exception.what()); });
  }
}

}  // namespace plimsoll
