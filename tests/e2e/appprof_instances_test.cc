// Programs in network namespaces of their own, as containers are: the daemon, in another one, reaches them at their own addresses and on Unix
// sockets, and nowhere else. Needs the privileges to make network namespaces.
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "tests/e2e/program.h"
#include "tests/e2e/test_network.h"
#include "tests/eventually.h"

namespace plimsoll::testing::appprof_instances_test {
namespace {

constexpr const char* kPeople = "127.0.0.1:7070";
constexpr const char* kDaemons = "127.0.0.1:7071";

// The server and the daemon are in the hub's network, on its loopback.
class InstanceSockets : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!network_.is_made()) {
      GTEST_SKIP() << "this user may not make network namespaces";
    }
    std::filesystem::create_directories(announcements());
    server_ =
        std::make_unique<Background>(network_.running(0, {"plimsoll", "server", "--data", folder_ / "data",
                                                          "--listen", kPeople, "--fleet-listen", kDaemons}));
    ASSERT_TRUE(eventually([&] { return ask({"machines"}).status == 0; }, std::chrono::milliseconds(50)))
        << server_->err();
  }
  // Before the networks are deleted.
  void TearDown() override {
    for (std::unique_ptr<Background>* each : {&daemon_, &instance_, &server_}) {
      if (*each != nullptr) {
        (*each)->kill(SIGTERM);
        (*each)->wait();
        each->reset();
      }
    }
  }

  void start_instance(const std::vector<std::string>& argv, const std::string& ready) {
    instance_ = std::make_unique<Background>(network_.running(1, argv));
    ASSERT_TRUE(eventually([&] { return instance_->err().find(ready) != std::string::npos; }))
        << instance_->err();
  }
  void start_daemon(const std::string& scrape) {
    const std::string config = folder_ / "daemon.toml";
    std::ofstream(config) << "[daemon]\nserver = \"" << kDaemons << "\"\n[scrape]\ninterval = \"1s\"\n"
                          << scrape;
    daemon_ = std::make_unique<Background>(
        network_.running(0, {"plimsolld", "--config", config, "--state-dir", folder_ / "state"}));
  }

  Finished ask(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "plimsoll");
    for (const char* further : {"--server", kPeople, "--json"}) {
      arguments.emplace_back(further);
    }
    return run(network_.running(0, arguments));
  }
  // Whether that program has memory in use.
  bool has_heap_of(const std::string& app) const {
    const Finished answer = ask({"top", "--event", "heap-inuse-bytes", "--by", "app"});
    return answer.status == 0 && answer.out.find("\"" + app + "\"") != std::string::npos;
  }

  std::string announcements() const { return folder_ / "announcements"; }

  TestNetwork network_{1};
  TemporaryFolder folder_;
  std::unique_ptr<Background> server_;
  std::unique_ptr<Background> daemon_;
  std::unique_ptr<Background> instance_;
};

const std::string kRule =
    "[[scrape.listening]]\nprogram = \"heap_server\"\nports = \"1024-65535\"\npaths = [\"/pprof/heap\"]\n";

TEST_F(InstanceSockets, OnAnyAddressAreReachedAtTheInstancesOwn) {
  start_instance({"/usr/bin/env", "TCMALLOC_SAMPLE_PARAMETER=65536", program("heap_server"), "any"}, "port");
  start_daemon(kRule);
  EXPECT_TRUE(eventually([&] { return has_heap_of("heap_server"); }, std::chrono::milliseconds(100)))
      << daemon_->err();
}

TEST_F(InstanceSockets, OnTheInstancesLoopbackAreOutOfReach) {
  start_instance({"/usr/bin/env", "TCMALLOC_SAMPLE_PARAMETER=65536", program("heap_server")}, "port");
  start_daemon(kRule);
  EXPECT_TRUE(eventually(
      [&] { return daemon_->err().find("is not reached from this network namespace") != std::string::npos; },
      std::chrono::milliseconds(100)))
      << daemon_->err();
  EXPECT_FALSE(has_heap_of("heap_server"));
}

TEST_F(InstanceSockets, ThatAreUnixSocketsAreReachedWhateverTheNetwork) {
  start_instance({"appprof_load", "unix:" + folder_ / "s", announcements()}, "ready");
  start_daemon("announcements = \"" + announcements() + "\"\nannounced_kinds = [\"heap\"]\n");
  EXPECT_TRUE(eventually([&] { return has_heap_of("appprof_load"); }, std::chrono::milliseconds(100)))
      << daemon_->err();
}

}  // namespace
}  // namespace plimsoll::testing::appprof_instances_test
