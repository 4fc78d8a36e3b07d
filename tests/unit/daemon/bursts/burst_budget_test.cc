#include "daemon/bursts/burst_budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/time.h"

namespace plimsoll::bursts {
namespace {

using ::testing::HasSubstr;

TEST(BurstBudget, IsAShareOfAllCpusForTheWholeTime) {
  const BurstBudget::Limits limits = BurstBudget::limits_of(7, 0.01, 100 * kNsPerSecond, 8);
  EXPECT_EQ(limits.max_bytes, 7);
  EXPECT_EQ(limits.max_cpu_ns, 8 * kNsPerSecond);
}

TEST(BurstBudget, EndsBeforeABurstThatIsExpectedToTakeTooMuchCpuTime) {
  BurstBudget budget({.max_bytes = 1 << 30, .max_cpu_ns = 10'000'000});
  EXPECT_EQ(budget.reason_to_end(0), "");
  budget.note_burst(1'000'000, 5'000);  // 1 ms, and 2 ms of the kernel
  EXPECT_EQ(budget.cpu_ns(), 3'000'000);
  EXPECT_EQ(budget.reason_to_end(0), "");
  budget.note_burst(1'000'000, 5'000);
  EXPECT_EQ(budget.reason_to_end(0), "") << "9 of 10 ms with the next one";
  budget.note_cpu(1'000'001);
  EXPECT_THAT(budget.reason_to_end(0), HasSubstr("CPU time"));
}

TEST(BurstBudget, CountsWhatSamplesTakeMore) {
  BurstBudget budget({.max_bytes = 1 << 30, .max_cpu_ns = kNsPerSecond});
  budget.note_burst(0, 1'500, 500);
  EXPECT_EQ(budget.cpu_ns(), 1'000 * BurstBudget::kKernelNsPerEvent + 500 * BurstBudget::kKernelNsPerSample);
}

TEST(BurstBudget, LearnsHowManyBytesAnEventTakes) {
  BurstBudget budget({.max_bytes = 10'000, .max_cpu_ns = kNsPerHour});
  budget.note_burst(0, 800);
  EXPECT_EQ(budget.reason_to_end(800), "") << "6 bytes each, until it is known";
  EXPECT_THAT(budget.reason_to_end(900), HasSubstr("max_bytes"));
  budget.note_recording(1600, 800);  // 2 bytes each
  EXPECT_EQ(budget.bytes_left(), 8400);
  EXPECT_EQ(budget.reason_to_end(3000), "");
  EXPECT_THAT(budget.reason_to_end(3500), HasSubstr("max_bytes"));
  budget.note_recording(20'000, 10);
  EXPECT_EQ(budget.bytes_left(), 0);
}

}  // namespace
}  // namespace plimsoll::bursts
