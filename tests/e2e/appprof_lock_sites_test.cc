// Whether totals of waits are unbiased at each of several sites: two mutexes, a lock that is waited for by readers and by writers, condition
// variables. Known waits, many times in one process, with the library linked. PLIMSOLL_TEST_APPPROF_RUNS sets how many (200 in a soak).
#include <gtest/gtest.h>
#include <pthread.h>

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "appprof/locks.h"
#include "tests/e2e/appprof_totals.h"

namespace plimsoll::appprof::lock_sites_test {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;

constexpr int kLengths = 5;      // of the waits of a site: one to five times its shortest
constexpr int kWaitsOfRun = 20;  // of each site

// As the waiting thread measures it. That includes what it costs to be counted: some microseconds of waits of a millisecond and more.
constexpr double kCostOfCounting = 0.005;
struct Truth {
  std::atomic<int64_t> ns{0};
  std::atomic<int> count{0};

  void add(Clock::time_point began) {
    ns += std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - began).count();
    ++count;
  }
};
std::array<Truth, 4> g_truths;

// No wait where it comes late, on a busy machine, and the lock is free again.
template <typename Lock>
void wait_and_release(Lock& lock, int (*try_lock)(Lock*), int (*take)(Lock*), int (*release)(Lock*),
                      Truth& truth) {
  if (try_lock(&lock) != 0) {
    const auto began = Clock::now();
    EXPECT_EQ(take(&lock), 0);
    truth.add(began);
  }
  release(&lock);
}

pthread_mutex_t g_short_mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t g_long_mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_rwlock_t g_rwlock = PTHREAD_RWLOCK_INITIALIZER;

[[gnu::noinline]] void wait_for_short_mutex() {
  wait_and_release(g_short_mutex, &pthread_mutex_trylock, &pthread_mutex_lock, &pthread_mutex_unlock,
                   g_truths[0]);
  asm volatile("");
}
[[gnu::noinline]] void wait_for_long_mutex() {
  wait_and_release(g_long_mutex, &pthread_mutex_trylock, &pthread_mutex_lock, &pthread_mutex_unlock,
                   g_truths[1]);
  asm volatile("");
}
[[gnu::noinline]] void wait_to_read() {
  wait_and_release(g_rwlock, &pthread_rwlock_tryrdlock, &pthread_rwlock_rdlock, &pthread_rwlock_unlock,
                   g_truths[2]);
  asm volatile("");
}
[[gnu::noinline]] void wait_to_write() {
  wait_and_release(g_rwlock, &pthread_rwlock_trywrlock, &pthread_rwlock_wrlock, &pthread_rwlock_unlock,
                   g_truths[3]);
  asm volatile("");
}

struct Site {
  std::string name;
  void (*wait)();
  void (*hold)();
  void (*release)();
  microseconds shortest;
};
const std::array<Site, 4>& sites() {
  static const auto* kSites = new std::array<Site, 4>{
      {{"wait_for_short_mutex", &wait_for_short_mutex, [] { pthread_mutex_lock(&g_short_mutex); },
        [] { pthread_mutex_unlock(&g_short_mutex); }, microseconds(300)},
       {"wait_for_long_mutex", &wait_for_long_mutex, [] { pthread_mutex_lock(&g_long_mutex); },
        [] { pthread_mutex_unlock(&g_long_mutex); }, microseconds(1000)},
       {"wait_to_read", &wait_to_read, [] { pthread_rwlock_wrlock(&g_rwlock); },
        [] { pthread_rwlock_unlock(&g_rwlock); }, microseconds(500)},
       {"wait_to_write", &wait_to_write, [] { pthread_rwlock_rdlock(&g_rwlock); },
        [] { pthread_rwlock_unlock(&g_rwlock); }, microseconds(500)}}};
  return *kSites;
}

// Of one site.
struct WaitErrors {
  std::string name;
  Errors count;
  Errors time;
};

// What a profile of the run has, against the truth of it. Nothing is added where the waiter came late each time.
void add_run(const Profile& profile, std::vector<WaitErrors>& errors) {
  std::vector<std::string> names;
  for (const WaitErrors& site : errors) {
    names.push_back(site.name);
  }
  Totals sums = totals(profile, names);
  for (size_t i = 0; i < errors.size(); ++i) {
    const Truth& truth = g_truths[i];
    if (truth.count > 0) {
      errors[i].count.add(sums[errors[i].name][0] / truth.count - 1);
      errors[i].time.add(sums[errors[i].name][1] / static_cast<double>(truth.ns.load()) - 1);
    }
  }
}

void forget_truths() {
  for (Truth& truth : g_truths) {
    truth.ns = 0;
    truth.count = 0;
  }
}

// Runs a turn at a time in another thread, one for all, so that its random numbers go on.
class Waiter {
 public:
  template <typename Wait>
  Waiter(int turns, const Wait& wait)
      : thread_([this, turns, wait] {
          for (int turn = 0; turn < turns; ++turn) {
            while (asked_.load() <= turn) {
              std::this_thread::yield();
            }
            wait(turn);
            ++done_;
          }
        }) {}
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;
  ~Waiter() { thread_.join(); }

