// Three machines and a server, each in a network of its own: draws, profiles, answers, a cut network, the kill switch. Needs the privileges to
// sample the machine, and to make network namespaces and control groups.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <set>

#include "tests/e2e/fleet.h"
#include "tests/e2e/quota_group.h"
#include "tests/e2e/secured_settings.h"
#include "tests/e2e/test_network.h"

namespace plimsoll::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

constexpr int kMachines = 3;

class Namespaces : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!may_sample_machine()) {
      GTEST_SKIP() << "this user may not sample the machine";
    }
    if (!network_.is_made()) {
      GTEST_SKIP() << "this user may not make network namespaces";
    }
    for (int machine = 1; machine <= kMachines; ++machine) {
      groups_.push_back(std::make_unique<QuotaGroup>("machine" + std::to_string(machine), 20));
      if (!groups_.back()->is_made()) {
        GTEST_SKIP() << "this user may not make control groups with a CPU quota";
      }
    }
    start_server();
    ASSERT_TRUE(
        eventually([&] { return plimsoll({"machines"}, "read").status == 0; }, std::chrono::milliseconds(50)))
        << server_->err();
    for (int machine = 1; machine <= kMachines; ++machine) {
      start_machine(machine);
    }
  }
  void TearDown() override {
    for (auto* programs : {&daemons_, &loads_}) {
      for (const auto& program : *programs) {
        program->kill(SIGTERM);
        program->wait();
      }
      programs->clear();
    }
    if (server_ != nullptr) {
      stop_server();
    }
  }

  void start_server() {
    std::ofstream(folder_ / "server.toml")
        << settings_.config()
        << "[draw]\ninterval = \"3s\"\npercent = 100\nmax_percent_per_job = 100\nmax_percent_per_platform = "
           "100\n"
           "max_overhead_percent = 100\nstop_percent = 100\nmin_per_stratum = 1\nlate_after = \"3s\"\n"
           "[collect]\nwindow = \"300ms\"\nevents = [\"cpu-clock\"]\n[fleet]\nheartbeat = \"200ms\"\n";
    server_ = std::make_unique<Background>(network_.running(
        0, {"plimsoll", "server", "--data", data_dir_, "--config", folder_ / "server.toml", "--listen",
            network_.address(0) + ":7070", "--fleet-listen", network_.address(0) + ":7071"}));
  }
  void stop_server() {
    server_->kill(SIGTERM);
    EXPECT_EQ(server_->wait().status, 0);
    server_.reset();
  }
  // Its daemon and its load.
  void start_machine(int machine) {
    const std::string config = folder_ / fmt::format("m{}.toml", machine);
    const std::string state = folder_ / fmt::format("m{}-state", machine);
    std::ofstream(config) << "[daemon]\nserver = \"https://" << network_.address(0)
                          << ":7071\"\nserver_ca = \"" << settings_.ca() << "\"\nenrolment_file = \""
                          << settings_.token_file("enrol") << "\"\n[machine]\nid = \"m" << machine
                          << "\"\ndatacenter = \"rack" << machine << "\"\n";
    const QuotaGroup& group = *groups_[static_cast<size_t>(machine - 1)];
    daemons_.push_back(std::make_unique<Background>(
        group.running(network_.running(machine, {"plimsolld", "--config", config, "--state-dir", state}))));
    loads_.push_back(std::make_unique<Background>(group.busy("600")));
  }

  Finished plimsoll(std::vector<std::string> arguments, const std::string& role) const {
    arguments.insert(arguments.begin(), "plimsoll");
    for (const std::vector<std::string>& further :
         {std::vector<std::string>{"--server", "https://" + network_.address(0) + ":7070"},
          settings_.flags(role)}) {
      arguments.insert(arguments.end(), further.begin(), further.end());
    }
    return run(network_.running(0, arguments));
  }
  std::vector<Row> ask(std::vector<std::string> arguments) const {
    arguments.emplace_back("--json");
    const Finished asked = plimsoll(std::move(arguments), "read");
    const auto table = query::from_json(asked.out);
    return asked.status == 0 && table ? rows_of(*table) : std::vector<Row>();
  }
  // What became of the machines of the newest draws of which nothing is pending: draw, machine, outcome.
  std::map<std::string, std::map<std::string, std::string>> settled() const {
    std::map<std::string, std::map<std::string, std::string>> outcomes;
    for (const Row& draw : ask({"draws", "--limit", "5"})) {
      if (number(draw.at("pending")) == 0) {
        const std::string id = text(draw.at("draw"));
        for (const Row& machine : ask({"draws", id})) {
          outcomes[id][text(machine.at("machine"))] = text(machine.at("outcome"));
        }
      }
    }
    return outcomes;
  }
  // Waits for a draw that none of the given ones is, of which these answered and nobody else.
  bool sees_draw_of(const std::set<std::string>& answering,
                    const std::map<std::string, std::map<std::string, std::string>>& before) const {
    return eventually(
        [&] {
          for (const auto& [draw, outcomes] : settled()) {
            std::set<std::string> answered;
            for (const auto& [machine, outcome] : outcomes) {
              if (outcome == "answered" || outcome == "partial" || outcome == "late") {
                answered.insert(machine);
              }
            }
            if (!before.contains(draw) && answered == answering) {
              return true;
            }
          }
          return false;
        },
        std::chrono::milliseconds(300));
  }
  int64_t accepted() const { return stored_in(data_dir_).accepted; }

  TemporaryFolder folder_;
  std::string data_dir_ = folder_ / "data";
  TestNetwork network_{kMachines};
  SecuredSettings settings_{"extendedKeyUsage=serverAuth\nsubjectAltName=IP:" + network_.address(0)};
  std::vector<std::unique_ptr<QuotaGroup>> groups_;
  std::vector<std::unique_ptr<Background>> daemons_;
  std::vector<std::unique_ptr<Background>> loads_;
  std::unique_ptr<Background> server_;
};

