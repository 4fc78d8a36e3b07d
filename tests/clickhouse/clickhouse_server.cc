#include "tests/clickhouse/clickhouse_server.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <fstream>
#include <memory>
#include <utility>

#include "base/spawn_settings.h"
#include "http/address.h"
#include "http/client.h"
#include "tests/eventually.h"
#include "tests/places.h"

namespace plimsoll::testing {
namespace {

constexpr const char* kProgram = "/usr/sbin/clickhouse-server";

// Of any address: it listens on loopback, or in a network of its test's.
constexpr std::string_view kUsers = R"(<yandex>
<profiles><default><max_memory_usage>2000000000</max_memory_usage></default></profiles>
<quotas><default></default></quotas>
<users>
<default><password></password><networks><ip>::/0</ip></networks>
<profile>default</profile><quota>default</quota></default>
<writer><password>secret</password><networks><ip>::/0</ip></networks>
<profile>default</profile><quota>default</quota></writer>
</users>
</yandex>
)";

std::string packages() {
  return built_file("../bench-packages");
}

}  // namespace

int free_port() {
  const auto socket = http::listen_on("127.0.0.1:0", false);
  EXPECT_TRUE(socket) << socket.error().text();
  return socket ? socket->port : 0;
}

std::string ClickHouseServer::why_missing(Engine engine) {
  if (engine == Engine::kToday) {
    return ::access((packages() + "/node_modules/chdb").c_str(), R_OK) == 0
               ? ""
               : "no chDB: scripts/install.sh --peers installs it";
  }
  return ::access(kProgram, X_OK) == 0 ? "" : "no clickhouse-server: scripts/install.sh --scale installs it";
}

ClickHouseServer& ClickHouseServer::shared(Engine engine) {
  static std::array<std::unique_ptr<ClickHouseServer>, 2> servers;
  auto& server = servers[static_cast<size_t>(engine)];
  if (server == nullptr) {
    server = std::make_unique<ClickHouseServer>(engine);
  }
  return *server;
}

ClickHouseServer::ClickHouseServer(Engine engine, ClickHousePlace place)
    : engine_(engine), place_(std::move(place)), port_(free_port()) {
  write_configuration();
  start();
}

std::vector<std::string> ClickHouseServer::command() const {
  std::vector<std::string> command{"/usr/bin/setpriv", "--pdeathsig", "KILL"};
  if (engine_ == Engine::kToday) {
    command.insert(command.end(), {"/usr/bin/node", source_file("tests/clickhouse/chdb_server.mjs"),
                                   packages(), folder_.path(), fmt::format("{}", port_)});
  } else {
    const std::vector<std::string> server{kProgram, "--config-file=" + (folder_ / "config.xml")};
    const std::vector<std::string> there = place_.running ? place_.running(server) : server;
    command.insert(command.end(), there.begin(), there.end());
  }
  return command;
}

void ClickHouseServer::write_configuration() const {
  std::ofstream(folder_ / "users.xml") << kUsers;
  std::ofstream(folder_ / "config.xml") << fmt::format(
      "<yandex><logger><level>error</level><log>{0}/log</log><errorlog>{0}/errors</errorlog></logger>\n"
      "<http_port>{1}</http_port><listen_host>{2}</listen_host>\n"
      "<path>{0}/data/</path><tmp_path>{0}/tmp/</tmp_path><users_config>{0}/users.xml</users_config>\n"
      "<default_profile>default</default_profile><default_database>default</default_database>\n"
      "<mark_cache_size>67108864</mark_cache_size><uncompressed_cache_size>67108864</"
      "uncompressed_cache_size>\n"
      "<timezone>UTC</timezone>{3}</yandex>\n",
      folder_.path(), port_, place_.host, place_.configuration);
}

// It ends with the test, however that ends.
void ClickHouseServer::start() {
  SpawnSettings settings;
  settings.open(STDOUT_FILENO, folder_ / "out", O_WRONLY | O_CREAT | O_APPEND, 0600);
  settings.duplicate(STDOUT_FILENO, STDERR_FILENO);
  const auto started = settings.start(command(), false);
  ASSERT_TRUE(started) << started.error().text();
  pid_ = *started;
  http::Client client({.base_url = url()});
  const bool has_settled = eventually([&] {
    const auto answer = client.send("GET", "/ping");
    if (::waitpid(pid_, nullptr, WNOHANG) == pid_) {
      pid_ = -1;  // free for another process, which kill() must not meet
    }
    return (answer && answer->status == 200) || pid_ < 0;
  });
  ASSERT_TRUE(has_settled && pid_ > 0) << "clickhouse-server has not started";
  const auto answer = client.send("GET", "/ping");
  ASSERT_TRUE(answer && answer->body == "Ok.\n") << "clickhouse-server does not answer";
}

void ClickHouseServer::kill() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
}

std::string ClickHouseServer::url() const {
  return fmt::format("http://{}:{}", place_.host, port_);
}

store::clickhouse::ConnectionOptions ClickHouseServer::new_database() {
  return {.base_url = url(),
          .database = fmt::format("d{}", ++databases_),
          .user = "writer",
          .password = "secret",
          .first_pause_ns = 1'000'000};
}

}  // namespace plimsoll::testing
