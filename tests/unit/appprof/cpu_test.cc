#include "appprof/cpu.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <utility>
#include <vector>

#include "appprof/appprof.h"
#include "appprof/thread_sampler.h"
#include "formats/read_profile.h"

namespace plimsoll::appprof {
namespace {

using ::testing::HasSubstr;

// Of this process.
int64_t cpu_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// So much CPU time of this process.
void burn(int64_t ns) {
  for (const int64_t until_ns = cpu_ns() + ns; cpu_ns() < until_ns;) {
  }
}

// Of this thread, which burns so long a few times instead of waiting.
Profile profile_of_burning(int times, std::string& why) {
  return take_cpu_profile([] { return thread_ids({}); },
                          [&times](int64_t ns) {
                            burn(ns / 2);
                            return --times > 0;
                          },
                          why);
}

double total(const Profile& profile) {
  double sum = 0;
  for (const Sample& sample : profile.samples) {
    sum += sample.values[1];
  }
  return sum;
}

TEST(AppprofCpu, TimeThatIsUsedIsSampledWithItsLabels) {
  ASSERT_TRUE(allocate_label_table());
  const Label label("request", "burn");
  std::string why;
  const Profile profile = profile_of_burning(3, why);
  EXPECT_EQ(why, "");
  EXPECT_NEAR(total(profile), 1.5e8, 1.5e7);
  for (const Sample& sample : profile.samples) {
    EXPECT_EQ(sample.labels, (Labels{{"request", "burn"}}));
    EXPECT_TRUE(sample.is_leaf_exact);
  }
}

TEST(AppprofCpu, TheSignalIsAsBeforeAndAnothersIsLeftAlone) {
  for (void (*const handler)(int) : {SIG_DFL, SIG_IGN}) {
    ::signal(SIGPROF, handler);
    std::string why;
    profile_of_burning(1, why);
    EXPECT_EQ(why, "");
    struct sigaction now{};
    ::sigaction(SIGPROF, nullptr, &now);
    EXPECT_EQ(now.sa_handler, handler);
  }
  ::signal(SIGPROF, [](int) {});
  std::string why;
  profile_of_burning(1, why);
  EXPECT_THAT(why, HasSubstr("uses SIGPROF"));
  ::signal(SIGPROF, SIG_DFL);
}

TEST(AppprofCpu, ASignalThatTheProgramTakesMeanwhileStaysThePrograms) {
  void (*const handler)(int) = [](int) {};
  std::string why;
  take_cpu_profile([] { return thread_ids({}); },
                   [&](int64_t) {
                     ::signal(SIGPROF, handler);
                     return true;
                   },
                   why);
  EXPECT_EQ(::signal(SIGPROF, SIG_DFL), handler);
}

// Two threads burn side by side, each with its own label; both are seen, and the total is the CPU time.
TEST(AppprofCpu, TwoThreadsHaveTheirCpuTime) {
  ASSERT_TRUE(allocate_label_table());
  std::atomic<bool> is_over{false};
  const auto spin = [&] {
    while (!is_over.load()) {
    }
  };
  std::thread first(spin), second(spin);
  const int64_t began_ns = cpu_ns();
  std::string why;
  const Profile profile = take_cpu_profile([] { return thread_ids({}); },
                                           [&, until_ns = began_ns + 600'000'000](int64_t ns) {
                                             ::usleep(static_cast<useconds_t>(ns / 1000));
                                             return cpu_ns() < until_ns;
                                           },
                                           why);
  const auto used_ns = static_cast<double>(cpu_ns() - began_ns);
  is_over = true;
  first.join();
  second.join();
  EXPECT_EQ(why, "");
  EXPECT_NEAR(total(profile), used_ns, 0.1 * used_ns);
  double samples = 0;
  for (const Sample& sample : profile.samples) {
    samples += sample.values[0];
  }
  EXPECT_NEAR(samples * static_cast<double>(profile.period), used_ns, 0.2 * used_ns)
      << "not by scaling alone";
}

// So much CPU time of the calling thread.
void burn_of_thread(int64_t ns) {
  const auto used_ns = [] {
    timespec now{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
  };
  for (const int64_t until_ns = used_ns() + ns; used_ns() < until_ns;) {
  }
}

// Each uses half a period. The number of samples is random, 50 at most on average, fewer where the kernel looks at timers rarely.
TEST(AppprofCpu, ThreadsThatUseLessThanAPeriodHaveSamples) {
  constexpr int kThreads = 100;
  ASSERT_TRUE(allocate_label_table());
  std::atomic<bool> may_burn{false}, may_end{false};
  std::atomic<int> burnt{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      may_burn.wait(false);
      {
        const Label label("request", "short");
        burn_of_thread(5'000'000);
      }
      ++burnt;
      burnt.notify_all();
      may_end.wait(false);
    });
  }
  const auto until_all_have_burnt = [&](int64_t) {
    may_burn = true;
    may_burn.notify_all();
    for (int done = burnt.load(); done < kThreads; done = burnt.load()) {
      burnt.wait(done);
    }
    return false;
  };
  std::string why;
  const Profile profile = take_cpu_profile([] { return thread_ids({}); }, until_all_have_burnt, why);
  until_all_have_burnt(0);  // also where the profile was refused
  may_end = true;
  may_end.notify_all();
  for (std::thread& thread : threads) {
    thread.join();
  }
  ASSERT_EQ(why, "");
  double samples = 0;
  for (const Sample& sample : profile.samples) {
    samples += sample.labels == Labels{{"request", "short"}} ? sample.values[0] : 0;
  }
  EXPECT_GT(samples, 0);
  EXPECT_LT(samples, 80);
}

TEST(AppprofCpu, AProgramThatExecutesAnotherMeanwhileDoesNotEndIt) {
  int status = -1;
  const pid_t child = ::fork();
  if (child == 0) {
    std::string why;
    take_cpu_profile([] { return thread_ids({}); },
                     [](int64_t) -> bool {
                       ::execl("/bin/sh", "sh", "-c",
                               "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; exit 3", nullptr);
                       ::_exit(5);
                     },
                     why);
    ::_exit(4);
  }
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status)) << "by signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 3);
}

