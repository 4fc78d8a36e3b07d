// Draws on their way from a server's schedule to real daemons and back: who was drawn measures, all at the same time, and nobody else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <set>
#include <utility>

#include "base/durable_file.h"
#include "base/time.h"
#include "tests/e2e/fleet.h"

namespace plimsoll::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

class Draws : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!may_sample_machine()) {
      GTEST_SKIP() << "this user may not sample the machine";
    }
  }

  // Every three seconds, for a fifth of one. On a busy machine daemons may be cut off for longer than so short a lease: that must not stop
  // anything.
  static std::string config(int percent) {
    return fmt::format(
        "[draw]\ninterval = \"3s\"\npercent = {}\nmax_percent_per_job = 100\nmax_percent_per_platform = "
        "100\nmax_overhead_percent = 100\nstop_percent = 100\nmin_per_stratum = 1\nlate_after = "
        "\"2s\"\nevent_sets = "
        "[\"cpu-clock\", \"page-faults\"]\n[collect]\nwindow = \"200ms\"\n[fleet]\nheartbeat = \"200ms\"\n",
        percent);
  }

  void start_daemons(const TestServer& server) {
    for (const std::string id : {"m1", "m2", "m3"}) {
      const std::string state = folder_ / ("state-" + id);
      daemons_.push_back(std::make_unique<Background>(std::vector<std::string>{
          "plimsolld", "--server", server.fleet_address(), "--machine-id", id, "--state-dir", state}));
    }
  }
  void stop_daemons() {
    for (const auto& daemon : daemons_) {
      daemon->kill(SIGTERM);
    }
    for (const auto& daemon : daemons_) {
      EXPECT_EQ(daemon->wait().status, 0) << daemon->err();
    }
    daemons_.clear();
  }

  // Draws from all three machines of which nothing is pending, the newest first.
  static std::vector<Row> settled(const TestServer& server) {
    std::vector<Row> draws = rows_of(view("draws", {"--server", server.address(), "--limit", "1000"}));
    std::erase_if(draws, [](const Row& draw) {
      return number(draw.at("pending")) > 0 || number(draw.at("machines")) < 3;
    });
    return draws;
  }

  TemporaryFolder folder_;
  std::string data_dir_ = folder_ / "data";
  std::vector<std::unique_ptr<Background>> daemons_;
};

TEST_F(Draws, WhoIsDrawnMeasuresWhenAllOthersDo) {
  TestServer server(data_dir_, config(100));
  ASSERT_TRUE(server.becomes_ready());
  start_daemons(server);
  const auto of_both_sets = [&] {
    std::set<std::string> events;
    for (const Row& draw : settled(server)) {
      if (number(draw.at("answered")) == 3) {
        events.insert(text(draw.at("events")));
      }
    }
    return events.size() == 2;
  };
  ASSERT_TRUE(eventually(of_both_sets, std::chrono::milliseconds(100))) << daemons_[0]->err();
  const auto draws = settled(server);
  stop_daemons();
  for (const wire::RawProfile& profile : archived_in(data_dir_)) {
    const wire::Assignment& assignment = profile.assignment();
    EXPECT_THAT(assignment.draw().id(), HasSubstr("fleet-2"));
    EXPECT_EQ(assignment.draw().inclusion_probability(), 1);
    EXPECT_EQ(assignment.draw().interval_ns(), 3 * kNsPerSecond);
    EXPECT_THAT(assignment.draw().stratum(), HasSubstr("platform="));
    // By the same clock, which a daemon knows as well as a request's way there and back lets it.
    EXPECT_GE(profile.window().start().wall_ns(), assignment.start_ns() - kNsPerSecond / 2);
  }
  const auto newest = text(draws.front().at("draw"));
  const auto machines = rows_of(view("draws", {"--data", data_dir_, newest}));
  std::vector<std::string> names;
  for (const Row& machine : machines) {
    names.push_back(text(machine.at("machine")));
    EXPECT_EQ(number(machine.at("inclusion_probability")), 1);
  }
  EXPECT_THAT(names, UnorderedElementsAre("m1", "m2", "m3"));
  const auto strata = rows_of(view("draws", {"--data", data_dir_, newest, "--by", "stratum"}));
  ASSERT_EQ(strata.size(), 1);
  EXPECT_EQ(number(strata[0].at("machines")), 3);
  EXPECT_EQ(number(strata[0].at("expected")), 3);
  for (const Row& draw : draws) {
    const auto verified =
        run({"plimsoll", "draws", "--server", server.address(), text(draw.at("draw")), "--verify"});
    EXPECT_EQ(verified.status, 0) << verified.err;
    EXPECT_THAT(verified.out + verified.err,
                HasSubstr("verified: with this seed and the fleet at that time"));
  }
}

