// Whether totals by site are unbiased: known allocations and lock waits, many times in one process, with the library and tcmalloc
// linked. PLIMSOLL_TEST_APPPROF_RUNS sets how many (200 in a soak).
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "appprof/agent.h"
#include "appprof/heap.h"
#include "appprof/holders.h"
#include "appprof/locks.h"
#include "appprof/mappings.h"
#include "appprof/symbols.h"
#include "appprof/thread_sampler.h"
#include "appprof/thread_state.h"

extern "C" int appprof_get_stack_trace(void** result, int max_depth, int skip) noexcept
    __asm__("_Z13GetStackTracePPvii");

namespace plimsoll::appprof {
namespace {

using Clock = std::chrono::steady_clock;

// So many where the variable does not say otherwise.
int runs(int usual) {
  const char* text = std::getenv("PLIMSOLL_TEST_APPPROF_RUNS");
  return text == nullptr ? usual : std::atoi(text);
}

// Relative errors of one total, run by run.
struct Errors {
  void add(double error) {
    sum += error;
    sum_of_squares += error * error;
    ++count;
  }
  double mean() const { return sum / count; }
  double standard_error() const {
    return std::sqrt(std::max(0.0, sum_of_squares / count - mean() * mean()) / (count - 1));
  }
  // One in 1.7 million where it is unbiased; a t quantile of 25 runs, one in 40,000.
  bool covers_zero(double allowed = 1e-9) const { return std::abs(mean()) <= 5 * standard_error() + allowed; }
  double sum = 0, sum_of_squares = 0;
  int count = 0;
};

using Totals = std::map<std::string, std::array<double, 2>>;

// Sums by whichever of these functions is on the stack.
Totals totals(const Profile& profile, const std::vector<std::string>& functions) {
  static const auto* code = new CodeMap(CodeMap::read());
  static auto* names = new std::map<uintptr_t, std::string>();
  Totals sums;
  for (const Sample& sample : profile.samples) {
    for (const uintptr_t address : sample.stack) {
      const auto [name, is_new] = names->try_emplace(address);
      if (is_new) {
        name->second = names_of(*code, std::vector<uintptr_t>{address - 1})[0];
      }
      for (const std::string& function : functions) {
        if (name->second.find(function) != std::string::npos) {
          sums[function][0] += sample.values[0];
          sums[function][1] += sample.values[1];
        }
      }
    }
  }
  return sums;
}

using Blocks = std::vector<void*>;

[[gnu::always_inline]] inline void allocate(Blocks& blocks, size_t count, size_t bytes) {
  for (size_t i = 0; i < count; ++i) {
    blocks.push_back(std::malloc(bytes));
  }
}

[[gnu::noinline]] void site_of_16(Blocks& blocks) {
  allocate(blocks, 65'536, 16);
}
[[gnu::noinline]] void site_of_1000(Blocks& blocks) {
  allocate(blocks, 4096, 1000);
}  // in a class of 1024
[[gnu::noinline]] void site_of_4096(Blocks& blocks) {
  allocate(blocks, 1024, 4096);
}
[[gnu::noinline]] void site_of_64k(Blocks& blocks) {
  allocate(blocks, 128, 65'536);
}
[[gnu::noinline]] void site_of_300k(Blocks& blocks) {
  allocate(blocks, 20, 300'000);
}  // beyond the classes
[[gnu::noinline]] void site_of_64m(Blocks& blocks) {
  allocate(blocks, 1, size_t{64} << 20);
}

struct Site {
  std::string name;
  void (*allocate)(Blocks&);
  double count;
  double bytes;        // each
  double taken_bytes;  // as tcmalloc rounds up
};
const std::vector<Site>& sites() {
  static const auto* kSites = new std::vector<Site>{{"site_of_16", &site_of_16, 65'536, 16, 16},
                                                    {"site_of_1000", &site_of_1000, 4096, 1000, 1024},
                                                    {"site_of_4096", &site_of_4096, 1024, 4096, 4096},
                                                    {"site_of_64k", &site_of_64k, 128, 65'536, 65'536},
                                                    {"site_of_300k", &site_of_300k, 20, 300'000, 300'000},
                                                    {"site_of_64m", &site_of_64m, 1, 64 << 20, 64 << 20}};
  return *kSites;
}

// Of objects and bytes in use, and of objects and bytes allocated.
using HeapErrors = std::map<std::string, std::array<Errors, 4>>;

HeapErrors errors_by_site(int number_of_runs) {
  std::vector<std::string> names;
  for (const Site& site : sites()) {
    names.push_back(site.name);
  }
  HeapErrors errors;
  // One thread for all runs, so that its random numbers go on.
  std::thread([&] {
    for (int run = 0; run < number_of_runs; ++run) {
      const Profile before = allocation_profile();
      Blocks blocks;
      blocks.reserve(100'000);
      for (const Site& site : sites()) {
        site.allocate(blocks);
      }
      Totals held = totals(heap_profile(), names);
      Totals allocated = totals(difference(before, allocation_profile()), names);
      for (void* block : blocks) {
        std::free(block);
      }
      for (const Site& site : sites()) {
        std::array<Errors, 4>& of = errors[site.name];
        of[0].add(held[site.name][0] / site.count - 1);
        of[1].add(held[site.name][1] / (site.count * site.bytes) - 1);
        of[2].add(allocated[site.name][0] / site.count - 1);
        of[3].add(allocated[site.name][1] / (site.count * site.taken_bytes) - 1);
      }
    }
  }).join();
  return errors;
}

void expect_unbiased(const HeapErrors& errors) {
  const char* kWhat[] = {"objects in use", "bytes in use", "objects allocated", "bytes allocated"};
  for (const auto& [site, errors_of_site] : errors) {
    for (size_t i = 0; i < 4; ++i) {
      const Errors& of = errors_of_site[i];
      EXPECT_TRUE(of.covers_zero()) << site << ", " << kWhat[i] << ": mean error " << of.mean() << " +- "
                                    << of.standard_error();
      std::printf("%-14s %-18s mean error %8.4f +- %.4f\n", site.c_str(), kWhat[i], of.mean(),
                  of.standard_error());
    }
  }
}

// The relative standard deviation of a site's bytes in use by Poisson sampling.
double poisson_deviation(const Site& site, double period) {
  const double p = -std::expm1(-site.taken_bytes / period);
  return std::sqrt((1 - p) / (p * site.count));
}

TEST(AppprofAccuracy, HeapAndAllocationsAreUnbiasedBySiteAndSize) {
  const int number_of_runs = runs(100);
  ASSERT_EQ(start_heap(524'288), "") << "tcmalloc must be linked behind the library";
  HeapErrors errors = errors_by_site(number_of_runs);
  stop_heap();
  expect_unbiased(errors);
  for (const Site& site : sites()) {
    // One object of 64 MiB is a sample for sure; those of 16 bytes one in 32,768.
    EXPECT_LT(errors[site.name][1].standard_error() * std::sqrt(number_of_runs),
              2 * poisson_deviation(site, 524'288) + 1e-9)
        << site.name << ": no more than Poisson sampling varies";
  }
}

// Several thousand samples within seconds, of which it takes a few hundred.
TEST(AppprofAccuracy, HeapAndAllocationsAreUnbiasedWhereSamplesAreTooMany) {
  const int number_of_runs = runs(100);
  ASSERT_EQ(start_heap(524'288, /*max_samples_per_second=*/10), "");
  HeapErrors errors = errors_by_site(number_of_runs);
  stop_heap();
  expect_unbiased(errors);
  const Site& small = sites().front();
  EXPECT_GT(errors[small.name][1].standard_error() * std::sqrt(number_of_runs),
            2 * poisson_deviation(small, 524'288))
      << "a sample stands for more";
}

// "heap" and "allocs" have the very same stack of a sample: the one that tcmalloc had taken.
TEST(AppprofAccuracy, ASampleTakesOneStack) {
  ASSERT_EQ(start_heap(524'288), "");
  Blocks blocks;
  std::thread([&] { site_of_64m(blocks); }).join();
  const Profile held = heap_profile();
  const Profile allocated = allocation_profile();
  stop_heap();
  std::free(blocks.at(0));
  int found = 0;
  for (const Sample& sample : held.samples) {
    Profile one;
    one.samples.push_back(sample);
    if (totals(one, {"site_of_64m"})["site_of_64m"][0] > 0) {
      ++found;
      EXPECT_THAT(allocated.samples, ::testing::Contains(::testing::Field(&Sample::stack, sample.stack)));
    }
  }
  EXPECT_GE(found, 1);
}

[[gnu::noinline]] int take_stack_for_tcmalloc() {
  void* stack[31];
  const int depth = appprof_get_stack_trace(stack, 31, 0);
  return stack[0] == nullptr ? 0 : depth;  // no tail call
}

TEST(AppprofAccuracy, AStackIsOfOneSampleAtMost) {
  ASSERT_EQ(start_heap(524'288), "");
  const Profile before = allocation_profile();
  t_state.heap_sample = {size_t{64} << 20, 0};
  EXPECT_GT(take_stack_for_tcmalloc(), 0);
  EXPECT_EQ(t_state.heap_sample.bytes, 0U);
  EXPECT_GT(take_stack_for_tcmalloc(), 0) << "where the heap grows, for instance";
  Totals counted = totals(difference(before, allocation_profile()), {"take_stack_for_tcmalloc"});
  stop_heap();
  EXPECT_NEAR(counted["take_stack_for_tcmalloc"][0], 1, 0.001);
  EXPECT_NEAR(counted["take_stack_for_tcmalloc"][1], 64 << 20, 1000);
}

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
  // The lock may be free between the look and the wait, and the truth includes what it costs to be counted.
  EXPECT_TRUE(time_errors.covers_zero(0.02)) << time_errors.mean();
  EXPECT_TRUE(count_errors.covers_zero(0.02)) << count_errors.mean();
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
    EXPECT_TRUE(time_errors[holder].covers_zero(0.02)) << kHolders[holder] << time_errors[holder].mean();
  }
  EXPECT_LT(unknown_ns, 0.05 * all_ns)
      << "who held it is known, but where the wait ends as it becomes a sample";
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
  const auto is_asleep = [&] {
    return std::ranges::any_of(
        list_threads(), [&](const ThreadInfo& thread) { return thread.id == id && thread.state == 'S'; });
  };
  while (!is_asleep()) {
    std::this_thread::yield();
  }
  see();
  pthread_mutex_unlock(&mutex);
  waiter.join();
}

// Each release would look for the note, and its cache line would go from CPU to CPU.
TEST(AppprofAccuracy, AWaitLeavesANoteOnlyWhereItIsASampleSoon) {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  ASSERT_EQ(start_locks(uint64_t{3600} * 1'000'000'000), "");
  while_a_thread_waits(mutex, &pthread_mutex_lock, [] { EXPECT_FALSE(are_locks_watched()); });
  ASSERT_EQ(start_locks(1), "");
  while_a_thread_waits(mutex, &pthread_mutex_lock, [] { EXPECT_TRUE(are_locks_watched()); });
  stop_locks();
}

TEST(AppprofAccuracy, EachKindOfMutexWaitsAsBefore) {
  // Some waits end before they are samples, others after.
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
    const auto is_asleep = [&] {
      return std::ranges::any_of(
          list_threads(), [&](const ThreadInfo& thread) { return thread.id == id && thread.state == 'S'; });
    };
    while (!is_asleep()) {
      std::this_thread::yield();
    }
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
