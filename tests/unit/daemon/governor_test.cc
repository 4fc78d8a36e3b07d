// The governor against a modelled machine: what sampling costs is known, and time is simulated.
#include "daemon/governor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "base/result.h"
#include "base/time.h"

namespace plimsoll {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kStepNs = 175'000'000;  // between two drains
constexpr int64_t kMiB = 1 << 20;

// A daemon whose sampling needs `sampling_share` of a core at full rate, and which needs `fixed_share` whatever the rate.
class ModelledDaemon {
 public:
  ModelledDaemon(Budget budget, double sampling_share, double fixed_share = 0)
      : sampling_share_(sampling_share),
        fixed_share_(fixed_share),
        governor_(budget, [this] { return usage_; }) {
    governor_.observe(now_ns_);
  }

  void spend(int64_t cpu_ns) { usage_.cpu_time_ns += cpu_ns; }
  void spend_once(int64_t cpu_ns) {
    spend(cpu_ns);
    governor_.spread(cpu_ns);
  }
  void use_memory(int64_t bytes) { usage_.resident_bytes = static_cast<uint64_t>(bytes); }
  void set_sampling_share(double share) { sampling_share_ = share; }

  void run(double seconds) {
    const int64_t end_ns = now_ns_ + static_cast<int64_t>(seconds * 1e9);
    while (now_ns_ < end_ns) {
      now_ns_ += kStepNs;
      const bool samples = governor_.reason_to_pause().empty();
      const double share = fixed_share_ + (samples ? sampling_share_ / governor_.slowdown() : 0);
      spend(static_cast<int64_t>(share * static_cast<double>(kStepNs)));
      governor_.observe(now_ns_);
    }
  }

  // The share of a core over the next `seconds`.
  double share_over(double seconds) {
    const int64_t before_ns = usage_.cpu_time_ns;
    const int64_t started_ns = now_ns_;
    run(seconds);
    return static_cast<double>(usage_.cpu_time_ns - before_ns) / static_cast<double>(now_ns_ - started_ns);
  }

  Governor& governor() { return governor_; }

