// A program that waits in known ways, and measures itself:
//
//   known_waits SECONDS waits    a thread each that sleeps, reads from a pipe, waits for a mutex, and two that share a CPU
//   known_waits SECONDS phases   works alone and with a second thread in turns, 20 ms of CPU time each
//
// At the end it prints lines "THREAD time_ns cpu_ns runnable_ns": what its threads had used at moments of the monotonic clock,
// which they noted after each wait. Of `phases` the last line is "cpu alone_ns together_ns second_ns".
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <barrier>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <vector>

namespace {

std::atomic<bool> g_is_over = false;

uint64_t clock_ns(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000U + static_cast<uint64_t>(now.tv_nsec);
}

void sleep_ms(long ms) {
  const timespec duration{0, ms * 1'000'000};
  ::clock_nanosleep(CLOCK_MONOTONIC, 0, &duration, nullptr);
}

struct Moment {
  uint64_t time_ns;
  uint64_t cpu_ns;
  uint64_t runnable_ns;
};

// What one thread has used. Only that thread notes; it is read once the thread has ended.
class Journal {
 public:
  explicit Journal(std::string name) : name_(std::move(name)) {}

  void begin() {
    ::pthread_setname_np(::pthread_self(), name_.c_str());
    schedstat_ = ::open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    note();
  }
  void note() {
    std::array<char, 128> text{};
    unsigned long long cpu_ns = 0;
    unsigned long long runnable_ns = 0;
    if (::pread(schedstat_, text.data(), text.size() - 1, 0) > 0) {
      std::sscanf(text.data(), "%llu %llu", &cpu_ns, &runnable_ns);
    }
    moments_.push_back({clock_ns(CLOCK_MONOTONIC), clock_ns(CLOCK_THREAD_CPUTIME_ID), runnable_ns});
  }
  void print() const {
    for (const Moment& moment : moments_) {
      std::printf("%s %llu %llu %llu\n", name_.c_str(), static_cast<unsigned long long>(moment.time_ns),
                  static_cast<unsigned long long>(moment.cpu_ns),
                  static_cast<unsigned long long>(moment.runnable_ns));
    }
  }

 private:
  std::string name_;
  int schedstat_ = -1;
  std::vector<Moment> moments_;
};

}  // namespace

extern "C" {

__attribute__((noinline)) void sleep_known() {
  sleep_ms(5);
}

__attribute__((noinline)) bool read_known(int pipe) {
  char byte = 0;
  return ::read(pipe, &byte, 1) == 1;
}

__attribute__((noinline)) void lock_known(std::mutex& mutex) {
  const std::lock_guard lock(mutex);
}

__attribute__((noinline)) void spin_known(uint64_t cpu_ns) {
  const uint64_t until_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) + cpu_ns;
  while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < until_ns) {
  }
}

__attribute__((noinline)) void work_alone(uint64_t cpu_ns) {
  spin_known(cpu_ns);
}

__attribute__((noinline)) void work_together(uint64_t cpu_ns) {
  spin_known(cpu_ns);
}
}

namespace {

template <typename Step>
std::jthread repeat(Journal& journal, Step step) {
  return std::jthread([&journal, step] {
    journal.begin();
    while (!g_is_over && step()) {
      journal.note();
    }
  });
}

void bind_to_first_cpu() {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  CPU_SET(0, &cpus);
  ::sched_setaffinity(0, sizeof cpus, &cpus);
}

int wait_in_known_ways(unsigned seconds) {
  std::array<int, 2> pipe{};
  if (::pipe2(pipe.data(), O_CLOEXEC) != 0) {
    std::perror("pipe2");
    return 1;
  }
  std::mutex mutex;
  std::vector<Journal> journals;
  for (const char* name : {"sleeper", "reader", "locker", "spinner-0", "spinner-1"}) {
    journals.emplace_back(name);
  }
  {
    const auto spin = [] {
      bind_to_first_cpu();
      spin_known(3'000'000);
      return true;
    };
    const std::jthread sleeper = repeat(journals[0], [] { return sleep_known(), true; });
    const std::jthread reader = repeat(journals[1], [&] { return read_known(pipe[0]); });
    const std::jthread locker = repeat(journals[2], [&] { return lock_known(mutex), true; });
    const std::jthread spinner_0 = repeat(journals[3], spin);
    const std::jthread spinner_1 = repeat(journals[4], spin);
    const std::jthread holder([&] {
      while (!g_is_over) {
        {
          const std::lock_guard lock(mutex);
          sleep_ms(6);
        }
        sleep_ms(1);
      }
    });
    const std::jthread writer([&] {
      while (!g_is_over) {
        sleep_ms(7);
        std::ignore = ::write(pipe[1], "x", 1);
      }
      ::close(pipe[1]);
    });
    const timespec duration{static_cast<time_t>(seconds), 0};
    ::clock_nanosleep(CLOCK_MONOTONIC, 0, &duration, nullptr);
    g_is_over = true;
  }
  for (const Journal& journal : journals) {
    journal.print();
  }
  return 0;
}

int work_in_phases(unsigned seconds) {
  constexpr uint64_t kPhaseNs = 20'000'000;
  uint64_t second_ns = 0;
  std::barrier together(2);
  std::jthread second([&] {
    ::pthread_setname_np(::pthread_self(), "second");
    while (true) {
      together.arrive_and_wait();
      if (g_is_over) {
        break;
      }
      work_together(kPhaseNs);
      together.arrive_and_wait();
    }
    second_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
  });
  uint64_t alone_ns = 0;
  uint64_t together_ns = 0;
  const uint64_t end_ns = clock_ns(CLOCK_MONOTONIC) + uint64_t{seconds} * 1'000'000'000;
  while (!g_is_over) {
    const uint64_t start_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    work_alone(kPhaseNs);
    const uint64_t middle_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    g_is_over = clock_ns(CLOCK_MONOTONIC) > end_ns;
    together.arrive_and_wait();
    if (!g_is_over) {
      work_together(kPhaseNs);
      together.arrive_and_wait();
    }
    alone_ns += middle_ns - start_ns;
    together_ns += clock_ns(CLOCK_THREAD_CPUTIME_ID) - middle_ns;
  }
  second.join();
  std::printf("cpu %llu %llu %llu\n", static_cast<unsigned long long>(alone_ns),
              static_cast<unsigned long long>(together_ns), static_cast<unsigned long long>(second_ns));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view mode = argc == 3 ? argv[2] : "";
  const auto seconds = static_cast<unsigned>(argc == 3 ? std::strtoul(argv[1], nullptr, 10) : 0);
  if (mode == "waits") {
    return wait_in_known_ways(seconds);
  }
  if (mode == "phases") {
    return work_in_phases(seconds);
  }
  std::fputs("usage: known_waits SECONDS waits|phases\n", stderr);
  return 2;
}
