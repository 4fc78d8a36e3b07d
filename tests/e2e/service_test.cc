// The daemon as a service: what it keeps of root's privileges, what it tells its service manager, and how it reloads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <csignal>
#include <fstream>
#include <map>
#include <set>

#include "base/unique_fd.h"
#include "tests/e2e/fleet.h"

namespace plimsoll::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::StartsWith;

// Stands in for systemd.
class ServiceManager {
 public:
  explicit ServiceManager(const std::string& path) : path_(path), fd_(::socket(AF_UNIX, SOCK_DGRAM, 0)) {
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    path.copy(name.sun_path, sizeof name.sun_path - 1);
    EXPECT_EQ(::bind(fd_.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name), 0);
    // A daemon that never says it fails the test instead of hanging it.
    const timeval a_minute{60, 0};
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &a_minute, sizeof a_minute);
  }

  // The next message that begins so; empty where none comes. Few others may have come before: they wait in a queue of the
  // kernel, which is short.
  std::string wait_for(std::string_view beginning) const {
    std::string message;
    do {
      message.resize(4096);
      const ssize_t length = ::recv(fd_.get(), message.data(), message.size(), 0);
      message.resize(length < 0 ? 0 : static_cast<size_t>(length));
    } while (!message.empty() && !message.starts_with(beginning));
    return message;
  }

  const std::string& path() const { return path_; }

 private:
  std::string path_;
  UniqueFd fd_;
};

// The lines "Name:<tab>value" of /proc/PID/status.
std::map<std::string, std::string> status_of(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/status", pid));
  std::map<std::string, std::string> status;
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(":\t");
    if (colon != std::string::npos) {
      status[line.substr(0, colon)] = line.substr(colon + 2);
    }
  }
  return status;
}

class Service : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!may_sample_machine()) {
      GTEST_SKIP() << "this user may not sample the machine";
    }
    configure("[machine]\nid = \"m1\"\ndatacenter = \"one\"\n");
    ASSERT_TRUE(server_.becomes_ready());
  }

  void configure(const std::string& text) const {
    std::ofstream(folder_ / "daemon.toml")
        << fmt::format("[daemon]\nserver = \"{}\"\n", server_.fleet_address()) << text;
  }

  Background start_daemon() const {
    return Background({"/usr/bin/env", "NOTIFY_SOCKET=" + manager_.path(), "WATCHDOG_USEC=3600000000",
                       program("plimsolld"), "--config", folder_ / "daemon.toml"});
  }

  // Of the profiles that the server has taken.
  std::multiset<std::string> datacenters() const {
    std::multiset<std::string> datacenters;
    for (const wire::RawProfile& profile : archived_in(folder_ / "data")) {
      datacenters.insert(profile.machine().datacenter());
    }
    return datacenters;
  }

  const TemporaryFolder folder_;
  TestServer server_{folder_ / "data", "[collect]\nwindow = \"1s\"\n[fleet]\nheartbeat = \"100ms\"\n"};
  const ServiceManager manager_{folder_ / "notify"};
};

TEST_F(Service, KeepsFourCapabilitiesAndGainsNone) {
  const Background daemon = start_daemon();
  ASSERT_EQ(manager_.wait_for("READY=1"), "READY=1");
  const auto status = status_of(daemon.pid());
  // CAP_DAC_READ_SEARCH is 2, CAP_SYS_PTRACE 19, CAP_SYSLOG 34, CAP_PERFMON 38.
  for (const char* set : {"CapPrm", "CapEff", "CapBnd"}) {
    EXPECT_THAT(status, Contains(Pair(set, "0000004400080004")));
  }
  for (const char* set : {"CapInh", "CapAmb"}) {
    EXPECT_THAT(status, Contains(Pair(set, "0000000000000000")));
  }
  EXPECT_THAT(status, Contains(Pair("NoNewPrivs", "1")));
  const std::string probe = run({"plimsolld", "probe"}).out;
  const std::string subject = "system call filter ";
  const size_t line = probe.find(subject);
  ASSERT_NE(line, std::string::npos) << probe;
  const size_t ability = probe.find_first_not_of(' ', line + subject.size());
  EXPECT_THAT(status, Contains(Pair("Seccomp", probe.compare(ability, 3, "yes") == 0 ? "2" : "0")));
}

TEST_F(Service, TellsItsManagerHowItDoes) {
  Background daemon = start_daemon();
  EXPECT_EQ(manager_.wait_for("READY=1"), "READY=1");
  EXPECT_EQ(manager_.wait_for("STATUS="), "STATUS=registered as machine m1");
  EXPECT_EQ(manager_.wait_for("WATCHDOG=1"), "WATCHDOG=1");
  daemon.kill(SIGHUP);
  EXPECT_THAT(manager_.wait_for("RELOADING=1"), StartsWith("RELOADING=1\nMONOTONIC_USEC="));
  EXPECT_EQ(manager_.wait_for("READY=1"), "READY=1");
  daemon.kill(SIGTERM);
  EXPECT_EQ(manager_.wait_for("STOPPING=1"), "STOPPING=1");
  EXPECT_EQ(daemon.wait().status, 0);
}

// The running window, and whatever the server has not taken yet, arrive under the configuration they were taken under.
TEST_F(Service, ReloadsWithoutLosingProfiles) {
  Background daemon = start_daemon();
  ASSERT_TRUE(eventually([&] { return datacenters().contains("one"); })) << daemon.err();
  ASSERT_EQ(server_.stop().status, 0);
  const size_t before = datacenters().count("one");
  configure("[machine]\nid = \"m1\"\ndatacenter = \"two\"\n");
  daemon.kill(SIGHUP);
  ASSERT_THAT(manager_.wait_for("RELOADING=1"), StartsWith("RELOADING=1"));
  ASSERT_EQ(manager_.wait_for("READY=1"), "READY=1");
  server_.start();
  EXPECT_TRUE(eventually([&] { return datacenters().contains("two"); })) << daemon.err();
  EXPECT_GT(datacenters().count("one"), before);
  daemon.kill(SIGTERM);
  EXPECT_EQ(daemon.wait().status, 0);
}

TEST_F(Service, GoesOnAsItWasWhereItCannotReload) {
  const Background daemon = start_daemon();
  ASSERT_EQ(manager_.wait_for("READY=1"), "READY=1");
  struct Refused {
    const char* config;
    const char* said;
  };
  for (const Refused& refused :
       {Refused{"[machine]\nid = \"m1\"\nzebra = 3\n", "unknown key machine.zebra"},
        Refused{"[machine]\nid = \"m2\"\n", "machine.id cannot change while the daemon runs"},
        Refused{"seccomp = false\n[machine]\nid = \"m1\"\n", "daemon.seccomp cannot change"}}) {
    configure(refused.config);
    daemon.kill(SIGHUP);
    ASSERT_THAT(manager_.wait_for("RELOADING=1"), StartsWith("RELOADING=1"));
    ASSERT_EQ(manager_.wait_for("READY=1"), "READY=1");
    EXPECT_THAT(daemon.err(), AllOf(HasSubstr("reloading the configuration; keeping the previous one"),
                                    HasSubstr(refused.said)));
  }
  // It still is the machine that it was.
  EXPECT_TRUE(eventually([&] {
    return run({"plimsoll", "machines", "--server", server_.address(), "--json"}).out.find("\"m1\"") !=
           std::string::npos;
  }));
}

}  // namespace
}  // namespace plimsoll::testing
