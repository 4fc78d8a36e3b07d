// Whether totals of waits for locks are unbiased: known waits, many times in one process, with the library linked.
// PLIMSOLL_TEST_APPPROF_RUNS sets how many (200 in a soak).
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "appprof/locks.h"
#include "appprof/thread_sampler.h"
#include "appprof/thread_state.h"
#include "tests/e2e/appprof_totals.h"

namespace plimsoll::appprof {
namespace {

using Clock = std::chrono::steady_clock;

std::mutex g_lock;
std::atomic<int> g_turn{0};
std::atomic<int> g_asked{0};
std::atomic<int64_t> g_truth_ns{0};
std::atomic<int> g_truth_count{0};

[[gnu::noinline]] void wait_shortly() {
  // On a busy machine it may come when the lock is free again.
  if (g_lock.try_lock()) {
    g_lock.unlock();
    return;
  }
  ++g_truth_count;
  const auto began = Clock::now();
  g_lock.lock();
  g_truth_ns += std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - began).count();
  g_lock.unlock();
}

TEST(AppprofAccuracy, LockWaitsAreUnbiasedInTimeAndCount) {
  const int number_of_runs = runs(25);
  ASSERT_EQ(start_locks(1'000'000), "");
  constexpr int kWaits = 40;
  Errors time_errors;
  Errors count_errors;
  std::atomic<int> asked{0};
  // One waiter for all runs, so that its random numbers go on.
  std::thread waiter([&] {
    for (int done = 0; done < kWaits * number_of_runs; ++done) {
      while (asked.load() <= done) {
        std::this_thread::yield();
      }
      wait_shortly();
      ++g_turn;
    }
  });
  int turn = 0;
  for (int run = 0; run < number_of_runs; ++run) {
    g_truth_ns = 0;
    g_truth_count = 0;
    const Profile before = lock_profile();
    for (int i = 0; i < kWaits; ++i, ++turn) {
      g_lock.lock();
      ++asked;
      // Waits of all lengths, far below the period of a millisecond and above.
      std::this_thread::sleep_for(std::chrono::microseconds(200 + 100 * (i % 20)));
      g_lock.unlock();
      while (g_turn.load() <= turn) {
        std::this_thread::yield();
      }
    }
    Totals sums = totals(difference(before, lock_profile()), {"wait_shortly"});
    count_errors.add(sums["wait_shortly"][0] / g_truth_count - 1);
    time_errors.add(sums["wait_shortly"][1] / static_cast<double>(g_truth_ns.load()) - 1);
  }
  waiter.join();
  stop_locks();
  std::printf("waits: time %.4f +- %.4f, count %.4f +- %.4f\n", time_errors.mean(),
              time_errors.standard_error(), count_errors.mean(), count_errors.standard_error());
  // The lock may be free between the look and the wait, and the truth includes what it costs to be counted: some us of a ms.
  EXPECT_TRUE(time_errors.covers_zero(2, 0.005)) << time_errors.mean();
  EXPECT_TRUE(count_errors.covers_zero(2, 0.005)) << count_errors.mean();
  EXPECT_GT(time_errors.standard_error(), 0) << "it samples";
}

[[gnu::noinline]] void hold_shortly(int tenths_of_ms) {
  g_lock.lock();
  ++g_asked;
  std::this_thread::sleep_for(std::chrono::microseconds(100 * tenths_of_ms));
  g_lock.unlock();
  asm volatile("");
}
[[gnu::noinline]] void hold_for_long(int tenths_of_ms) {
  g_lock.lock();
  ++g_asked;
  std::this_thread::sleep_for(std::chrono::microseconds(1000 * tenths_of_ms));
  g_lock.unlock();
  asm volatile("");
}

// Of the same waits, by those that made others wait: the waiter's clock is the truth for either.
TEST(AppprofAccuracy, WaitsAreUnbiasedByHolder) {
  const int number_of_runs = runs(25);
  ASSERT_EQ(start_locks(1'000'000), "");
  constexpr int kWaits = 20;
  const std::vector<std::string> kHolders{"hold_shortly", "hold_for_long"};
  std::array<Errors, 2> time_errors;
  double unknown_ns = 0;
  double all_ns = 0;
  const int begin = g_asked;
  const int first_turn = g_turn;
  std::thread waiter([&] {
    for (int done = 0; done < kWaits * number_of_runs; ++done) {
      while (g_asked.load() <= begin + done) {
        std::this_thread::yield();
      }
      wait_shortly();
      ++g_turn;
    }
  });
  int turn = first_turn;
  for (int run = 0; run < number_of_runs; ++run) {
    std::array<double, 2> truth_ns{};
    const Profile before = holder_profile();
    for (int i = 0; i < kWaits; ++i, ++turn) {
      g_truth_ns = 0;
      i % 2 == 0 ? hold_shortly(1 + i % 5) : hold_for_long(1 + i % 5);
      while (g_turn.load() <= turn) {
        std::this_thread::yield();
      }
      truth_ns[static_cast<size_t>(i % 2)] += static_cast<double>(g_truth_ns.load());
    }
    const Profile waited = difference(before, holder_profile());
    Totals sums = totals(waited, kHolders);
    for (size_t holder = 0; holder < kHolders.size(); ++holder) {
      // On a busy machine the waiter may come too late for all of a run's short holds.
      if (truth_ns[holder] > 0) {
        time_errors[holder].add(sums[kHolders[holder]][1] / truth_ns[holder] - 1);
      }
    }
    for (const Sample& sample : waited.samples) {
      all_ns += sample.values[1];
      unknown_ns += sample.stand_in.empty() ? 0 : sample.values[1];
    }
  }
  waiter.join();
  stop_locks();
  for (size_t holder = 0; holder < kHolders.size(); ++holder) {
    std::printf("%-14s time %.4f +- %.4f\n", kHolders[holder].c_str(), time_errors[holder].mean(),
                time_errors[holder].standard_error());
    // Besides, who held it stays unknown where the wait ends as it becomes a sample: see below.
    EXPECT_TRUE(time_errors[holder].covers_zero(2, 0.02)) << kHolders[holder] << time_errors[holder].mean();
  }
  EXPECT_LT(unknown_ns, 0.05 * all_ns)
      << "who held it is known, but where the wait ends as it becomes a sample";
}

void wait_until_asleep(const std::atomic<pid_t>& id) {
  const auto is_asleep = [&] {
    return std::ranges::any_of(
        list_threads(), [&](const ThreadInfo& thread) { return thread.id == id && thread.state == 'S'; });
  };
  while (!is_asleep()) {
    std::this_thread::yield();
  }
}

// Calls `lock` in a thread while this one has it, and `see` once that thread sleeps.
template <typename Lock, typename See>
void while_a_thread_waits(pthread_mutex_t& mutex, const Lock& lock, const See& see) {
  ASSERT_EQ(pthread_mutex_lock(&mutex), 0);
  std::atomic<pid_t> id{0};
  std::thread waiter([&] {
    id = ::gettid();
    EXPECT_EQ(lock(&mutex), 0);
    pthread_mutex_unlock(&mutex);
  });
  wait_until_asleep(id);
  see();
  pthread_mutex_unlock(&mutex);
  waiter.join();
}

TEST(AppprofAccuracy, EachKindOfMutexWaitsAsBefore) {
  for (const uint64_t period_ns : {uint64_t{1}, uint64_t{1'000'000}, uint64_t{3600} * 1'000'000'000}) {
    ASSERT_EQ(start_locks(period_ns), "");
    for (const int protocol : {PTHREAD_PRIO_NONE, PTHREAD_PRIO_INHERIT}) {
      for (const int type : {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK}) {
        pthread_mutexattr_t attributes;
        pthread_mutexattr_init(&attributes);
        pthread_mutexattr_settype(&attributes, type);
        pthread_mutexattr_setprotocol(&attributes, protocol);
        pthread_mutex_t mutex;
        ASSERT_EQ(pthread_mutex_init(&mutex, &attributes), 0);
        while_a_thread_waits(mutex, &pthread_mutex_lock, [] {});
        EXPECT_EQ(pthread_mutex_destroy(&mutex), 0) << "released as often as it was taken";
      }
    }
  }
  stop_locks();
}

std::mutex g_condition_mutex;
std::condition_variable g_condition;

[[gnu::noinline]] void wait_for_condition() {
  std::unique_lock lock(g_condition_mutex);
  g_condition.wait_for(lock, std::chrono::milliseconds(2));
}

TEST(AppprofAccuracy, WaitsForConditionsAreCountedApart) {
  ASSERT_EQ(start_locks(1), "");
  const std::vector<std::string> kNames{"wait_for_condition"};
  const Profile conditions = condition_profile();
  const Profile locks = lock_profile();
  const auto began = Clock::now();
  for (int i = 0; i < 10; ++i) {
    wait_for_condition();
  }
  const auto took_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - began).count();
  Totals waited = totals(difference(conditions, condition_profile()), kNames);
  stop_locks();
  // A wait may end early for no reason.
  EXPECT_EQ(waited["wait_for_condition"][0], 10);
  EXPECT_LE(waited["wait_for_condition"][1], static_cast<double>(took_ns));
  EXPECT_GT(waited["wait_for_condition"][1], 0);
  EXPECT_EQ(totals(difference(locks, lock_profile()), kNames)["wait_for_condition"][0], 0);
}

// Threads of pools wait all the time: of their waits, few are samples. By chance, none of 10 of 2 ms with a period of 1000 s are but
// once in 50,000 runs.
TEST(AppprofAccuracy, WaitsForConditionsHaveALongerPeriodThanLocks) {
  ASSERT_EQ(start_locks(1'000'000'000), "");
  const Profile before = condition_profile();
  // A new thread, which has drawn no sample by another period.
  std::thread([] {
    for (int i = 0; i < 10; ++i) {
      wait_for_condition();
    }
  }).join();
  const Profile after = condition_profile();
  stop_locks();
  EXPECT_THAT(after.comments, ::testing::Contains(::testing::HasSubstr("every 1000000000000 ns")));
  EXPECT_EQ(totals(difference(before, after), {"wait_for_condition"})["wait_for_condition"][0], 0);
}

// Cancelled in a wait, the thread unwinds through the call that is replaced here, and has its mutex.
TEST(AppprofAccuracy, AWaitForAConditionCanBeCancelled) {
  ASSERT_EQ(start_locks(1), "");
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  static std::atomic<bool> is_waiting{false};
  pthread_t thread{};
  ASSERT_EQ(pthread_create(
                &thread, nullptr,
                [](void*) -> void* {
                  pthread_mutex_lock(&mutex);
                  pthread_cleanup_push([](void*) { pthread_mutex_unlock(&mutex); }, nullptr);
                  is_waiting = true;
                  while (true) {
                    pthread_cond_wait(&condition, &mutex);
                  }
                  pthread_cleanup_pop(1);
                  return nullptr;
                },
                nullptr),
            0);
  while (!is_waiting) {
    std::this_thread::yield();
  }
  ASSERT_EQ(pthread_cancel(thread), 0);
  void* result = nullptr;
  ASSERT_EQ(pthread_join(thread, &result), 0);
  EXPECT_EQ(result, PTHREAD_CANCELED);
  EXPECT_EQ(pthread_mutex_trylock(&mutex), 0) << "the thread gave it back";
  pthread_mutex_unlock(&mutex);
  stop_locks();
}

TEST(AppprofAccuracy, FreeLocksAndOwnWaitsAreNotRecorded) {
  ASSERT_EQ(start_locks(1), "");
  const auto own = [] { return totals(lock_profile(), {"FreeLocksAndOwnWaits"})["FreeLocksAndOwnWaits"][0]; };
  const double before = own();
  std::mutex lock;
  for (int i = 0; i < 1000; ++i) {
    const std::lock_guard guard(lock);
  }
  // What a lock answers without waiting is its answer still.
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK);
  pthread_mutex_t checked;
  pthread_mutex_init(&checked, &attributes);
  EXPECT_EQ(pthread_mutex_lock(&checked), 0);
  EXPECT_EQ(pthread_mutex_lock(&checked), EDEADLK);
  EXPECT_EQ(pthread_mutex_unlock(&checked), 0);
  pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_t recursive;
  pthread_mutex_init(&recursive, &attributes);
  EXPECT_EQ(pthread_mutex_lock(&recursive), 0);
  EXPECT_EQ(pthread_mutex_lock(&recursive), 0);
  EXPECT_EQ(pthread_mutex_unlock(&recursive), 0);
  EXPECT_EQ(pthread_mutex_unlock(&recursive), 0);
  // A wait for a lock that is held until the thread sleeps; those of the library's own code are not the application's.
  const auto wait_for_lock = [&lock](bool is_own) {
    lock.lock();
    std::atomic<pid_t> id{0};
    std::thread waiter([&] {
      std::optional<Inside> inside;
      if (is_own) {
        inside.emplace();
      }
      id = ::gettid();
      lock.lock();
      lock.unlock();
    });
    wait_until_asleep(id);
    lock.unlock();
    waiter.join();
  };
  wait_for_lock(true);
  EXPECT_EQ(own(), before);
  wait_for_lock(false);
  EXPECT_GT(own(), before) << "of the application it is one";
  stop_locks();
}

}  // namespace
}  // namespace plimsoll::appprof
