// Two control groups of known quota and load: samples, CPU time and the census agree on who had how much. Needs the
// privileges to sample the machine and to make control groups with a CPU quota.
#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

#include "base/file.h"
#include "base/time.h"
#include "daemon/machine/census.h"
#include "proto/profile_codec.h"
#include "tests/e2e/program.h"
#include "tests/e2e/quota_group.h"

namespace plimsoll::testing {
namespace {

// Hits of an event by instance.
std::map<std::string, double> by_instance(const wire::RawProfile& profile, std::string_view event) {
  std::map<std::string, double> hits;
  for (const wire::SampleTable& table : profile.samples()) {
    if (profile.events(static_cast<int>(table.event(0))).name() != event) {
      continue;
    }
    for (int row = 0; row < table.thread_size(); ++row) {
      const auto process = profile.threads(static_cast<int>(table.thread(row))).process();
      hits[profile.processes(static_cast<int>(process)).instance()] += static_cast<double>(table.hits(row));
    }
  }
  return hits;
}

const identity::InstanceUsage* find(const identity::CensusTaken& taken, const std::string& instance) {
  const auto found = std::ranges::find(taken.instances, instance, &identity::InstanceUsage::instance);
  return found == taken.instances.end() ? nullptr : &*found;
}

TEST(ControlGroups, HaveTheirSharesOfSamplesTheirCpuTimeAndTheirQuota) {
  if (!may_sample_machine()) {
    GTEST_SKIP() << "this user may not sample the machine";
  }
  const QuotaGroup small("small", 15);
  const QuotaGroup large("large", 45);
  if (!small.is_made() || !large.is_made()) {
    GTEST_SKIP() << "this user may not make control groups with a CPU quota";
  }
  const TemporaryFolder folder;
  {
    const Background load_of_small(small.busy("12"));
    const Background load_of_large(large.busy("12"));
    const identity::ProcFs proc_fs;
    identity::Census census(proc_fs);
    // Until both are where they belong, which takes no more than starting them.
    const auto are_there = [&] {
      const auto first = census.take(monotonic_now_ns());
      return first && find(*first, small.path()) != nullptr && find(*first, large.path()) != nullptr;
    };
    while (!are_there()) {
      ::sched_yield();
    }
    const Finished once = run({"plimsolld", "--once", "5", "--event", "cpu-clock", "--rate", "500",
                               "--output", folder / "profile"});
    ASSERT_EQ(once.status, 0) << once.err;
    const auto taken = census.take(monotonic_now_ns());
    ASSERT_TRUE(taken.has_value());
    ASSERT_NE(find(*taken, small.path()), nullptr);
    EXPECT_DOUBLE_EQ(find(*taken, small.path())->quota_cpus, 0.15);
    EXPECT_DOUBLE_EQ(find(*taken, large.path())->quota_cpus, 0.45);
  }
  const auto content = read_file(folder / "profile", 1 << 30);
  ASSERT_TRUE(content.has_value());
  const auto profile = wire::decode(as_bytes(*content));
  ASSERT_TRUE(profile.has_value()) << profile.error().text();

  auto cpu_time_ns = by_instance(*profile, "cpu-time");
  auto hits = by_instance(*profile, "cpu-clock");
  const double window_ns =
      static_cast<double>(profile->window().end().monotonic_ns() - profile->window().start().monotonic_ns());
  for (const auto& [group, quota] : {std::pair(&small, 0.15), std::pair(&large, 0.45)}) {
    const double used = cpu_time_ns[group->path()] / window_ns;
    std::printf("%s: quota %.2f CPUs, used %.3f, %.0f samples\n", group->path().c_str(), quota, used,
                hits[group->path()]);
    // One period of 100 ms more at either end of the window, and what a tick of 4 ms lets it go over.
    EXPECT_LE(used, quota * (1 + 2 * 1e8 / window_ns) + 0.01);
    EXPECT_GT(used, quota * 0.25) << "it was busy all the time, however busy others were";
  }
  const double both_ns = cpu_time_ns[small.path()] + cpu_time_ns[large.path()];
  const double both_hits = hits[small.path()] + hits[large.path()];
  const double expected = cpu_time_ns[small.path()] / both_ns;
  // Periods are redrawn every 250 ms at the latest, uniformly within half of their mean: 29 % of it in each draw.
  const double draws = window_ns / 0.25e9;
  const double standard_error = std::sqrt(expected * (1 - expected) / both_hits) +
                                expected * (1 - expected) * 0.29 * std::sqrt(2 / draws);
  const double sampled = hits[small.path()] / both_hits;
  std::printf("share of the smaller: %.4f of the samples, %.4f of the CPU time, standard error %.4f\n",
              sampled, expected, standard_error);
  EXPECT_NEAR(sampled, expected, 4 * standard_error);
}

}  // namespace
}  // namespace plimsoll::testing
