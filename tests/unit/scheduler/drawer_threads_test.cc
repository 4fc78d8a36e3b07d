// Heartbeats, profiles, draws and orders at once, as a server's threads bring them.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>

#include "base/time.h"
#include "scheduler/assignments/drawer.h"
#include "tests/start.h"
#include "tests/temporary_directory.h"

namespace plimsoll::scheduler {
namespace {

using plimsoll::testing::kStartNs;

constexpr int kMachines = 40;
constexpr int kThreads = 3;

std::string machine_id(int number) {
  return fmt::format("m{:02}", number);
}

class DrawerThreadsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto machines = store::LiveMachines::open(folder_ / "live.db", sqlite::OpenMode::kReadWrite);
    ASSERT_TRUE(machines);
    for (int i = 0; i < kMachines; ++i) {
      wire::Machine machine;
      machine.set_id(machine_id(i));
      // Alive all the time.
      ASSERT_TRUE(machines->register_machine(machine, kStartNs, 1000 * kNsPerSecond));
    }
  }
  store::DrawStore open_store() {
    return *store::DrawStore::open(folder_ / "draws.db", sqlite::OpenMode::kReadWrite);
  }

  plimsoll::testing::TemporaryDirectory folder_;
};

TEST_F(DrawerThreadsTest, EveryProfileIsTheAnswerOfOneMachineInOneDraw) {
  DrawSettings settings;
  settings.interval_ns = 10 * kNsPerSecond;
  settings.window_ns = kNsPerSecond;
  settings.heartbeat_ns = kNsPerSecond / 10;
  settings.late_after_ns = kNsPerSecond;
  settings.size = {.fraction = 0.5, .min_per_stratum = 1};
  settings.safety = {.share_of_job = 1, .share_of_platform = 1};
  const auto breaker = *CollectionBreaker::open(open_store(), {});
  const auto drawer =
      *Drawer::open(open_store(), open_store(), *DrawPolicy::make(settings, 1), *breaker, kStartNs);
  std::atomic<int64_t> now_ns = kStartNs;
  std::atomic<bool> is_over = false;
  std::atomic<int> answers = 0;

  std::thread draws([&] {
    auto machines = store::LiveMachines::open(folder_ / "live.db", sqlite::OpenMode::kRead);
    while (now_ns < kStartNs + 120 * kNsPerSecond) {
      EXPECT_TRUE(drawer->draw_if_due(now_ns, *machines));
      now_ns += kNsPerSecond / 4;
    }
    is_over = true;
  });
  std::thread orders([&] {
    int64_t next_ns = kStartNs;
    while (!is_over) {
      if (now_ns >= next_ns) {
        next_ns = now_ns + 20 * kNsPerSecond;
        EXPECT_TRUE(breaker->stop_everything("a test", "somebody", now_ns));
        EXPECT_EQ(breaker->stops().size(), 1);
        EXPECT_TRUE(breaker->resume("somebody", now_ns));
      }
      std::this_thread::yield();
    }
  });
  std::array<std::thread, kThreads> heartbeats;
  for (int thread = 0; thread < kThreads; ++thread) {
    heartbeats[static_cast<size_t>(thread)] = std::thread([&, thread] {
      std::array<std::string, kMachines> answered;  // by machine: the newest draw
      while (!is_over) {
        for (int i = thread; i < kMachines; i += kThreads) {
          const auto assignments = drawer->heard_from(machine_id(i), {}, now_ns);
          EXPECT_TRUE(assignments);
          for (const wire::Assignment& assignment : *assignments) {
            std::string& newest = answered[static_cast<size_t>(i)];
            if (assignment.id() > newest) {
              newest = assignment.id();
              wire::RawProfile profile;
              profile.mutable_machine()->set_id(machine_id(i));
              *profile.mutable_assignment() = assignment;
              profile.mutable_window()->mutable_start()->set_wall_ns(assignment.start_ns());
              profile.mutable_window()->mutable_end()->set_wall_ns(assignment.start_ns() + kNsPerSecond);
              EXPECT_TRUE(drawer->check(profile));
              EXPECT_TRUE(drawer->answered(assignment.id(), machine_id(i), kNsPerSecond, false, now_ns));
              ++answers;
            }
          }
        }
      }
    });
  }
  draws.join();
  orders.join();
  for (std::thread& thread : heartbeats) {
    thread.join();
  }

  int kept = 0;
  const auto made = open_store().newest(1000);
  ASSERT_TRUE(made);
  for (const store::DrawWithMachines& draw : *made) {
    for (const store::DrawnMachine& machine : draw.machines) {
      kept += machine.answered_ns > 0;
      EXPECT_TRUE(machine.answered_ns == 0 || machine.observed_ns == kNsPerSecond);
    }
  }
  EXPECT_EQ(kept, answers);
  EXPECT_GT(kept, 0);
}

}  // namespace
}  // namespace plimsoll::scheduler
