// What threads share without locks, and the server while threads come and go. Under ThreadSanitizer these run on the library without
// its lock functions and without tcmalloc (docs/appprof.md, Safety).
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/time.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "appprof/appprof.h"
#include "appprof/cpu.h"
#include "appprof/holders.h"
#include "appprof/labels.h"
#include "appprof/site_table.h"
#include "tests/eventually.h"
#include "tests/fetch_unix.h"
#include "tests/meeting.h"
#include "tests/temporary_directory.h"

namespace plimsoll::appprof {
namespace {

using testing::eventually;
using testing::fetch_unix;
using testing::Meeting;
using testing::status_of;
using testing::TemporaryDirectory;

void join_all(std::vector<std::thread>& threads) {
  for (std::thread& thread : threads) {
    thread.join();
  }
}

TEST(AppprofSharing, AReaderBesideThreadsThatAddSeesWholeStacks) {
  constexpr uintptr_t kSites = 1000;
  SiteTable table;
  ASSERT_TRUE(table.allocate());
  std::atomic<int> adding{4};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (uintptr_t site = 1; site <= kSites; ++site) {
        const std::array<uintptr_t, 3> frames{site, 2 * site, 3 * site};
        table.add(frames, static_cast<uint32_t>(site), 1, 1);
      }
      --adding;
    });
  }
  uintptr_t seen = 0;
  bool is_last = false;
  while (!is_last) {
    is_last = adding.load() == 0;
    seen = 0;
    table.for_each([&](std::span<const uintptr_t> frames, uint32_t labels, const SiteTable::Sums&) {
      ++seen;
      ASSERT_EQ(frames.size(), 3);
      EXPECT_EQ(frames[1], 2 * frames[0]);
      EXPECT_EQ(frames[2], 3 * frames[0]);
      EXPECT_EQ(labels, frames[0]);
    });
  }
  join_all(threads);
  EXPECT_EQ(seen, kSites);
}

TEST(AppprofSharing, SamplesThatThreadsLogAreTakenOrCountedAsLost) {
  constexpr uint64_t kSamples = 5000;  // of each thread: together more than there are places
  SampleLog log;
  ASSERT_TRUE(log.allocate());
  std::atomic<int> adding{4};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (uint64_t sample = 0; sample < kSamples; ++sample) {
        log.add(0);
      }
      --adding;
    });
  }
  uint64_t taken = 0;
  uint64_t lost = 0;
  bool is_last = false;
  while (!is_last) {
    is_last = adding.load() == 0;
    lost += log.take([&taken](std::span<const uintptr_t> frames, uint32_t) {
      ++taken;
      EXPECT_EQ(std::ranges::count(frames, 0), 0) << "whole stacks";
    });
  }
  join_all(threads);
  EXPECT_EQ(taken + lost, 4 * kSamples);
}

// Threads wait for two locks while others release both all the time.
TEST(AppprofSharing, WaitersFindWholeStacksOfThoseThatRelease) {
  constexpr int kHoldersWanted = 200;
  std::array<int, 2> locks{};
  std::atomic<int> found{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] {
      while (found.load() < kHoldersWanted) {
        note_release(&locks[0], nullptr);
        note_release(&locks[1], nullptr);
      }
    });
    threads.emplace_back([&, i] {
      while (found.load() < kHoldersWanted) {
        const int place = watch_lock(&locks[static_cast<size_t>(i)], 0);
        for (int wait = 0; wait < 20; ++wait) {
          std::this_thread::yield();
        }
        std::array<uintptr_t, kMaxFrames> frames{};
        const Holder holder = unwatch_lock(place, frames);
        EXPECT_EQ(std::ranges::count(std::span(frames).first(holder.depth), 0), 0);
        found += holder.depth > 0 ? 1 : 0;
      }
    });
  }
  join_all(threads);
  EXPECT_FALSE(are_locks_watched());
}

constexpr int kThreadsAtOnce = 100;
constexpr int kThreadsWanted = 1000;

// The labels that samples of this thread would have now. A table that is full says so. The text of a set may still be on its way from
// another thread, which had it first.
void expect_labels(const Labels& expected) {
  const uint32_t number = current_labels();
  if (number == kManyLabels) {
    return;
  }
  Labels found;
  EXPECT_TRUE(eventually([&] { return !(found = labels_of(number)).empty(); }));
  std::ranges::sort(found);
  EXPECT_EQ(found, expected);
}

void throw_within_a_label() {
  const Label failing("request", "failing");
  throw std::runtime_error("a request that fails");
}

void live_once(int number, Meeting& meeting) {
  const std::string request = "get " + std::to_string(number % 8);
  const Label tenant("tenant", "gold");
  const Label label("request", request);
  meeting.come_and_wait();
  {
    const Label inner("request", "inner");
    expect_labels({{"request", "inner"}, {"tenant", "gold"}});
  }
  EXPECT_THROW(throw_within_a_label(), std::runtime_error);
  expect_labels({{"request", request}, {"tenant", "gold"}});
}

