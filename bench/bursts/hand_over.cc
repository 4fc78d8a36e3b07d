#include "bench/bursts/hand_over.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <numeric>
#include <thread>
#include <utility>

#include "appprof/marks.h"
#include "base/time.h"
#include "base/unique_fd.h"

namespace plimsoll::bench {
namespace {

struct PipeEnds {
  UniqueFd read;
  UniqueFd write;
};

Result<PipeEnds> open_pipe() {
  std::array<int, 2> fds{};
  return ::pipe(fds.data()) == 0 ? Result<PipeEnds>(PipeEnds{UniqueFd(fds[0]), UniqueFd(fds[1])})
                                 : fail_errno(errno, "making a pipe");
}

// Its end closes the pipe that the other one reads.
uint64_t lead(const HandOverRun& run, const UniqueFd& to, const UniqueFd& from) {
  const int64_t end_ns = monotonic_now_ns() + run.duration_ns;
  char byte = 0;
  uint64_t turns = 0;
  int64_t now_ns = monotonic_now_ns();
  while (now_ns < end_ns) {
    const int64_t next_ns = now_ns + run.turn_ns;
    if (run.is_marked) {
      plimsoll_mark(0, PLIMSOLL_SWITCH, turns + 1);
    }
    if (::write(to.get(), &byte, 1) != 1 || ::read(from.get(), &byte, 1) != 1) {
      break;
    }
    ++turns;
    do {
      now_ns = monotonic_now_ns();
    } while (now_ns < next_ns);
  }
  return turns;
}

void follow(const UniqueFd& to, const UniqueFd& from) {
  char byte = 0;
  while (::read(from.get(), &byte, 1) == 1 && ::write(to.get(), &byte, 1) == 1) {
  }
}

}  // namespace

void stay_on(int cpu) {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  CPU_SET(static_cast<size_t>(cpu), &cpus);
  ::sched_setaffinity(0, sizeof cpus, &cpus);
}

Result<uint64_t> hand_over(const HandOverRun& run) {
  std::vector<uint64_t> turns(run.cpus.size(), 0);
  {
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < run.cpus.size(); ++i) {
      auto there = open_pipe();
      auto back = open_pipe();
      if (!there || !back) {
        return there ? propagate(back) : propagate(there);
      }
      const int cpu = run.cpus[i];
      threads.emplace_back([cpu, to = std::move(back->write), from = std::move(there->read)] {
        stay_on(cpu);
        follow(to, from);
      });
      threads.emplace_back([&run, &turns, i, to = std::move(there->write), from = std::move(back->read)] {
        stay_on(run.cpus[i]);
        turns[i] = lead(run, to, from);
      });
    }
  }
  return std::accumulate(turns.begin(), turns.end(), uint64_t{0});
}

}  // namespace plimsoll::bench
