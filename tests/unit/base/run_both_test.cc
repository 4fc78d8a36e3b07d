#include "base/run_both.h"

#include <gtest/gtest.h>

#include <array>
#include <new>
#include <stdexcept>

namespace plimsoll {
namespace {

TEST(RunAll, EachPieceIsDoneOnce) {
  for (const size_t count : {0UL, 1UL, 2UL, 5UL}) {
    std::array<int, 5> done{};
    run_all(count, [&](size_t i) { ++done[i]; });
    for (size_t i = 0; i < done.size(); ++i) {
      EXPECT_EQ(done[i], i < count ? 1 : 0) << i << " of " << count;
    }
  }
}

// In whichever thread: it would end the program.
TEST(RunAll, WhatOneThrowsIsThrownToTheCallerOnceAllHaveEnded) {
  for (const size_t thrower : {0UL, 1UL, 2UL}) {
    std::array<int, 3> done{};
    EXPECT_THROW(run_all(3,
                         [&](size_t i) {
                           if (i == thrower) {
                             throw std::bad_alloc();
                           }
                           ++done[i];
                         }),
                 std::bad_alloc);
    EXPECT_EQ(done[0] + done[1] + done[2], 2);
  }
  EXPECT_THROW(run_both([] {}, [] { throw std::logic_error("the second"); }), std::logic_error);
}

}  // namespace
}  // namespace plimsoll
