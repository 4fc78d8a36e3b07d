// A program that does nothing but allocate, lock, or wake the threads of a pool:
// appprof_bench_load allocations|locks|plain_mutex|conditions UNITS.
#include <array>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace {

// 100,000 blocks of 16 to 1,024 bytes a unit, of which the last 10,000 stay.
void allocate(uint64_t units) {
  constexpr size_t kHeld = 10'000;
  std::vector<std::unique_ptr<char[]>> held(kHeld);
  uint64_t random = 1;
  for (uint64_t i = 0; i < units * 100'000; ++i) {
    random = random * 6364136223846793005U + 1442695040888963407U;
    held[i % kHeld] = std::unique_ptr<char[]>(new char[16 + (random >> 54)]);
    held[i % kHeld][0] = static_cast<char>(i);
  }
  std::printf("%d\n", held[0][0]);
}

struct Shard {
  std::mutex mutex;
  uint64_t count = 0;
};

// Two threads take 100,000 locks a unit each: of sixteen, so that some are held by the other.
void lock(uint64_t units) {
  std::array<Shard, 16> shards;
  const auto work = [&](uint64_t seed) {
    uint64_t random = seed;
    for (uint64_t i = 0; i < units * 100'000; ++i) {
      random = random * 6364136223846793005U + 1442695040888963407U;
      Shard& shard = shards[random >> 60];
      const std::lock_guard guard(shard.mutex);
      ++shard.count;
    }
  };
  std::thread other(work, 7);
  work(3);
  other.join();
  uint64_t count = 0;
  for (const Shard& shard : shards) {
    count += shard.count;
  }
  std::printf("%llu\n", static_cast<unsigned long long>(count));
}

// Two threads lock and unlock a mutex of their own each, 1,000,000 times a unit: it is always free. Two, since the C library locks without atomic
// instructions while there is one thread, and a profiler brings others.
void lock_own(uint64_t units) {
  std::array<Shard, 16> shards;  // the two that are used lie in cache lines of their own
  const auto work = [&](Shard& shard) {
    for (uint64_t i = 0; i < units * 1'000'000; ++i) {
      const std::lock_guard guard(shard.mutex);
      ++shard.count;
    }
  };
  std::thread other([&] { work(shards.front()); });
  work(shards.back());
  other.join();
  const unsigned long long count = shards.front().count + shards.back().count;
  std::printf("%llu\n", count);
}

// 64 threads that wait for work are all woken 100 times a unit, and have none: each waits nearly all of the time.
void wake(uint64_t units) {
  constexpr int kThreads = 64;
  std::mutex mutex;
  std::condition_variable has_work;
  std::condition_variable is_done;
  const uint64_t rounds = units * 100;
  uint64_t round = 0;  // protected by mutex, as what follows
  int working = 0;
  const auto work = [&] {
    std::unique_lock lock(mutex);
    for (uint64_t seen = 0; seen < rounds;) {
      has_work.wait(lock, [&] { return round != seen; });
      seen = round;
      if (--working == 0) {
        is_done.notify_one();
      }
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back(work);
  }
  for (uint64_t i = 0; i < rounds; ++i) {
    std::unique_lock lock(mutex);
    working = kThreads;
    ++round;
    has_work.notify_all();
    is_done.wait(lock, [&] { return working == 0; });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  std::printf("%llu\n", static_cast<unsigned long long>(round));
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 2 ? argv[1] : "";
  const uint64_t units = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 0;
  if (what == "allocations") {
    allocate(units);
  } else if (what == "locks") {
    lock(units);
  } else if (what == "plain_mutex") {
    lock_own(units);
  } else if (what == "conditions") {
    wake(units);
  } else {
    return 2;
  }
  return 0;
}