TEST(AppprofCpu, AChildForkedMeanwhileMayBeProfiledItself) {
  int status = -1;
  bool is_first = true;
  std::string why;
  take_cpu_profile([] { return thread_ids({}); },
                   [&](int64_t) {
                     const pid_t child = ::fork();
                     if (child == 0) {
                       std::string why_not;
                       const Profile profile = profile_of_burning(5, why_not);
                       ::_exit(why_not.empty() && total(profile) > 0 ? 3 : 4);
                     }
                     ::waitpid(child, &status, 0);
                     return std::exchange(is_first, false);
                   },
                   why);
  EXPECT_EQ(why, "");
  EXPECT_EQ(WEXITSTATUS(status), 3);
}

TEST(AppprofSampleLog, WhatFindsNoPlaceIsCounted) {
  SampleLog log;
  ASSERT_TRUE(log.allocate());
  for (size_t i = 0; i < SampleLog::kSlots + 5; ++i) {
    log.add(0);
  }
  size_t taken = 0;
  EXPECT_EQ(log.take([&](std::span<const uintptr_t> frames, uint32_t) { taken += frames.empty() ? 0 : 1; }),
            5);
  EXPECT_EQ(taken, SampleLog::kSlots);
  log.add(0);
  EXPECT_EQ(log.take([&](auto, auto) { ++taken; }), 0);
  EXPECT_EQ(taken, SampleLog::kSlots + 1);
}

TEST(AppprofCpu, TheTextOfGperftoolsHasTheSameSamples) {
  Profile profile;
  profile.period = 10'000'000;
  profile.samples.resize(2);
  profile.samples[0].stack = {0x400100, 0x400200};
  profile.samples[0].values = {7, 7e7};
  profile.samples[1].stand_in = "[stacks beyond the table]";
  profile.samples[1].values = {2, 2e7};
  const std::string text = legacy_cpu_profile(profile, "00400000-00500000 r-xp 00000000 00:00 0 /bin/x\n");
  const auto read = formats::read_profile({reinterpret_cast<const std::byte*>(text.data()), text.size()});
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->samples.size(), 2);
  EXPECT_EQ(read->samples.values(0)[0], 7);
  EXPECT_EQ(read->samples.values(0)[1], 70'000'000);
  EXPECT_EQ(read->locations[read->samples.stack(0)[0]].address, 0x400100);
  EXPECT_EQ(read->samples.values(1)[0], 2);
}

}  // namespace
}  // namespace plimsoll::appprof
