// Margins over fleets made of measurements of real machines: 300 draws. query_bench makes 10,000.
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/fleets/coverage.h"
#include "tests/fleets/vm_fleet.h"

namespace plimsoll::fleets {
namespace {

TEST(VmNoise, MarginsHoldTheTruth) {
  const char* const corpus = std::getenv("PLIMSOLL_CORPUS");
  if (corpus == nullptr) {
    GTEST_SKIP() << "no corpus";
  }
  const auto jobs = read_vm_noise(std::string(corpus) + "/vm_noise");
  ASSERT_TRUE(jobs) << jobs.error().text();
  ASSERT_GT(jobs->size(), 40);
  EXPECT_EQ(jobs->front().quota_cores, 20'000);
  Random random(1);
  double coverage = 0;
  int cells = 0;
  for (const double fraction : {0.1, 0.3, 0.9}) {
    for (const Cell& cell : measure_coverage(vm_fleet(*jobs, fraction, 1000, random), 300, 1)) {
      if (cell.is_of_enough()) {
        ++cells;
        coverage += cell.enough.within_interval;
        EXPECT_GE(cell.enough.within_interval, 0.9) << fraction << " " << cell.question;
        EXPECT_LE(cell.enough.mean_margin, 1.15 * 1.15 * cell.oracle_margin)
            << fraction << " " << cell.question;
      }
    }
  }
  ASSERT_GT(cells, 10);
  EXPECT_GE(coverage / cells, 0.935);
  EXPECT_LE(coverage / cells, 0.97);
}

}  // namespace
}  // namespace plimsoll::fleets
