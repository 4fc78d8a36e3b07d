// Bursts on their way from a server's policy to the tracepoints of a machine and back: a draw assigns them, plimsolld records them, and the
// server has their requests.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/e2e/fleet.h"
#include "tests/e2e/program.h"
#include "tests/e2e/tracing_files.h"
#include "tests/eventually.h"

namespace plimsoll::testing::assigned_bursts_test {
namespace {

using ::testing::HasSubstr;

constexpr std::chrono::milliseconds kBetween{100};

class AssignedBursts : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!may_sample_machine()) {
      GTEST_SKIP() << "this user may not sample the machine";
    }
    if (const std::string why = why_no_tracepoints(); !why.empty()) {
      GTEST_SKIP() << why;
    }
    server_ = std::make_unique<TestServer>(folder_ / "data", kServerConfig);
    ASSERT_TRUE(server_->becomes_ready());
  }

  void TearDown() override {
    for (const auto& daemon : daemons_) {
      daemon->kill(SIGTERM);
    }
    for (const auto& daemon : daemons_) {
      EXPECT_EQ(daemon->wait().status, 0) << daemon->err();
    }
  }

  void start_daemon(const std::string& id, const std::string& bursts) {
    const std::string path = folder_ / (id + ".toml");
    std::ofstream(path) << fmt::format("[daemon]\nserver = \"{}\"\n[machine]\nid = \"{}\"\n[bursts]\n{}",
                                       server_->fleet_address(), id, bursts);
    daemons_.push_back(std::make_unique<Background>(std::vector<std::string>{"plimsolld", "--config", path}));
  }

  // A subcommand of bursts on the server, as a document.
  nlohmann::json ask(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {"plimsoll", "bursts"});
    arguments.insert(arguments.end(), {"--server", server_->address(), "--json"});
    const Finished finished = run(arguments);
    EXPECT_EQ(finished.status, 0) << finished.err;
    return nlohmann::json::parse(finished.out, nullptr, /*allow_exceptions=*/false);
  }

  // Of a list, the cells of a column.
  static std::vector<std::string> column(const nlohmann::json& table, const std::string& name) {
    std::vector<std::string> cells;
    for (const auto& row : table["rows"]) {
      cells.push_back(row[name].is_string() ? row[name].get<std::string>() : row[name].dump());
    }
    return cells;
  }

  // What the newest draws say of the machine, once one of them says something of its bursts.
  std::string detail_of(const std::string& machine) const {
    for (const Row& draw : rows_of(view("draws", {"--server", server_->address()}))) {
      const auto machines =
          rows_of(view("draws", {"--server", server_->address(), plimsoll::testing::text(draw.at("draw"))}));
      for (const Row& drawn : machines) {
        const std::string detail = plimsoll::testing::text(drawn.at("detail"));
        if (plimsoll::testing::text(drawn.at("machine")) == machine &&
            detail.find("bursts: ") != std::string::npos) {
          return detail;
        }
      }
    }
    return {};
  }

  // 128 ms of every 256, for a second of every three. On a busy machine daemons may be cut off for longer than so short a lease: that must not
  // stop anything.
  static constexpr const char* kServerConfig =
      "[draw]\ninterval = \"3s\"\npercent = 100\nmax_percent_per_job = 100\nmax_percent_per_platform = 100\n"
      "max_overhead_percent = 100\nstop_percent = 100\nmin_per_stratum = 1\nlate_after = \"2s\"\n"
      "[collect]\nwindow = \"200ms\"\n[fleet]\nheartbeat = \"200ms\"\n"
      "[bursts]\nconfig = \"1,7\"\nduration = \"1s\"\n";
  static constexpr const char* kPermitted =
      "permit = true\nmax_share_percent = 50.0\nmax_overhead_percent = 100.0\n";

  TemporaryFolder folder_;
  std::unique_ptr<TestServer> server_;
  std::vector<std::unique_ptr<Background>> daemons_;
};

TEST_F(AssignedBursts, ArriveWithTheirRequests) {
  const Background program({"marked_requests"});
  start_daemon("m1", kPermitted);
  ASSERT_TRUE(eventually([&] { return !column(ask({"list"}), "draw").empty(); }, kBetween))
      << daemons_[0]->err();
  const nlohmann::json list = ask({"list"});
  const std::string draw = column(list, "draw").back();
  EXPECT_THAT(draw, HasSubstr("fleet-2"));
  EXPECT_EQ(column(list, "machine").back(), "m1");
  EXPECT_EQ(column(list, "config").back(), "1,7");
  for (const std::string& of_draw : column(ask({"list", "--draw", draw}), "draw")) {
    EXPECT_EQ(of_draw, draw);
  }
  EXPECT_TRUE(column(ask({"list", "--draw", "fleet-1"}), "draw").empty());
  // The draw says what came of it, and which bursts it asked for.
  ASSERT_TRUE(eventually([&] { return !detail_of("m1").empty(); }, kBetween)) << daemons_[0]->err();
  EXPECT_THAT(detail_of("m1"), HasSubstr(" recorded in "));
  EXPECT_EQ(plimsoll::testing::text(
                rows_of(view("draws", {"--server", server_->address(), "--limit", "1"}))[0].at("bursts")),
            "1,7");
  EXPECT_THAT(run({"plimsoll", "status", "--server", server_->address()}).out,
              HasSubstr("daemons that record bursts"));
  // Marks need tracepoints of system calls; a machine that is busy may lose some.
  const std::string notes = ask({"show"}).dump();
  if (notes.find("not recorded: mark-call") != std::string::npos) {
    GTEST_SKIP() << "this kernel has no tracepoints of system calls";
  }
  const auto has_requests = [&] {
    const nlohmann::json requests = ask({"requests"});
    return requests.contains("requests") && !requests["requests"].empty();
  };
  EXPECT_TRUE(eventually(has_requests, kBetween)) << program.out() << daemons_[0]->err();
}

TEST_F(AssignedBursts, AreRefusedWhereTheOperatorDoesNotPermitThem) {
  start_daemon("m1", "permit = false\n");
  ASSERT_TRUE(eventually([&] { return !detail_of("m1").empty(); }, kBetween)) << daemons_[0]->err();
  EXPECT_THAT(detail_of("m1"), HasSubstr("bursts.permit of this daemon is false"));
  EXPECT_TRUE(column(ask({"list"}), "draw").empty());
  EXPECT_THAT(run({"plimsoll", "status", "--server", server_->address()}).out, HasSubstr("0 can, 1 cannot"));
}

}  // namespace
}  // namespace plimsoll::testing::assigned_bursts_test
