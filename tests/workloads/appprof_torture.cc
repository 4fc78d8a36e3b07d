// Everything at once that has made profilers hang: processes that fork, libraries that come and go, signals, exceptions, threads
// that live for a moment, a hundred at once, contended locks and allocations, while all profiles are fetched.
//
// appprof_torture SECONDS SOCKET LIBRARY...: exits with 0 after the time, and prints what was done. Where a busy machine has not started a
// thousand threads by then, it goes on until it has. Built twice: linked with libplimsoll_appprof, and without, for LD_PRELOAD.
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/fetch_unix.h"
#include "tests/meeting.h"

#ifdef APPPROF_LINKED
#include "appprof/appprof.h"
#endif

namespace {

using plimsoll::testing::fetch_unix;
using plimsoll::testing::Meeting;
using plimsoll::testing::status_of;

constexpr int kThreadsAtOnce = 100;
constexpr long kThreadsWanted = 1000;

std::atomic<bool> g_is_over{false};
std::mutex g_mutex;
std::condition_variable g_condition;
pthread_rwlock_t g_rwlock = PTHREAD_RWLOCK_INITIALIZER;
std::atomic<int> g_failed_children{0};

struct Count {
  const char* what;
  std::atomic<long> times{0};
};
std::array<Count, 7> g_counts{
    {{"forks"}, {"libraries"}, {"exceptions"}, {"threads"}, {"locks"}, {"fetches"}, {"signals"}}};
enum { kForks, kLibraries, kExceptions, kThreads, kLocks, kFetches, kSignals };

void work_on_the_heap() {
  std::vector<std::unique_ptr<char[]>> blocks;
  for (size_t bytes = 16; bytes < (size_t{1} << 20); bytes *= 2) {
    blocks.push_back(std::unique_ptr<char[]>(new char[bytes]));
  }
}

void lock_and_unlock() {
#ifdef APPPROF_LINKED
  const plimsoll::appprof::Label label("request", "lock");
#endif
  {
    const std::lock_guard lock(g_mutex);
    work_on_the_heap();
  }
  pthread_rwlock_wrlock(&g_rwlock);
  pthread_rwlock_unlock(&g_rwlock);
  {
    std::unique_lock lock(g_mutex);
    g_condition.wait_for(lock, std::chrono::microseconds(50));
  }
  g_condition.notify_all();
}

void fork_once() {
  const pid_t child = ::fork();
  if (child == 0) {
    // As servers do that fork without exec: allocate, lock, throw. Threads are not started: the C library itself may wait for a
    // lock that another thread held in dlopen() at the fork.
    work_on_the_heap();
    std::mutex own;
    const std::lock_guard lock(own);
    try {
      throw std::runtime_error("in the child");
    } catch (const std::exception&) {
      ::_exit(0);
    }
  }
  int status = 0;
  if (child > 0 && ::waitpid(child, &status, 0) == child && status != 0) {
    ++g_failed_children;
  }
}

void load_once(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    if (void* library = ::dlopen(path.c_str(), RTLD_NOW)) {
      ::dlclose(library);
    }
  }
}

[[gnu::noinline]] void throw_deep(int depth) {
  const std::string text(64, 'x');
  if (depth == 0) {
    throw std::runtime_error(text);
  }
  throw_deep(depth - 1);
}

void throw_once() {
  try {
    throw_deep(20);
  } catch (const std::exception&) {
  }
}

// None of them goes on before all are there.
void start_threads() {
  Meeting meeting(kThreadsAtOnce);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreadsAtOnce; ++i) {
    threads.emplace_back([&meeting] {
      ++g_counts[kThreads].times;
      meeting.come_and_wait();
      lock_and_unlock();
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

std::thread repeat(std::function<void()> once) {
  return std::thread([once = std::move(once)] {
    while (!g_is_over) {
      once();
    }
  });
}

std::thread repeat_and_count(size_t count, const std::function<void()>& once) {
  return repeat([count, once] {
    once();
    ++g_counts[count].times;
  });
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    return 2;
  }
  const std::string socket_path = argv[2];
#ifdef APPPROF_LINKED
  plimsoll::appprof::Options options;
  options.listen = "unix:" + socket_path;
  options.heap_period_bytes = 16'384;
  options.lock_period_ns = 1000;
  options.max_requests_per_minute = 100'000;
  if (const auto started = plimsoll::appprof::start(options); !started) {
    std::fprintf(stderr, "%s\n", started.error.c_str());
    return 1;
  }
#endif
  struct sigaction on_alarm{};
  on_alarm.sa_handler = [](int) { ++g_counts[kSignals].times; };
  on_alarm.sa_flags = SA_RESTART;
  ::sigaction(SIGALRM, &on_alarm, nullptr);
  const itimerval every{{0, 1000}, {0, 1000}};
  ::setitimer(ITIMER_REAL, &every, nullptr);

  const std::vector<std::string> libraries(argv + 3, argv + argc);
  std::atomic<int> refused{0};
  std::vector<std::thread> threads;
  threads.push_back(repeat_and_count(kForks, fork_once));
  threads.push_back(repeat_and_count(kLibraries, [&] { load_once(libraries); }));
  threads.push_back(repeat_and_count(kExceptions, throw_once));
  threads.push_back(repeat(start_threads));
  threads.push_back(repeat_and_count(kLocks, lock_and_unlock));
  threads.push_back(repeat_and_count(kLocks, lock_and_unlock));
  const std::array<const char*, 11> targets{"/debug/pprof/heap",
                                            "/debug/pprof/allocs",
                                            "/debug/pprof/growth",
                                            "/debug/pprof/contention",
                                            "/debug/pprof/mutex",
                                            "/debug/pprof/block",
                                            "/debug/pprof/wall?seconds=1",
                                            "/debug/pprof/threads",
                                            "/pprof/heap",
                                            "/debug/pprof/profile?seconds=1",
                                            "/debug/pprof/threads?debug=1"};
  size_t next = 0;
  threads.push_back(repeat_and_count(kFetches, [&] {
    const int status = status_of(fetch_unix(socket_path, targets[next++ % targets.size()]));
    if (status != 200) {
      std::fprintf(stderr, "%s: status %d\n", targets[(next - 1) % targets.size()], status);
      ++refused;
    }
  }));
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(std::atoi(argv[1]));
  while (std::chrono::steady_clock::now() < until || g_counts[kThreads].times < kThreadsWanted) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  g_is_over = true;
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (const Count& count : g_counts) {
    std::printf("%s %ld\n", count.what, count.times.load());
  }
  std::printf("failed_children %d\nrefused %d\n", g_failed_children.load(), refused.load());
  return g_failed_children == 0 && refused == 0 ? 0 : 1;
}
