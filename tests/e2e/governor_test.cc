// What the governor does to real profiles: a collector with scripted costs, then daemons whose limits are too small for
// what they are asked.
#include "daemon/governor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <csignal>
#include <map>
#include <thread>

#include "base/durable_file.h"
#include "base/file.h"
#include "base/time.h"
#include "daemon/collector.h"
#include "proto/profile_codec.h"
#include "tests/e2e/fleet.h"

namespace plimsoll::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr size_t kPageBytes = 4096;

int64_t thread_cpu_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * kNsPerSecond + now.tv_nsec;
}

// What a daemon would have used that needs eight times its limit from `overload()` on.
class ScriptedUsage {
 public:
  explicit ScriptedUsage(double limit)
      : governor_({.cpu_share = limit}, [this, limit] { return read(8 * limit); }) {}

  Governor& governor() { return governor_; }
  void overload() { overloaded_ = true; }

 private:
  SelfUsage read(double full_share) {
    const int64_t now_ns = monotonic_now_ns();
    const double share = overloaded_ ? full_share / governor_.slowdown() : 0;
    cpu_ns_ += share * static_cast<double>(now_ns - std::exchange(read_ns_, now_ns));
    return {static_cast<int64_t>(cpu_ns_), 0};
  }

  Governor governor_;
  std::atomic<bool> overloaded_ = false;
  double cpu_ns_ = 0;
  int64_t read_ns_ = monotonic_now_ns();
};

class GovernedCollector : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!may_sample_machine()) {
      GTEST_SKIP() << "this user may not sample the machine";
    }
  }

  // The profiles of one window after the other until `work` is done.
  std::vector<wire::RawProfile> profiles_of(const wire::Assignment& assignment,
                                            const std::function<void()>& work) {
    CollectorOptions options;
    options.machine.set_id("m1");
    options.assignment = assignment;
    options.governor = &usage_.governor();
    options.sample_pages = 2048;
    auto collector = Collector::open(std::move(options));
    EXPECT_TRUE(collector.has_value()) << collector.error().text();
    std::array<int, 2> pipe{};
    EXPECT_EQ(::pipe(pipe.data()), 0);
    std::atomic<bool> is_sampling = false;
    std::atomic<bool> is_done = false;
    std::thread worker([&] {
      is_sampling.wait(false);
      work();
      is_done = true;
      ::close(pipe[1]);  // ends the window
    });
    std::vector<wire::RawProfile> profiles;
    while (!is_done) {
      auto profile =
          (*collector)
              ->collect(
                  {.duration_ns = 600 * kNsPerSecond, .wake_fd = pipe[0], .progress = [&](int64_t, uint64_t) {
                     is_sampling = true;
                     is_sampling.notify_all();
                   }});
      EXPECT_TRUE(profile.has_value()) << profile.error().text();
      profiles.push_back(*std::move(profile));
    }
    worker.join();
    ::close(pipe[0]);
    return profiles;
  }

  ScriptedUsage usage_{0.01};
};

// How long something took, by the thread's CPU clock and by the wall's.
struct Took {
  double cpu_ns = 0;
  double wall_ns = 0;
};

// Works under that name for so long, by its own CPU clock.
Took work_as(const char* name, double cpu_seconds) {
  ::pthread_setname_np(::pthread_self(), name);
  const int64_t start_ns = monotonic_now_ns();
  const int64_t cpu_start_ns = thread_cpu_ns();
  while (static_cast<double>(thread_cpu_ns() - cpu_start_ns) < cpu_seconds * 1e9) {
  }
  return {static_cast<double>(thread_cpu_ns() - cpu_start_ns),
          static_cast<double>(monotonic_now_ns() - start_ns)};
}

// The value of the first event, of a thread of that name.
double value_of_thread(const std::vector<wire::RawProfile>& profiles, const std::string& name) {
  double value = 0;
  for (const wire::RawProfile& profile : profiles) {
    const double scale = wire::scale_of(profile.events(0));
    for (const wire::SampleTable& table : profile.samples()) {
      for (int row = 0; table.event(0) == 0 && row < table.thread_size(); ++row) {
        const auto thread = static_cast<int>(table.thread(row));
        value += profile.threads(thread).name() == name ? scale * static_cast<double>(table.hits(row)) : 0;
      }
    }
  }
  return value;
}

