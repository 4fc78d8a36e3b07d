#include "tests/clickhouse/zookeeper_server.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "base/spawn_settings.h"
#include "tests/clickhouse/clickhouse_server.h"

namespace plimsoll::testing {
namespace {

constexpr const char* kJava = "/usr/bin/java";
constexpr const char* kJar = "/usr/share/java/zookeeper.jar";  // which names the others that it needs

}  // namespace

std::string ZooKeeperServer::why_missing() {
  return ::access(kJava, X_OK) == 0 && ::access(kJar, R_OK) == 0
             ? ""
             : "no ZooKeeper, or no Java to run it: scripts/install.sh --scale installs them";
}

ZooKeeperServer::ZooKeeperServer() : port_(free_port()) {
  // Sessions of a client that was killed end after a second at the earliest.
  std::ofstream(folder_ / "zoo.cfg") << fmt::format(
      "tickTime=500\ndataDir={0}/data\nclientPort={1}\nclientPortAddress=127.0.0.1\n"
      "admin.enableServer=false\nmaxClientCnxns=0\n",
      folder_.path(), port_);
  SpawnSettings settings;
  settings.open(STDOUT_FILENO, folder_ / "out", O_WRONLY | O_CREAT | O_APPEND, 0600);
  settings.duplicate(STDOUT_FILENO, STDERR_FILENO);
  const auto started =
      settings.start({"/usr/bin/setpriv", "--pdeathsig", "KILL", kJava, "-Xmx256m", "-XX:TieredStopAtLevel=1",
                      "-cp", kJar, "org.apache.zookeeper.server.ZooKeeperServerMain", folder_ / "zoo.cfg"},
                     false);
  EXPECT_TRUE(started) << started.error().text();
  pid_ = started.value_or(-1);
}

ZooKeeperServer::~ZooKeeperServer() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
}

}  // namespace plimsoll::testing
