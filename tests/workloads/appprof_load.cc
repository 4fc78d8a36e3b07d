// A program that serves profiles of itself (appprof/), with known allocation sites, lock waits, and threads that run or wait:
//
// appprof_load LISTEN [ANNOUNCEMENTS]: prints "address URL", "lock_wait_ns N contentions N" of wait_for_mutex and "signal_wait_ns N" of
// wait_for_signal as it measured them, and "ready" on standard error; serves until it is killed.
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "appprof/appprof.h"

namespace appprof = plimsoll::appprof;

using Clock = std::chrono::steady_clock;
using Blocks = std::vector<std::unique_ptr<char[]>>;

// Inlined, so that the call stands in the function that profiles are to show.
[[gnu::always_inline]] inline void allocate(Blocks& blocks, size_t total_bytes, size_t block_bytes) {
  for (size_t done = 0; done < total_bytes; done += block_bytes) {
    blocks.push_back(std::unique_ptr<char[]>(new char[block_bytes]));
  }
}

[[gnu::noinline]] void hold_tiny_blocks(Blocks& blocks) {
  allocate(blocks, size_t{4} << 20, 16);
}
[[gnu::noinline]] void hold_small_blocks(Blocks& blocks) {
  const appprof::Label label("request", "list");
  allocate(blocks, size_t{16} << 20, 1024);
}
[[gnu::noinline]] void hold_large_blocks(Blocks& blocks) {
  allocate(blocks, size_t{64} << 20, 65'536);  // line: hold_large_blocks
}
[[gnu::noinline]] void hold_huge_block(Blocks& blocks) {
  allocate(blocks, size_t{64} << 20, size_t{64} << 20);
}
// 64 MiB, of which nothing stays.
[[gnu::noinline]] void allocate_and_free() {
  for (int i = 0; i < 16'384; ++i) {
    void* volatile block = std::malloc(4096);
    std::free(block);
  }
}

namespace {

std::mutex g_mutex;
pthread_rwlock_t g_rwlock = PTHREAD_RWLOCK_INITIALIZER;
std::atomic<bool> g_is_about_to_wait{false};
std::atomic<int64_t> g_waited_ns{0};
std::atomic<uint64_t> g_sink{0};
std::mutex g_never;
std::condition_variable g_never_signalled;
std::mutex g_signal_mutex;
std::condition_variable g_signal;
bool g_is_signalled = false;  // protected by g_signal_mutex
std::atomic<int64_t> g_signal_waited_ns{0};

}  // namespace

[[gnu::noinline]] void wait_for_mutex() {
  const auto began = Clock::now();
  g_is_about_to_wait = true;
  g_mutex.lock();  // line: wait_for_mutex
  g_waited_ns += std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - began).count();
  g_mutex.unlock();
}

[[gnu::noinline]] void wait_for_rwlock() {
  const appprof::Label label("request", "store");
  g_is_about_to_wait = true;
  pthread_rwlock_rdlock(&g_rwlock);  // line: wait_for_rwlock
  pthread_rwlock_unlock(&g_rwlock);
}

// Not the last calls of their functions: those would be jumps, without a frame.
[[gnu::noinline]] void release_mutex() {
  g_mutex.unlock();  // line: release_mutex
  asm volatile("");
}
[[gnu::noinline]] void release_rwlock() {
  pthread_rwlock_unlock(&g_rwlock);
  asm volatile("");
}

[[gnu::noinline]] void wait_for_signal() {
  const appprof::Label label("request", "drain");
  std::unique_lock lock(g_signal_mutex);
  g_is_about_to_wait = true;  // who takes the mutex after that comes while this thread waits
  const auto began = Clock::now();
  g_signal.wait(lock, [] { return g_is_signalled; });  // line: wait_for_signal
  g_signal_waited_ns += std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - began).count();
}

// A part of the time, since tests that wait for profiles are not alone on their machine.
[[gnu::noinline]] void burn_cpu() {
  const appprof::Label label("request", "burn");
  for (;;) {
    for (int i = 0; i < 10'000'000; ++i) {
      g_sink = g_sink * 7 + 1;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

[[gnu::noinline]] void block_forever() {
  const appprof::Label tenant("tenant", "gold");
  const appprof::Label outer("request", "hidden");
  const appprof::Label label("request", "search");
  std::unique_lock lock(g_never);
  g_never_signalled.wait(lock, [] { return false; });
}

namespace {

template <typename Lock, typename Unlock>
void make_wait(const Lock& lock, const Unlock& unlock, void (*wait)()) {
  lock();
  g_is_about_to_wait = false;
  std::thread waiter(wait);
  while (!g_is_about_to_wait) {
    std::this_thread::yield();
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  unlock();
  waiter.join();
}

}  // namespace

int main(int argc, char** argv) {
  appprof::Options options;
  options.listen = argc > 1 ? argv[1] : "127.0.0.1:0";
  options.announce = argc > 2;
  options.announce_dir = argc > 2 ? argv[2] : "";
  options.labels = {{"job", "appprof_load"}, {"revision", "42"}};
  options.heap_period_bytes = 65'536;
  options.lock_period_ns = 10;  // all waits made here are samples, those for conditions too
  options.max_samples_per_second = UINT32_MAX;
  options.max_requests_per_minute = 10'000;
  const appprof::Started started = appprof::start(options);
  if (!started) {
    std::fprintf(stderr, "%s\n", started.error.c_str());
    return 1;
  }
  Blocks blocks;
  // A new thread draws its first sample at the period that holds.
  std::thread([&] {
    hold_tiny_blocks(blocks);
    hold_small_blocks(blocks);
    hold_large_blocks(blocks);
    hold_huge_block(blocks);
    allocate_and_free();
  }).join();
  for (int i = 0; i < 10; ++i) {
    make_wait([] { g_mutex.lock(); }, &release_mutex, &wait_for_mutex);
  }
  for (int i = 0; i < 5; ++i) {
    make_wait([] { pthread_rwlock_wrlock(&g_rwlock); }, &release_rwlock, &wait_for_rwlock);
  }
  for (int i = 0; i < 3; ++i) {
    make_wait([] { g_is_signalled = false; },
              [] {
                const std::lock_guard lock(g_signal_mutex);
                g_is_signalled = true;
                g_signal.notify_one();
              },
              &wait_for_signal);
  }
  std::thread([] { block_forever(); }).detach();
  std::thread([] { burn_cpu(); }).detach();
  std::fprintf(stderr, "address %s\nlock_wait_ns %lld contentions 10\nsignal_wait_ns %lld\nready\n",
               appprof::address().c_str(), static_cast<long long>(g_waited_ns.load()),
               static_cast<long long>(g_signal_waited_ns.load()));
  for (;;) {
    ::pause();
  }
}