TEST_F(GovernedCollector, ValuesStayRightWhereTheRateIsLowered) {
  wire::Assignment assignment;
  assignment.set_id("a");
  assignment.set_rate_hz(1999);
  assignment.set_stack_rate_hz(99);
  assignment.add_events()->set_name("cpu-clock");
  Took early;
  Took late;
  const auto profiles = profiles_of(assignment, [&] {
    std::thread([&] { early = work_as("early", 2); }).join();
    usage_.overload();
    std::thread([&] { late = work_as("late", 4); }).join();
  });

  // A dozen periods are drawn while each thread works, from half to one and a half times the mean, so that its value is off by
  // 10 % as a rule; and the clock of a virtual CPU goes on while its host gives the core to others, where a thread's does not.
  // Were its samples worth the same as the others, the late thread would have less than half of its value.
  EXPECT_GE(value_of_thread(profiles, "early"), 0.6 * early.cpu_ns);
  EXPECT_LE(value_of_thread(profiles, "early"), 1.4 * early.wall_ns);
  EXPECT_GE(value_of_thread(profiles, "late"), 0.6 * late.cpu_ns);
  EXPECT_LE(value_of_thread(profiles, "late"), 1.4 * late.wall_ns);

  ASSERT_GE(profiles.size(), 2);
  EXPECT_THAT(profiles.front().cost().cut_short(), StartsWith("sampling rate changed from 1/1 to 1/"));
  EXPECT_THAT(profiles.front().notes(), Contains(HasSubstr("sampling rate changed from 1/1 to 1/")));
  const uint32_t slowdown = profiles.back().cost().slowdown();
  EXPECT_GE(slowdown, 2) << "how far it goes depends on what else runs";
  EXPECT_EQ(profiles.back().events(0).mean_period(), slowdown * profiles.front().events(0).mean_period());
  EXPECT_THAT(profiles.back().notes(),
              Contains(HasSubstr(fmt::format("the rate was lowered to 1/{}:", slowdown))));
}

// Of the first event.
struct Occurrences {
  double value = 0;
  double of_hits = 0;  // hits times the mean period of their window
  double lost =
      0;  // samples that the rings had no room for, or the kernel left out, of any thread; times the mean period
};

// Of the thread with that ID: on a busy machine its new name may be learned after its samples.
Occurrences occurrences_of(const std::vector<wire::RawProfile>& profiles, pid_t tid) {
  Occurrences occurrences;
  for (const wire::RawProfile& profile : profiles) {
    const double mean_period = static_cast<double>(profile.events(0).mean_period());
    occurrences.lost +=
        mean_period * static_cast<double>(profile.events(0).lost() + profile.events(0).not_sampled());
    for (const wire::SampleTable& table : profile.samples()) {
      for (int row = 0; table.event(0) == 0 && row < table.thread_size(); ++row) {
        const bool is_it =
            profile.threads(static_cast<int>(table.thread(row))).tid() == static_cast<uint32_t>(tid);
        const double hits = is_it ? static_cast<double>(table.hits(row)) : 0;
        occurrences.of_hits += mean_period * hits;
        occurrences.value += wire::scale_of(profile.events(0)) * hits;
      }
    }
  }
  return occurrences;
}

void touch_fresh_pages(size_t pages) {
  void* memory =
      ::mmap(nullptr, pages * kPageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  ::madvise(memory, pages * kPageBytes, MADV_NOHUGEPAGE);
  for (size_t page = 0; page < pages; ++page) {
    static_cast<volatile char*>(memory)[page * kPageBytes] = 1;
  }
  ::munmap(memory, pages * kPageBytes);
}

TEST_F(GovernedCollector, ValuesStayRightWhereEveryOccurrenceWasASample) {
  wire::Assignment assignment;
  assignment.set_id("a");
  wire::EventRequest& faults = *assignment.add_events();
  faults.set_name("page-faults");
  faults.set_period(1);
  assignment.set_stack_bytes(8);  // so that the rings hold all
  constexpr int kPagesEach = 20'000;
  pid_t early_tid = 0;
  pid_t late_tid = 0;
  const auto profiles = profiles_of(assignment, [&] {
    std::thread([&] {
      early_tid = ::gettid();
      touch_fresh_pages(kPagesEach);
    }).join();
    usage_.overload();
    while (usage_.governor().slowdown() == 1) {
      work_as("waiting", 0.01);
    }
    work_as("waiting", 0.5);  // the next window begins
    std::thread([&] {
      late_tid = ::gettid();
      touch_fresh_pages(kPagesEach);
    }).join();
  });
  const Occurrences early = occurrences_of(profiles, early_tid);
  EXPECT_LE(early.of_hits / kPagesEach, 1.02);
  EXPECT_GE((early.of_hits + early.lost) / kPagesEach, 0.98);
  // All of them may fall under one period, which is drawn from half to one and a half times the mean; a redraw costs what has
  // gone by of a period. What other programs fault meanwhile falls under other periods, and moves what a hit is worth
  // within the same bounds.
  const Occurrences late = occurrences_of(profiles, late_tid);
  EXPECT_LE(late.of_hits / kPagesEach, 1 / 0.5 + 0.02);
  EXPECT_GE((late.of_hits + late.lost) / kPagesEach, 1 / 1.5 - 0.07);
  // Were a hit worth what it was before, it would be at most a fifth of them.
  EXPECT_GE((late.value + late.lost) / kPagesEach, 0.3);
  EXPECT_LE(late.value / kPagesEach, 3.1);
  // At least an eighth of the rate, of periods that are drawn from half to one and a half times their mean.
  EXPECT_GE(profiles.back().events(0).mean_period(), 5);
  EXPECT_EQ(profiles.back().events(0).not_sampled(), 0);
}

class GovernedDaemon : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!may_sample_machine()) {
      GTEST_SKIP() << "this user may not sample the machine";
    }
  }

  Background start_daemon(const TestServer& server, int cpu_percent, const std::string& limits = {}) const {
    const std::string path = folder_ / "daemon.toml";
    const std::string config = fmt::format(
        "[daemon]\nserver = \"{}\"\n[machine]\nid = \"m1\"\n[limits]\nmax_rate_hz = "
        "10000\nmax_stack_rate_hz = 10000\n{}",
        server.fleet_address(), limits);
    EXPECT_TRUE(write_file_durably(path, as_bytes(config)).has_value());
    return Background({"plimsolld", "--config", path}, cpu_percent);
  }

  TemporaryFolder folder_;
  std::string data_dir_ = folder_ / "data";
};

