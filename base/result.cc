#include "base/result.h"

#include <cerrno>
#include <string_view>
#include <system_error>

namespace plimsoll {

std::string_view name_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalid:
      return "invalid";
    case ErrorCode::kCorrupt:
      return "corrupt";
    case ErrorCode::kUnsupported:
      return "unsupported";
    case ErrorCode::kTooLarge:
      return "too-large";
    case ErrorCode::kNotFound:
      return "not-found";
    case ErrorCode::kConflict:
      return "conflict";
    case ErrorCode::kDenied:
      return "denied";
    case ErrorCode::kUnavailable:
      return "unavailable";
    case ErrorCode::kExhausted:
      return "exhausted";
    case ErrorCode::kIo:
      return "io";
  }
  return "unknown";
}

std::string Error::text() const {
  std::string result = message;
  if (!field.empty()) {
    result += fmt::format(" (field: {})", field);
  }
  if (!hint.empty()) {
    result += "; " + hint;
  }
  return result;
}

std::unexpected<Error> fail_errno_text(int error_number, std::string what) {
  ErrorCode code = ErrorCode::kIo;
  if (error_number == ENOENT) {
    code = ErrorCode::kNotFound;
  } else if (error_number == EACCES || error_number == EPERM) {
    code = ErrorCode::kDenied;
  } else if (error_number == ENOSPC || error_number == EDQUOT) {
    code = ErrorCode::kUnavailable;
  } else if (error_number == ENOMEM || error_number == EMFILE || error_number == ENFILE) {
    code = ErrorCode::kExhausted;
  }
  what += ": " + std::generic_category().message(error_number);
  return std::unexpected(Error{code, std::move(what), {}, {}});
}

std::unexpected<Error> with_field(std::unexpected<Error> failure, std::string field) {
  failure.error().field = std::move(field);
  return failure;
}

std::unexpected<Error> with_hint(std::unexpected<Error> failure, std::string hint) {
  failure.error().hint = std::move(hint);
  return failure;
}

}  // namespace plimsoll
