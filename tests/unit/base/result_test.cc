#include "base/result.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <utility>
#include <vector>

namespace plimsoll {
namespace {

// A caller learns whether a retry can help, whatever call failed.
TEST(FailErrno, SaysWhatKindOfFailureItIs) {
  const std::vector<std::pair<int, ErrorCode>> expected{
      {ENOENT, ErrorCode::kNotFound},    {EACCES, ErrorCode::kDenied},      {EPERM, ErrorCode::kDenied},
      {ENOSPC, ErrorCode::kUnavailable}, {EDQUOT, ErrorCode::kUnavailable}, {ENOMEM, ErrorCode::kExhausted},
      {EMFILE, ErrorCode::kExhausted},   {ENFILE, ErrorCode::kExhausted},   {EIO, ErrorCode::kIo},
  };
  for (const auto& [number, code] : expected) {
    EXPECT_EQ(fail_errno(number, "mapping {}", "a file").error().code, code) << number;
  }
  EXPECT_EQ(fail_errno(ENOMEM, "mapping {}", "a file").error().text(),
            "mapping a file: Cannot allocate memory");
}

}  // namespace
}  // namespace plimsoll
