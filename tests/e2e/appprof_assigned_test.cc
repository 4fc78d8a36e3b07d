// Application profiles that a server's draws ask for, of a program that announces a Unix socket: from the schedule to the answer. Needs the
// privileges to sample the machine, as draws do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/e2e/fleet.h"
#include "tests/e2e/program.h"
#include "tests/eventually.h"

namespace plimsoll::testing::appprof_assigned_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr double kMiB = 1 << 20;

class AssignedAppprof : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!may_sample_machine()) {
      GTEST_SKIP() << "this user may not sample the machine";
    }
    std::filesystem::create_directories(announcements());
  }

  std::string announcements() const { return folder_ / "announcements"; }
  std::string data() const { return folder_ / "data"; }
  std::string socket() const { return folder_ / "s"; }

  // Draws of the only machine every three seconds, for half of one.
  static std::string server_config() {
    return "[draw]\ninterval = \"3s\"\npercent = 100\nmax_percent_per_job = 100\nmax_percent_per_platform = "
           "100\n"
           "max_overhead_percent = 100\nstop_percent = 100\nmin_per_stratum = 1\nlate_after = \"2s\"\n"
           "event_sets = [\"cpu-clock\"]\n[collect]\nwindow = \"500ms\"\n"
           "application_kinds = [\"heap\", \"contention\", \"growth\"]\n[fleet]\nheartbeat = \"200ms\"\n";
  }
  std::string daemon_config(const TestServer& server) const {
    const std::string path = folder_ / "daemon.toml";
    std::ofstream(path) << "[daemon]\nserver = \"" << server.fleet_address()
                        << "\"\n[scrape]\nschedule = \"assigned\"\nannouncements = \"" << announcements()
                        << "\"\nannounced_kinds = [\"heap\", \"contention\"]\n";
    return path;
  }

  // What the machines of the draws say of application profiles, and of which draw.
  static std::vector<Row> answers(const TestServer& server) {
    std::vector<Row> found;
    for (const Row& draw : rows_of(view("draws", {"--server", server.address(), "--limit", "1000"}))) {
      for (const Row& machine :
           rows_of(view("draws", {"--server", server.address(), text(draw.at("draw"))}))) {
        if (text(machine.at("detail")).find("heap: ") != std::string::npos) {
          found.push_back(machine);
        }
      }
    }
    return found;
  }

  TemporaryFolder folder_;
};

TEST_F(AssignedAppprof, DrawsHaveTheProfilesOfAProgramOnAUnixSocket) {
  const Background program({"appprof_load", "unix:" + socket(), announcements()});
  ASSERT_TRUE(eventually([&] { return program.err().find("ready") != std::string::npos; })) << program.err();
  TestServer server(data(), server_config());
  ASSERT_TRUE(server.becomes_ready());
  const Background daemon({"plimsolld", "--config", daemon_config(server)});
  ASSERT_TRUE(eventually([&] { return !answers(server).empty(); }, std::chrono::milliseconds(100)))
      << daemon.err();
  EXPECT_THAT(text(answers(server).front().at("detail")),
              AllOf(HasSubstr("heap: 1 of 1 endpoint"), HasSubstr("contention: 1 of 1 endpoint"),
                    HasSubstr("growth: no endpoint")));
  const auto heap = [&] {
    return self_so_far({"--server", server.address(), "--event", "heap-inuse-bytes", "--by", "app", "--where",
                        "label:revision=42"});
  };
  ASSERT_TRUE(eventually([&] { return heap().contains("appprof_load"); }, std::chrono::milliseconds(100)))
      << daemon.err();
  // 148 MiB, and its margin of sampling; draws do not add up.
  EXPECT_GT(heap().at("appprof_load"), 130 * kMiB);
  EXPECT_LT(heap().at("appprof_load"), 175 * kMiB);
}

TEST_F(AssignedAppprof, ASocketThatTheDaemonMayNotUseIsInTheDetail) {
  const Background program({"appprof_load", "unix:" + socket(), announcements()});
  ASSERT_TRUE(eventually([&] { return program.err().find("ready") != std::string::npos; })) << program.err();
  // It goes on to listen, at no path.
  std::filesystem::remove(socket());
  TestServer server(data(), server_config());
  ASSERT_TRUE(server.becomes_ready());
  const Background daemon({"plimsolld", "--config", daemon_config(server)});
  ASSERT_TRUE(eventually([&] { return !answers(server).empty(); }, std::chrono::milliseconds(100)))
      << daemon.err();
  EXPECT_THAT(text(answers(server).front().at("detail")),
              AllOf(HasSubstr("heap: 0 of 1 endpoint"), HasSubstr("looking for the Unix socket")));
}

}  // namespace
}  // namespace plimsoll::testing::appprof_assigned_test
