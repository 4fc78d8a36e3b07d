// Ends as its argument says, in the ways in which programs crash, with threads that run and that wait for a lock meanwhile:
//
// appprof_endings HOW [ANNOUNCEMENTS]: prints "ready", and ends at SIGUSR1. HOW is one of those in end_as(); another
// ends it with 0. Built linked with
// libplimsoll_appprof, which announces itself in the folder, and without any of it, for LD_PRELOAD and as the program of before.
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

#ifdef APPPROF_LINKED
#include "appprof/appprof.h"
#endif

namespace {

std::mutex g_mutex;
std::atomic<bool> g_is_about_to_wait{false};
std::atomic<bool> g_must_divide{false};
std::atomic<uint64_t> g_sink{1};

}  // namespace

// A part of the time, as all that run while tests wait. Divides by zero when it is told to.
[[gnu::noinline]] void burn_cpu() {
  for (;;) {
    for (int i = 0; i < 1'000'000; ++i) {
      g_sink = g_sink * 7 + 1;
    }
    if (g_must_divide) {
      // Both volatile: the compiler would compute 1 / x without a division.
      volatile int number = 1;
      volatile int zero = 0;
      g_sink = static_cast<uint64_t>(number / zero);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

[[gnu::noinline]] void wait_for_mutex() {
  g_is_about_to_wait = true;
  g_mutex.lock();
  g_mutex.unlock();
}

namespace {

// A wait of milliseconds.
void make_wait() {
  g_mutex.lock();
  std::thread waiter(wait_for_mutex);
  while (!g_is_about_to_wait) {
    std::this_thread::yield();
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  g_mutex.unlock();
  waiter.join();
}

void read_nothing() {
  const volatile int* volatile nowhere = nullptr;
  g_sink = static_cast<uint64_t>(*nowhere);
}

// The allocator finds that it was handed what it never gave out, says so and aborts.
void free_what_is_no_block() {
  static char bytes[256];
  char* volatile inside = bytes + 64;
  std::free(inside);
}

void throw_uncaught() {
  throw std::runtime_error("this is not caught");
}

void throw_through_noexcept() noexcept {
  throw_uncaught();
}

void on_segv(int) {
  constexpr std::string_view kText = "the program's own handler\n";
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, kText.data(), kText.size());
  ::_exit(3);
}

void read_nothing_with_a_handler() {
  ::signal(SIGSEGV, &on_segv);
  read_nothing();
}

// Calls that a library in LD_PRELOAD counts (call_counter.cc), of this thread alone.
void count_calls() {
  using Read = void (*)(long*, long*);
  const auto read = reinterpret_cast<Read>(::dlsym(RTLD_DEFAULT, "call_counter_read"));
  if (read == nullptr) {
    std::puts("no counter");
    return;
  }
  long locks_before = 0, allocations_before = 0, locks = 0, allocations = 0;
  read(&locks_before, &allocations_before);
  for (int i = 0; i < 1000; ++i) {
    g_mutex.lock();
    void* volatile block = std::malloc(100);
    std::free(block);
    g_mutex.unlock();
  }
  read(&locks, &allocations);
  std::printf("locks %ld allocations %ld\n", locks - locks_before, allocations - allocations_before);
}

// Of the thread that burns, in whatever it is at.
[[noreturn]] void divide_in_another_thread() {
  g_must_divide = true;
  for (;;) {
    ::pause();  // which signals of a profile end
  }
}

void end_as(std::string_view how) {
  if (how == "segv") {
    read_nothing();
  } else if (how == "segv-in-thread") {
    std::thread(read_nothing).join();
  } else if (how == "own-handler") {
    read_nothing_with_a_handler();
  } else if (how == "bad-free") {
    free_what_is_no_block();
  } else if (how == "exception") {
    throw_uncaught();
  } else if (how == "exception-in-thread") {
    std::thread(throw_uncaught).join();
  } else if (how == "noexcept") {
    throw_through_noexcept();
  } else if (how == "count-calls") {
    count_calls();
  } else if (how == "fpe-in-thread") {
    divide_in_another_thread();
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    return 2;
  }
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  sigset_t end{};
  ::sigaddset(&end, SIGUSR1);
  ::pthread_sigmask(SIG_BLOCK, &end, nullptr);
#ifdef APPPROF_LINKED
  plimsoll::appprof::Options options;
  options.announce = true;
  options.announce_dir = argc > 2 ? argv[2] : "";
  options.lock_period_ns = 10;
  options.heap_period_bytes = 4096;
  options.max_requests_per_minute = 10'000;
  if (const auto started = plimsoll::appprof::start(options); !started) {
    std::fprintf(stderr, "%s\n", started.error.c_str());
    return 1;
  }
#endif
  make_wait();
  std::thread burner(burn_cpu);
  burner.detach();
  std::puts("ready");
  std::fflush(stdout);
  int number = 0;
  ::sigwait(&end, &number);
  end_as(argv[1]);
  std::fflush(stdout);
  ::_exit(0);
}
