// How large rings are. Recording needs privileges: see tests/e2e/bursts_test.cc.
#include "daemon/bursts/burst_recorder.h"

#include <gtest/gtest.h>

namespace plimsoll::bursts {
namespace {

TEST(BurstRecorder, RingsOfAllCpusAreWithinTheLimitWhateverAPageIs) {
  constexpr uint64_t kLimit = uint64_t{64} << 20;
  for (const uint64_t page_bytes : {uint64_t{4096}, uint64_t{16384}, uint64_t{65536}}) {
    for (const size_t cpus : {1U, 3U, 64U, 100U, 1024U}) {
      const uint64_t all = pages_per_ring(kLimit, cpus, page_bytes) * page_bytes * cpus;
      EXPECT_LE(all, kLimit) << cpus << " CPUs, pages of " << page_bytes;
      EXPECT_GT(all + page_bytes * cpus, kLimit / 2) << "a power of two";
    }
  }
}

TEST(BurstRecorder, ARingHasAPageAndThirtyTwoKib) {
  EXPECT_EQ(pages_per_ring(0, 0, 4096), 8U);
  EXPECT_EQ(pages_per_ring(1 << 20, 256, 4096), 8U);
  EXPECT_EQ(pages_per_ring(1 << 20, 256, 65536), 1U);
}

}  // namespace
}  // namespace plimsoll::bursts
