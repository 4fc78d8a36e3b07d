// A prefork server whose workers serve profiles of themselves (appprof/): a parent that forks two workers, each of which holds memory of
// its own under a label of its own.
//
// appprof_prefork ANNOUNCEMENTS: prints "workers PID PID" and "ready" on standard error once both hold theirs; runs until it is killed,
// and the workers with it.
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "appprof/appprof.h"

namespace appprof = plimsoll::appprof;

using Blocks = std::vector<std::unique_ptr<char[]>>;

constexpr size_t kMiB = size_t{1} << 20;
constexpr std::array<size_t, 2> kBytesOfWorkers{16 * kMiB, 48 * kMiB};

[[gnu::noinline]] void hold_blocks_of_worker(Blocks& blocks, size_t bytes) {
  constexpr size_t kBlock = 65'536;
  for (size_t held = 0; held < bytes; held += kBlock) {
    blocks.push_back(std::unique_ptr<char[]>(new char[kBlock]));
  }
}

// Serves by now: the library has started again in the child.
[[noreturn]] void work(size_t number, int ready) {
  Blocks blocks;
  // A new thread draws its first sample at the period that holds.
  std::thread([&] {
    const appprof::Label label("worker", std::to_string(number));
    hold_blocks_of_worker(blocks, kBytesOfWorkers[number]);
  }).join();
  const char done = 1;
  if (::write(ready, &done, 1) != 1) {
    ::_exit(1);
  }
  for (;;) {
    ::pause();
  }
}

int main(int argc, char** argv) {
  if (argc != 2) {
    return 2;
  }
  appprof::Options options;
  options.announce_dir = argv[1];
  options.serve_children = true;
  options.labels = {{"job", "prefork"}};
  options.heap_period_bytes = 65'536;
  options.max_samples_per_second = UINT32_MAX;
  if (const appprof::Started started = appprof::start(options); !started) {
    std::fprintf(stderr, "%s\n", started.error.c_str());
    return 1;
  }
  std::array<int, 2> ready{};
  if (::pipe(ready.data()) != 0) {
    return 1;
  }
  const pid_t parent = ::getpid();
  std::array<pid_t, kBytesOfWorkers.size()> workers{};
  for (size_t number = 0; number < workers.size(); ++number) {
    workers[number] = ::fork();
    if (workers[number] < 0) {
      return 1;
    }
    if (workers[number] == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::getppid() != parent) {
        ::_exit(1);
      }
      work(number, ready[1]);
    }
  }
  for (size_t number = 0; number < workers.size(); ++number) {
    char done = 0;
    if (::read(ready[0], &done, 1) != 1) {
      return 1;
    }
  }
  std::fprintf(stderr, "workers %d %d\nready\n", workers[0], workers[1]);
  for (;;) {
    ::pause();
  }
}