TEST_F(Draws, WhoIsNotDrawnSendsNothing) {
  TestServer server(data_dir_, config(1));
  ASSERT_TRUE(server.becomes_ready());
  start_daemons(server);
  ASSERT_TRUE(eventually([&] { return settled(server).size() >= 3; }, std::chrono::milliseconds(100)));
  stop_daemons();
  server.stop();
  // One machine in each draw, of the only stratum.
  std::map<std::string, std::set<std::string>> machines_by_draw;
  for (const wire::RawProfile& profile : archived_in(data_dir_)) {
    machines_by_draw[profile.assignment().draw().id()].insert(profile.machine().id());
  }
  ASSERT_FALSE(machines_by_draw.empty());
  for (const auto& [draw, machines] : machines_by_draw) {
    EXPECT_EQ(machines.size(), 1) << draw;
    const auto drawn = rows_of(view("draws", {"--data", data_dir_, draw}));
    ASSERT_EQ(drawn.size(), 1);
    EXPECT_EQ(text(drawn[0].at("machine")), *machines.begin());
    const auto verified = run({"plimsoll", "draws", "--data", data_dir_, draw, "--verify"});
    EXPECT_EQ(verified.status, 0) << verified.err;
  }
}

TEST_F(Draws, AServerThatIsKilledGoesOnWithItsDraws) {
  TestServer server(data_dir_, config(100));
  ASSERT_TRUE(server.becomes_ready());
  start_daemons(server);
  const auto answered = [&] {
    int64_t sum = 0;
    for (const Row& draw : settled(server)) {
      sum += static_cast<int64_t>(number(draw.at("answered")));
    }
    return sum;
  };
  ASSERT_TRUE(eventually([&] { return answered() >= 3; }, std::chrono::milliseconds(100)));
  server.crash();
  server.start();
  ASSERT_TRUE(server.becomes_ready());
  const int64_t before = answered();
  ASSERT_TRUE(eventually([&] { return answered() >= before + 6; }, std::chrono::milliseconds(100)));
  stop_daemons();
  server.stop();
  // No machine has two profiles of the same time.
  std::map<std::string, int64_t> end_ns;
  for (const wire::RawProfile& profile : archived_in(data_dir_)) {
    int64_t& end_of_last_ns = end_ns[profile.machine().id()];
    EXPECT_GE(profile.window().start().monotonic_ns(), end_of_last_ns)
        << profile.machine().id() << " in " << profile.assignment().draw().id();
    end_of_last_ns = profile.window().end().monotonic_ns();
  }
}

// The kill switch, with real daemons that collect all the time.
TEST_F(Draws, NobodyMeasuresWhileEverythingIsStopped) {
  TestServer server(data_dir_, "[collect]\nwindow = \"200ms\"\n[fleet]\nheartbeat = \"200ms\"\n");
  ASSERT_TRUE(server.becomes_ready());
  const std::vector<std::string> order{"plimsoll", "collection", "--server", server.address()};
  const auto ordered = [&](const std::vector<std::string>& what) {
    auto command = order;
    command.insert(command.end(), what.begin(), what.end());
    return run(command);
  };
  EXPECT_THAT(ordered({}).out, HasSubstr("nothing is stopped"));
  EXPECT_EQ(ordered({"--stop", ""}).status, 2) << "not without a reason";
  start_daemons(server);
  ASSERT_TRUE(eventually([&] { return stored_in(data_dir_).accepted > 5; }));
  EXPECT_THAT(ordered({"--stop", "latency of search"}).out, HasSubstr("latency of search"));
  EXPECT_THAT(ordered({}).out, HasSubstr("everything"));
  EXPECT_THAT(run({"plimsoll", "draws", "--data", data_dir_}).out +
                  run({"plimsoll", "draws", "--data", data_dir_}).err,
              HasSubstr("ALARM"));
  // Each has heard of it with its next heartbeat; what was measured until then still comes.
  server.crash();
  server.start();
  ASSERT_TRUE(server.becomes_ready());
  int64_t accepted = -1;
  ASSERT_TRUE(eventually([&] { return std::exchange(accepted, stored_in(data_dir_).accepted) == accepted; },
                         std::chrono::seconds(1)));
  EXPECT_EQ(ordered({"--resume"}).status, 0);
  ASSERT_TRUE(eventually([&] { return stored_in(data_dir_).accepted > accepted + 5; }));
  stop_daemons();
  EXPECT_EQ(run({"plimsoll", "collection", "--data", data_dir_, "--stop", "x"}).status, 2);
}