 private:
  double sampling_share_;
  double fixed_share_;
  SelfUsage usage_;
  int64_t now_ns_ = kNsPerSecond;
  Governor governor_;
};

TEST(Governor, LeavesALoadWithinTheLimitAlone) {
  ModelledDaemon daemon({.cpu_share = 0.01}, 0.007);
  daemon.run(600);
  EXPECT_EQ(daemon.governor().slowdown(), 1);
  EXPECT_EQ(daemon.governor().reason_to_pause(), "");
}

TEST(Governor, HoldsFiveTimesTheLimitWithinFiveSeconds) {
  ModelledDaemon daemon({.cpu_share = 0.01}, 0.05);
  daemon.run(5);
  EXPECT_LE(daemon.share_over(600), 0.01);
  EXPECT_EQ(daemon.governor().slowdown(), 10);  // 5 / 0.55, rounded up
  EXPECT_EQ(daemon.governor().reason_to_pause(), "");
}

TEST(Governor, HoldsAnyLoadThatASlowerRateCanHold) {
  std::mt19937_64 random(20'260'501);
  std::uniform_real_distribution<double> exponent(-3, 0);  // to a whole core
  std::uniform_real_distribution<double> fixed(0, 0.5);
  for (int trial = 0; trial < 2000; ++trial) {
    const double sampling_share = std::pow(10, exponent(random));
    const Budget budget{.cpu_share = 0.01};
    ModelledDaemon daemon(budget, sampling_share, fixed(random) * budget.cpu_share);
    daemon.run(10);
    EXPECT_LE(daemon.share_over(120), budget.cpu_share) << sampling_share;
  }
}

TEST(Governor, NoMinuteHasMoreThanItsBudgetWhateverTheDaemonDoes) {
  std::mt19937_64 random(20'260'502);
  std::uniform_real_distribution<double> exponent(-4, -0.5);

  for (int trial = 0; trial < 300; ++trial) {
    const Budget budget{.cpu_share = 0.02};
    ModelledDaemon daemon(budget, 0);
    std::vector<double> seconds_of_cpu;
    // Loads that come and go; the most expensive step costs a twentieth of the minute's budget.
    for (int i = 0; i < 400; ++i) {
      if (i % 10 == 0) {
        daemon.set_sampling_share(std::pow(10, exponent(random)));
      }
      seconds_of_cpu.push_back(daemon.share_over(1));
    }
    for (size_t i = 0; i + 60 <= seconds_of_cpu.size(); ++i) {
      double sum = 0;
      for (size_t j = i; j < i + 60; ++j) {
        sum += seconds_of_cpu[j];
      }
      ASSERT_LE(sum / 60, budget.cpu_share) << "trial " << trial << ", second " << i;
    }
  }
}

TEST(Governor, ForgivesSingleExpensiveMoments) {
  ModelledDaemon daemon({.cpu_share = 0.01}, 0.002);
  daemon.spend(250'000'000);  // reading the machine's processes
  daemon.run(20);
  daemon.spend(70'000'000);  // a large binary
  daemon.run(30);
  EXPECT_EQ(daemon.governor().slowdown(), 1);
  EXPECT_EQ(daemon.governor().reason_to_pause(), "");
}

TEST(Governor, WorkDoneOnceIsPaidForInTenMinutes) {
  ModelledDaemon daemon({.cpu_share = 0.01}, 0.005);
  daemon.spend_once(
      2'000'000'000);  // kernel symbols, and the tables of large binaries: a third of ten minutes' budget
  for (int second = 0; second < 700; ++second) {
    daemon.run(1);
    ASSERT_EQ(daemon.governor().reason_to_pause(), "") << second;
    ASSERT_EQ(daemon.governor().slowdown(), 1) << second;
  }
}

TEST(Governor, WorkDoneOnceLeavesLessForSampling) {
  ModelledDaemon daemon({.cpu_share = 0.01}, 0.0072);
  daemon.spend_once(2'900'000'000);
  daemon.run(120);
  EXPECT_GT(daemon.governor().slowdown(), 1) << "0.29 of 0.6 s a minute are spoken for";
  EXPECT_LE(daemon.share_over(60) + 0.29 / 60, 0.01);
}

TEST(Governor, WorkDoneOnceMayNotTakeMoreThanHalfOfTenMinutes) {
  ModelledDaemon daemon({.cpu_share = 0.01}, 0.001);
  for (int i = 0; i < 10; ++i) {
    daemon.spend_once(500'000'000);
    daemon.run(1);
  }
  EXPECT_THAT(daemon.governor().reason_to_pause(), HasSubstr("reached")) << "5 s, of which 3 may be spread";
  daemon.run(61);
  EXPECT_EQ(daemon.governor().reason_to_pause(), "");
}

TEST(Governor, TellsWhatWasUsedWhateverItIsPaidFrom) {
  ModelledDaemon daemon({.cpu_share = 0.01}, 0);
  daemon.spend_once(600'000'000);
  daemon.run(59);
  EXPECT_NEAR(daemon.governor().state().cpu_share, 0.6 / 59, 0.0001);
  daemon.run(2);
  EXPECT_NEAR(daemon.governor().state().cpu_share, 0, 0.0002);
}

TEST(Governor, KeepsWhatWasUsedUnderAnotherBudget) {
  ModelledDaemon daemon({.cpu_share = 0.02}, 0.001);
  daemon.spend(590'000'000);
  daemon.run(1);
  EXPECT_EQ(daemon.governor().reason_to_pause(), "");
  daemon.governor().set_budget({.cpu_share = 0.01});
  daemon.run(1);
  EXPECT_THAT(daemon.governor().reason_to_pause(), HasSubstr("1 % of a core reached"));
}

TEST(Governor, PausesWhereTheBudgetIsGoneAndGoesOnWhenHalfIsBack) {
  ModelledDaemon daemon({.cpu_share = 0.01}, 0.001);
  daemon.spend(590'000'000);
  daemon.run(1);
  EXPECT_THAT(daemon.governor().reason_to_pause(), HasSubstr("1 % of a core reached (0.59 s in the last"));
  daemon.run(57);
  EXPECT_NE(daemon.governor().reason_to_pause(), "");
  daemon.run(4);
  EXPECT_EQ(daemon.governor().reason_to_pause(), "");
}

TEST(Governor, RaisesTheRateAgainWhenTheLoadIsGone) {
  ModelledDaemon daemon({.cpu_share = 0.01}, 0.2);
  daemon.run(30);
  EXPECT_GE(daemon.governor().slowdown(), 20);
  daemon.set_sampling_share(0.001);
  for (int window = 0; window < 30; ++window) {
    daemon.spend(10'000'000);  // to end it
    daemon.run(5);
  }
  EXPECT_EQ(daemon.governor().slowdown(), 1);
}

TEST(Governor, DoesNotSwingUnderASteadyLoad) {
  ModelledDaemon daemon({.cpu_share = 0.01}, 0.05);
  daemon.run(60);
  const uint32_t settled = daemon.governor().slowdown();
  for (int second = 0; second < 600; ++second) {
    daemon.run(1);
    ASSERT_EQ(daemon.governor().slowdown(), settled) << second;
  }
}

TEST(Governor, WatchesMemory) {
  ModelledDaemon daemon({.resident_bytes = 64 * kMiB}, 0.001);
  daemon.use_memory(48 * kMiB);
  daemon.run(1);
  EXPECT_FALSE(daemon.governor().is_over_memory());
  daemon.use_memory(49 * kMiB);
  daemon.run(1);
  EXPECT_TRUE(daemon.governor().is_over_memory());
  daemon.use_memory(30 * kMiB);
  daemon.run(1);
  EXPECT_FALSE(daemon.governor().is_over_memory());
  EXPECT_EQ(daemon.governor().state().peak_resident_bytes, 49 * kMiB);
}

TEST(Governor, ReadsWhatThisProcessUses) {
  const SelfUsage before = read_self_usage();
  std::vector<char> memory(size_t{32} << 20, 'x');  // touched
  uint64_t work = 0;
  do {
    work += std::accumulate(memory.begin(), memory.begin() + 1000, uint64_t{0});
  } while (read_self_usage().cpu_time_ns < before.cpu_time_ns + 20'000'000);
  EXPECT_GT(work, 0);
  EXPECT_GE(read_self_usage().resident_bytes, before.resident_bytes + memory.size() / 2);
}

}  // namespace
}  // namespace plimsoll