// A timer's signals for as long as it lives, whose handler looks at the labels of the thread that it interrupts.
class LabelReadingAlarm {
 public:
  LabelReadingAlarm() {
    struct sigaction action{};
    action.sa_handler = [](int) { g_looks += current_labels() == 0 ? 0 : 1; };
    action.sa_flags = SA_RESTART;
    ::sigaction(SIGALRM, &action, nullptr);
    const itimerval every{{0, 1000}, {0, 1000}};
    ::setitimer(ITIMER_REAL, &every, nullptr);
  }
  LabelReadingAlarm(const LabelReadingAlarm&) = delete;
  LabelReadingAlarm& operator=(const LabelReadingAlarm&) = delete;
  ~LabelReadingAlarm() {
    const itimerval never{};
    ::setitimer(ITIMER_REAL, &never, nullptr);
    ::signal(SIGALRM, SIG_IGN);  // one may be on its way
  }

 private:
  static std::atomic<int> g_looks;
};
std::atomic<int> LabelReadingAlarm::g_looks{0};

// Asks for each, one after the other, again and again; counts rounds in which all answered as they must.
void fetch_all(const std::string& socket, const std::vector<std::pair<std::string, int>>& targets,
               const std::atomic<bool>& is_over, std::atomic<int>& rounds) {
  while (!is_over.load()) {
    for (const auto& [target, status] : targets) {
      std::string answer = fetch_unix(socket, target);
      // Threads that have answered before may not have had their turn to end yet, on a busy machine.
      while (answer.find("too many connections") != std::string::npos) {
        answer = fetch_unix(socket, target);
      }
      EXPECT_EQ(status_of(answer), status) << target << "\n" << answer.substr(0, 500);
    }
    ++rounds;
  }
}

std::chrono::seconds churn_seconds() {
  const char* text = std::getenv("PLIMSOLL_TEST_APPPROF_SECONDS");
  return std::chrono::seconds(text == nullptr ? 0 : std::atoi(text));
}

TEST(AppprofThreadChurn, ProfilesAreTakenWhileAThousandThreadsComeAndGo) {
  const TemporaryDirectory folder;
  const std::string socket = folder / "s";
  const Started started = start({.listen = "unix:" + socket,
                                 .labels = {{"job", "churn"}},
                                 .no_heap = true,
                                 .no_locks = true,
                                 .max_requests_per_minute = 1'000'000});
  ASSERT_TRUE(started) << started.error;
  std::atomic<bool> is_over{false};
  std::atomic<int> sampled_rounds{0};
  std::atomic<int> other_rounds{0};
  int threads_started = 0;
  {
    const LabelReadingAlarm alarm;
    // Two clients: one profile that samples at a time, and the others beside it.
    std::thread sampling([&] {
      fetch_all(socket,
                {{"/debug/pprof/wall?seconds=1", 200},
                 {"/debug/pprof/threads", 200},
                 {"/debug/pprof/profile?seconds=1", 200},
                 {"/pprof/profile?seconds=1", 200}},
                is_over, sampled_rounds);
    });
    std::thread describing([&] {
      fetch_all(socket,
                {{"/", 200},
                 {"/debug/pprof/threads?debug=1", 200},
                 {"/debug/pprof/cmdline", 200},
                 {"/debug/pprof/symbol?0x401000", 200},
                 {"/debug/pprof/heap", 501},
                 {"/debug/pprof/contention", 501},
                 {"/no/such/thing", 404}},
                is_over, other_rounds);
    });
    const auto until = std::chrono::steady_clock::now() + churn_seconds();
    while (threads_started < kThreadsWanted || sampled_rounds == 0 || other_rounds == 0 ||
           std::chrono::steady_clock::now() < until) {
      Meeting meeting(kThreadsAtOnce);
      std::vector<std::thread> threads;
      for (int i = 0; i < kThreadsAtOnce; ++i) {
        threads.emplace_back(live_once, i, std::ref(meeting));
      }
      join_all(threads);
      threads_started += kThreadsAtOnce;
    }
    is_over = true;
    sampling.join();
    describing.join();
  }
  stop();
  EXPECT_GE(threads_started, kThreadsWanted);
  EXPECT_EQ(address(), "");
}

// What a client gets is an answer or a connection that is cut, never a wrong answer.
TEST(AppprofThreadChurn, StartsAndStopsWhileClientsAsk) {
  const TemporaryDirectory folder;
  const std::string socket = folder / "s";
  std::atomic<bool> is_over{false};
  std::atomic<int> answered{0};
  std::vector<std::thread> clients;
  for (int i = 0; i < 2; ++i) {
    clients.emplace_back([&] {
      while (!is_over.load()) {
        const int status = status_of(fetch_unix(socket, "/debug/pprof/cmdline"));
        EXPECT_TRUE(status == 200 || status == 0) << status;
        answered += status == 200 ? 1 : 0;
      }
    });
  }
  for (int i = 0; i < 30; ++i) {
    const Started started = start({.listen = "unix:" + socket,
                                   .no_heap = true,
                                   .no_locks = true,
                                   .max_requests_per_minute = 1'000'000});
    EXPECT_TRUE(started) << started.error;
    const int before = answered;
    EXPECT_TRUE(eventually([&] { return answered > before; })) << "of start " << i;
    stop();
  }
  is_over = true;
  join_all(clients);
}

}  // namespace
}  // namespace plimsoll::appprof