TEST(DrawSettings, ThatMakeNoSenseNameTheirKey) {
  const TemporaryFolder folder;
  const auto refused = [&](const std::string& config) {
    EXPECT_TRUE(write_file_durably(folder / "server.toml", as_bytes(config)));
    return run({"plimsoll", "server", "--data", folder / "data", "--config", folder / "server.toml"}).err;
  };
  EXPECT_THAT(refused("[draw]\ninterval = \"1min\"\nstrata = [\"platfrom\"]\n"),
              AllOf(HasSubstr("draw.strata"), HasSubstr("did you mean platform?")));
  EXPECT_THAT(refused("[draw]\ninterval = \"1min\"\n[collect]\nwindow = \"2min\"\n"),
              HasSubstr("collect.window"));
  EXPECT_THAT(refused("[draw]\ninterval = \"1min\"\npercent = 0\n"), HasSubstr("draw.percent"));
  EXPECT_THAT(refused("[draw]\ninterval = \"1500ms\"\n"), HasSubstr("draw.interval"));
}

TEST_F(Draws, SomebodyIsMeasuredByOrder) {
  // The next draw is far away. A busy machine answers late.
  TestServer server(
      data_dir_,
      "[draw]\ninterval = \"24h\"\nmax_percent_per_job = 100\nmax_percent_per_platform = 100\nlate_after = "
      "\"60s\"\n[fleet]\nheartbeat = \"200ms\"\n");
  ASSERT_TRUE(server.becomes_ready());
  start_daemons(server);
  const auto order = [&](std::vector<std::string> flags) {
    flags.insert(flags.begin(),
                 {"plimsoll", "measure", "--server", server.address(), "--events", "cpu-clock"});
    return run(flags);
  };
  Finished done;
  ASSERT_TRUE(eventually([&] {
    done = order({"--machine", "m2", "--machine", "m3", "--for", "1s", "--rate", "200", "--json"});
    return done.status == 0;
  })) << done.err;
  const auto table = query::from_json(done.out);
  ASSERT_TRUE(table);
  EXPECT_THAT(table->notes, Contains(HasSubstr("ordered by")));
  const std::string id = text(rows_of(view("draws", {"--server", server.address()})).front().at("draw"));
  EXPECT_TRUE(eventually([&] {
    const auto rows = rows_of(view("draws", {"--server", server.address(), id}));
    return !rows.empty() && std::ranges::all_of(rows, [](const Row& row) {
      return text(row.at("outcome")) == "answered" || text(row.at("outcome")) == "partial";
    });
  })) << daemons_[1]->err();
  // Empty until rows are built.
  const auto measured = [&] {
    std::set<std::string> machines;
    const Finished asked = run({"plimsoll", "top", "--server", server.address(), "--by", "machine", "--where",
                                "draw=" + id, "--json"});
    const auto shown = query::from_json(asked.out);
    for (const Row& row : shown ? rows_of(*shown) : std::vector<Row>()) {
      machines.insert(text(row.at("machine")));
    }
    return machines;
  };
  const std::set<std::string> known{"m2", "m3"};
  EXPECT_TRUE(eventually([&] {
    const auto seen = measured();
    return !seen.empty() && std::ranges::includes(known, seen);
  }));
  EXPECT_THAT(order({"--job", "nobody's"}).err, HasSubstr("none of 3 live machines matches"));
  EXPECT_THAT(order({"--for", "2h"}).err, HasSubstr("10m"));
  stop_daemons();
  EXPECT_EQ(server.stop().status, 0);
}

}  // namespace
}  // namespace plimsoll::testing