double cpu_seconds_of(const wire::RawProfile& profile) {
  return static_cast<double>(profile.cost().cpu_time_ns()) / 1e9;
}

// At 3,999 samples a second with stacks the daemon would need many times the percent of a core that it has.
TEST_F(GovernedDaemon, StaysWithinItsCpuTimeAndSaysSo) {
  TestServer server(data_dir_, "[collect]\nwindow = \"5s\"\nrate_hz = 3999\n[fleet]\nheartbeat = \"1s\"\n");
  ASSERT_TRUE(server.becomes_ready());
  const Background load({"many_stacks", "600"});
  Background daemon = start_daemon(server, 1);
  ASSERT_TRUE(eventually([&] { return stored_in(data_dir_).accepted >= 4; }, std::chrono::milliseconds(200)));
  daemon.kill(SIGTERM);
  EXPECT_EQ(daemon.wait().status, 0);

  const auto profiles = archived_in(data_dir_);
  double cpu_s = 0;
  uint32_t slowest = 0;
  for (const wire::RawProfile& profile : profiles) {
    // The first has the work that is done once.
    cpu_s += &profile == &profiles.front() ? 0 : cpu_seconds_of(profile);
    slowest = std::max(slowest, profile.cost().slowdown());
  }
  EXPECT_GE(slowest, 3) << "nothing had to be lowered";
  const double elapsed_s = static_cast<double>(profiles.back().window().end().monotonic_ns() -
                                               profiles.front().window().start().monotonic_ns()) /
                           1e9;
  // What a minute has at once, and what it takes to end a window.
  EXPECT_LE(cpu_s, 0.6 + 0.01 * elapsed_s + 0.15);
  EXPECT_TRUE(std::ranges::any_of(profiles, [](const wire::RawProfile& profile) {
    return std::ranges::any_of(profile.notes(), [](const std::string& note) {
      return note.starts_with("the rate was lowered to 1/");
    });
  }));
}

TEST_F(GovernedDaemon, EndsWindowsBeforeItsMemoryIsUsedUp) {
  TestServer server(data_dir_, "[collect]\nwindow = \"5min\"\nrate_hz = 7999\n[fleet]\nheartbeat = \"1s\"\n");
  ASSERT_TRUE(server.becomes_ready());
  const Background load({"many_stacks", "600"});
  Background daemon = start_daemon(server, 100, "max_memory = \"64MiB\"\n");
  ASSERT_TRUE(eventually([&] { return stored_in(data_dir_).accepted >= 4; }, std::chrono::milliseconds(200)));
  daemon.kill(SIGTERM);
  const Finished finished = daemon.wait();
  EXPECT_EQ(finished.status, 0);
  EXPECT_THAT(finished.err, Not(HasSubstr("sampling pauses"))) << "a window's memory is the next one's";

  const auto profiles = archived_in(data_dir_);
  for (size_t i = 0; i + 1 < profiles.size(); ++i) {  // the last ended with the daemon
    EXPECT_EQ(profiles[i].cost().cut_short(), "memory limit of 64 MiB reached");
    EXPECT_THAT(profiles[i].notes(), Contains(HasSubstr("the window ended early")));
    EXPECT_GT(profiles[i].events(0).hits(), 100);
    EXPECT_LE(profiles[i].cost().peak_resident_bytes(), uint64_t{64} << 20);
  }
}

}  // namespace
}  // namespace plimsoll::testing