  void ask() { ++asked_; }
  // Until all that it was asked for is done.
  void join_turn() const {
    while (done_.load() < asked_.load()) {
      std::this_thread::yield();
    }
  }

 private:
  std::atomic<int> asked_{0};
  std::atomic<int> done_{0};
  std::thread thread_;
};

std::vector<WaitErrors> errors_of_lock_waits(int number_of_runs) {
  std::vector<WaitErrors> errors;
  for (const Site& site : sites()) {
    errors.push_back({site.name, {}, {}});
  }
  const int waits = kWaitsOfRun * static_cast<int>(sites().size());
  const auto site_of = [](int turn) -> const Site& {
    return sites()[static_cast<size_t>(turn) % sites().size()];
  };
  Waiter waiter(waits * number_of_runs, [&site_of](int turn) { site_of(turn).wait(); });
  for (int run = 0; run < number_of_runs; ++run) {
    forget_truths();
    const Profile before = lock_profile();
    for (int turn = 0; turn < waits; ++turn) {  // a run has whole turns of all sites
      const Site& site = site_of(turn);
      site.hold();
      waiter.ask();
      std::this_thread::sleep_for(site.shortest * (1 + turn / static_cast<int>(sites().size()) % kLengths));
      site.release();
      waiter.join_turn();
    }
    add_run(difference(before, lock_profile()), errors);
  }
  return errors;
}

// Each of them within its interval, all together (appprof_totals.h).
void expect_unbiased(const std::vector<WaitErrors>& errors) {
  const int intervals = 2 * static_cast<int>(errors.size());
  for (const WaitErrors& of : errors) {
    std::printf("%-28s time %.4f +- %.4f, count %.4f +- %.4f\n", of.name.c_str(), of.time.mean(),
                of.time.standard_error(), of.count.mean(), of.count.standard_error());
    EXPECT_TRUE(of.time.covers_zero(intervals, kCostOfCounting)) << of.name;
    EXPECT_TRUE(of.count.covers_zero(intervals, kCostOfCounting)) << of.name;
    EXPECT_GT(of.time.standard_error(), 0.001) << of.name << ": it samples";
  }
}

TEST(AppprofAccuracy, LockWaitsOfEachKindAreUnbiasedBySite) {
  ASSERT_EQ(start_locks(1'000'000), "");
  const std::vector<WaitErrors> errors = errors_of_lock_waits(runs(25));
  stop_locks();
  expect_unbiased(errors);
}

// By the period that is set, each of these waits is a sample: several hundred a second, of which it takes fifty.
TEST(AppprofAccuracy, LockWaitsAreUnbiasedBySiteWhereSamplesAreTooMany) {
  ASSERT_EQ(start_locks(20'000, /*max_samples_per_second=*/50), "");
  const std::vector<WaitErrors> errors = errors_of_lock_waits(runs(25));
  stop_locks();
  expect_unbiased(errors);
}

std::mutex g_condition_mutex;
std::condition_variable g_never_notified;
pthread_mutex_t g_notice_mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t g_notice = PTHREAD_COND_INITIALIZER;
bool g_has_notice = false;  // guarded by g_notice_mutex

[[gnu::noinline]] void wait_until_the_time_is_over(int turn) {
  std::unique_lock lock(g_condition_mutex);
  const auto began = Clock::now();
  g_never_notified.wait_for(lock, microseconds(400) * (1 + turn / 2 % kLengths));
  g_truths[0].add(began);
}

[[gnu::noinline]] void wait_for_a_notice() {
  pthread_mutex_lock(&g_notice_mutex);
  while (!g_has_notice) {
    const auto began = Clock::now();
    pthread_cond_wait(&g_notice, &g_notice_mutex);
    g_truths[1].add(began);
  }
  g_has_notice = false;
  pthread_mutex_unlock(&g_notice_mutex);
  asm volatile("");
}

void give_notice() {
  pthread_mutex_lock(&g_notice_mutex);
  g_has_notice = true;
  pthread_mutex_unlock(&g_notice_mutex);
  pthread_cond_signal(&g_notice);
}

TEST(AppprofAccuracy, WaitsForConditionsAreUnbiasedBySite) {
  const int number_of_runs = runs(25);
  // A period of 2 ms of these waits.
  ASSERT_EQ(start_locks(2'000'000 / kConditionPeriods), "");
  std::vector<WaitErrors> errors{{"wait_until_the_time_is_over", {}, {}}, {"wait_for_a_notice", {}, {}}};
  {
    Waiter waiter(2 * kWaitsOfRun * number_of_runs,
                  [](int turn) { turn % 2 == 0 ? wait_until_the_time_is_over(turn) : wait_for_a_notice(); });
    for (int run = 0; run < number_of_runs; ++run) {
      forget_truths();
      const Profile before = condition_profile();
      for (int turn = 0; turn < 2 * kWaitsOfRun; ++turn) {
        waiter.ask();
        if (turn % 2 == 1) {
          std::this_thread::sleep_for(microseconds(600) * (1 + turn / 2 % kLengths));
          give_notice();
        }
        waiter.join_turn();
      }
      add_run(difference(before, condition_profile()), errors);
    }
  }
  stop_locks();
  expect_unbiased(errors);
}

}  // namespace
}  // namespace plimsoll::appprof::lock_sites_test