TEST_F(Namespaces, MachinesAreDrawnMeasuredAsWellAsStoppedAndOutliveACutNetwork) {
  ASSERT_TRUE(sees_draw_of({"m1", "m2", "m3"}, {})) << server_->err() << daemons_[0]->err();

  // Answers: every machine is there, and what runs in its control group.
  const auto has_all = [&] {
    std::set<std::string> machines;
    for (const Row& row : ask({"top", "--by", "machine,instance", "--limit", "1000"})) {
      for (size_t group = 0; group < groups_.size(); ++group) {
        if (text(row.at("instance")) == groups_[group]->path() && number(row.at("self")) > 0) {
          machines.insert(text(row.at("machine")));
        }
      }
    }
    return machines == std::set<std::string>{"m1", "m2", "m3"};
  };
  EXPECT_TRUE(eventually(has_all, std::chrono::milliseconds(300)));

  // Cut off, m2 is missed and said to be; nobody else is concerned.
  const auto before_cut = settled();
  ASSERT_TRUE(network_.cut(2));
  EXPECT_TRUE(sees_draw_of({"m1", "m3"}, before_cut));
  EXPECT_TRUE(eventually([&] { return daemons_[1]->err().find("heartbeat") != std::string::npos; }))
      << "it says that it cannot reach the server";
  ASSERT_TRUE(network_.restore(2));
  EXPECT_TRUE(sees_draw_of({"m1", "m2", "m3"}, settled())) << daemons_[1]->err();

  // The kill switch is not everybody's; then nothing is measured any more, from the next heartbeat on.
  EXPECT_EQ(plimsoll({"collection", "--stop", "mischief"}, "read").status, 1);
  EXPECT_EQ(plimsoll({"collection", "--stop", "latency of search"}, "admin").status, 0);
  int64_t then = -1;
  ASSERT_TRUE(
      eventually([&] { return std::exchange(then, accepted()) == accepted(); }, std::chrono::seconds(4)))
      << "a draw is due every three seconds";
  const auto before_resume = settled();
  EXPECT_EQ(plimsoll({"collection", "--resume"}, "admin").status, 0);
  EXPECT_TRUE(sees_draw_of({"m1", "m2", "m3"}, before_resume));

  TearDown();
  // Nobody has answered a draw twice.
  std::set<std::pair<std::string, std::string>> answers;
  for (const wire::RawProfile& profile : archived_in(data_dir_)) {
    const bool is_new = answers.emplace(profile.assignment().draw().id(), profile.machine().id()).second;
    EXPECT_TRUE(is_new) << profile.assignment().draw().id() << " " << profile.machine().id();
  }
  EXPECT_GE(answers.size(), 3 * 3);
}

}  // namespace
}  // namespace plimsoll::testing
