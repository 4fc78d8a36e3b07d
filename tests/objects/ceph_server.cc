#include "tests/objects/ceph_server.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "base/spawn_settings.h"
#include "http/address.h"
#include "http/sha256.h"
#include "tests/eventually.h"
#include "tests/objects/s3_server.h"

namespace plimsoll::testing {
namespace {

constexpr const char* kClusterId = "0b1f6a52-3f3e-4a5a-9c5e-5b1d9f2c7a10";
constexpr const char* kStorageId = "7c9e6679-7425-40de-944b-e07fc1f90ae7";

// On loopback, free now; a server fails to start if another program takes it before.
int unused_port() {
  const auto socket = http::listen_on("127.0.0.1:0", false);
  EXPECT_TRUE(socket) << socket.error().text();
  return socket ? socket->port : 0;
}

void kill_and_wait(pid_t pid) {
  if (pid > 0) {
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
  }
}

}  // namespace

std::string CephServer::why_missing() {
  for (const char* const program : {"/usr/bin/ceph", "/usr/bin/ceph-mon", "/usr/bin/ceph-osd",
                                    "/usr/bin/monmaptool", "/usr/bin/radosgw", "/usr/bin/radosgw-admin"}) {
    if (::access(program, X_OK) != 0) {
      return fmt::format("no {}: scripts/install.sh --scale installs it", program);
    }
  }
  return "";
}

CephServer::CephServer() : monitor_port_(unused_port()), gateway_port_(unused_port()) {
  write_configuration();
  run({"/usr/bin/monmaptool", "--create", "--fsid", kClusterId, "--addv", "a",
       fmt::format("[v2:127.0.0.1:{}]", monitor_port_), folder_ / "monmap"});
  run(command("/usr/bin/ceph-mon", {"--id", "a", "--mkfs", "--monmap", folder_ / "monmap"}));
  storage_.push_back(start("/usr/bin/ceph-mon", {"--id", "a", "-f"}));
  // Each of these waits for what it needs of the cluster.
  run(command("/usr/bin/ceph", {"osd", "new", kStorageId}));
  run(command("/usr/bin/ceph-osd", {"--id", "0", "--mkfs", "--osd-uuid", kStorageId}));
  storage_.push_back(start("/usr/bin/ceph-osd", {"--id", "0", "-f"}));
  run(command("/usr/bin/radosgw-admin",
              {"user", "create", "--uid", "plimsoll", "--display-name", "Plimsoll", "--access-key",
               S3Server::kKeyId, "--secret-key", S3Server::kSecret}));
  start_gateway();
}

CephServer::~CephServer() {
  kill_gateway();
  for (const pid_t pid : storage_) {
    kill_and_wait(pid);
  }
}

// radosgw's own mode of messages to a monitor (ms mon client mode) requires authentication. With the usual intervals of Paxos the cluster starts in
// 12 s instead of 4, since each pool waits for them. A monitor ends on a disk that is nearly full (mon data avail crit), which is nothing to
// a test.
void CephServer::write_configuration() const {
  std::ofstream(folder_ / "ceph.conf")
      << fmt::format(R"([global]
fsid = {1}
mon host = v2:127.0.0.1:{2}/0
public addr = 127.0.0.1
cluster addr = 127.0.0.1
ms bind msgr1 = false
ms mon client mode = crc
auth cluster required = none
auth service required = none
auth client required = none
run dir = {0}
crash dir = {0}/crash
admin socket =
log file = {0}/$name.log
log to stderr = false
mon cluster log file = {0}/cluster.log
mon data = {0}/mon
mon allow pool size one = true
mon data avail crit = 0
mon max pg per osd = 1000
paxos propose interval = 0.02
paxos min wait = 0.01
osd data = {0}/osd
osd objectstore = memstore
memstore device bytes = 2147483648
osd class load list = *
osd class default list = *
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 1
osd pool default pgp num = 1
osd crush chooseleaf type = 0
rgw data = {0}/rgw
rgw frontends = beast endpoint=127.0.0.1:{3}
)",
                     folder_.path(), kClusterId, monitor_port_, gateway_port_);
  for (const char* const folder : {"mon", "osd", "rgw"}) {
    std::filesystem::create_directory(folder_ / folder);
  }
}

std::vector<std::string> CephServer::command(const std::string& program,
                                             const std::vector<std::string>& arguments) const {
  std::vector<std::string> argv{program, "-c", folder_ / "ceph.conf"};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  return argv;
}

pid_t CephServer::spawn(const std::vector<std::string>& argv) const {
  SpawnSettings settings;
  settings.open(STDOUT_FILENO, folder_ / "out", O_WRONLY | O_CREAT | O_APPEND, 0600);
  settings.duplicate(STDOUT_FILENO, STDERR_FILENO);
  const auto started = settings.start(argv, false);
  EXPECT_TRUE(started) << started.error().text();
  return started.value_or(-1);
}

// It ends with the test, however that ends.
pid_t CephServer::start(const std::string& program, const std::vector<std::string>& arguments) const {
  std::vector<std::string> argv{"/usr/bin/setpriv", "--pdeathsig", "KILL"};
  const std::vector<std::string> started = command(program, arguments);
  argv.insert(argv.end(), started.begin(), started.end());
  return spawn(argv);
}

// A command waits for ever for a cluster that has not started.
void CephServer::run(const std::vector<std::string>& argv) const {
  std::vector<std::string> limited{"/usr/bin/timeout", "120"};
  limited.insert(limited.end(), argv.begin(), argv.end());
  const pid_t pid = spawn(limited);
  int status = -1;
  if (pid > 0) {
    ::waitpid(pid, &status, 0);
  }
  EXPECT_EQ(status, 0) << argv[0] << " has failed:\n" << output();
}

std::string CephServer::output() const {
  constexpr uint64_t kMaxBytes = uint64_t{16} << 20;
  return read_file(folder_ / "out", kMaxBytes).value_or("");
}

void CephServer::kill_gateway() {
  kill_and_wait(gateway_);
  gateway_ = -1;
}

void CephServer::start_gateway() {
  gateway_ = start("/usr/bin/radosgw", {"--name", "client.rgw", "-f"});
  http::Client asking({.base_url = endpoint()});
  const bool has_settled = eventually(
      [&] {
        if (gateway_ > 0 && ::waitpid(gateway_, nullptr, WNOHANG) == gateway_) {
          gateway_ = -1;  // free for another process, which kill_gateway() must not meet
        }
        return gateway_ < 0 || asking.send("GET", "/").has_value();
      },
      std::chrono::milliseconds(20));
  ASSERT_TRUE(has_settled && gateway_ > 0) << "radosgw has not started:\n" << output();
}

std::string CephServer::endpoint() const {
  return fmt::format("http://127.0.0.1:{}", gateway_port_);
}

http::Client CephServer::client() const {
  return http::Client({.base_url = endpoint(),
                       .credentials = {.access_key_id = S3Server::kKeyId,
                                       .secret_access_key = S3Server::kSecret,
                                       .region = S3Server::kRegion}});
}

std::string CephServer::new_bucket() {
  std::string bucket = fmt::format("bucket-{}", ++buckets_);
  const auto made = client().send("PUT", "/" + bucket, {}, "application/octet-stream",
                                  {{"x-amz-content-sha256", http::sha256({})}});
  EXPECT_TRUE(made && made->ok()) << (made ? made->body : made.error().text()) << output();
  return bucket;
}

}  // namespace plimsoll::testing
