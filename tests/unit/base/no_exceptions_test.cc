#include "base/no_exceptions.h"

#include <gtest/gtest.h>

#include <new>

namespace plimsoll {
namespace {

TEST(NoExceptions, WhatIsThrownBecomesAnError) {
  const auto failed = no_exceptions("building", []() -> Result<int> { throw std::bad_alloc(); });
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::kTooLarge);
  EXPECT_EQ(failed.error().message, "building: std::bad_alloc");
}

TEST(NoExceptions, ResultsPass) {
  EXPECT_EQ(no_exceptions("counting", []() -> Result<int> { return 7; }).value(), 7);
  EXPECT_TRUE(no_exceptions("doing", []() -> Status { return {}; }));
}

TEST(NoExceptions, WithoutMemoryForItsMessageAnErrorSaysSo) {
  const std::unexpected<Error> failure =
      failure_without_exceptions([]() -> std::unexpected<Error> { throw std::bad_alloc(); });
  EXPECT_EQ(failure.error().code, ErrorCode::kTooLarge);
  EXPECT_EQ(failure.error().message, "out of memory");
}

}  // namespace
}  // namespace plimsoll
