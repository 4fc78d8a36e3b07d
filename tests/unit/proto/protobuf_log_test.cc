#include "proto/protobuf_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/log.h"
#include "proto/symbolizer.pb.h"

namespace plimsoll::wire {
namespace {

using ::testing::HasSubstr;

// Field 1, a string of one byte that begins no character of UTF-8.
constexpr std::string_view kBadString("\x0a\x01\xff", 3);

std::string log_of_parsing() {
  ::testing::internal::CaptureStderr();
  EXPECT_FALSE(LeaseRequest().ParseFromArray(kBadString.data(), kBadString.size()));
  return ::testing::internal::GetCapturedStderr();
}

TEST(ProtobufLog, HasLinesOfMessagesThatCannotBeReadOnlyWhereTheyAreAskedFor) {
  use_own_log();
  EXPECT_EQ(log_of_parsing(), "");
  set_log_level(LogLevel::kDebug);
  EXPECT_THAT(log_of_parsing(), HasSubstr("debug"));
  EXPECT_THAT(log_of_parsing(), HasSubstr("invalid UTF-8"));
  set_log_level(LogLevel::kInfo);
}

}  // namespace
}  // namespace plimsoll::wire
