// A ClickHouse, started by a test in a folder of its own, on loopback unless it says where: Debian's, of 2018 (scripts/install.sh --scale), or today's engine behind a
// little HTTP server (chdb_server.mjs; scripts/install.sh --peers).
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/clickhouse/connection.h"
#include "tests/temporary_directory.h"

namespace plimsoll::testing {

enum class ClickHouseEngine { kDebian, kToday };

// Where a server runs that is not on loopback.
struct ClickHousePlace {
  std::string host = "127.0.0.1";  // it listens there, and the test reaches it there
  // The command line that runs another one there, in the process that it is started as. Empty: that one itself.
  std::function<std::vector<std::string>(const std::vector<std::string>& argv)> running = {};
  std::string configuration = {};  // further elements of its configuration
};

// On loopback, free now; a server fails to start if another program takes it before.
int free_port();

class ClickHouseServer {
 public:
  using Engine = ClickHouseEngine;

  // Why there is none, for GTEST_SKIP(); empty: there is.
  static std::string why_missing(Engine engine = Engine::kDebian);
  // One of each for all tests of a program, which ends with it.
  static ClickHouseServer& shared(Engine engine = Engine::kDebian);

  // Debian's alone can be elsewhere. It ends with the thread that starts it.
  explicit ClickHouseServer(Engine engine = Engine::kDebian, ClickHousePlace place = {});
  ClickHouseServer(const ClickHouseServer&) = delete;
  ClickHouseServer& operator=(const ClickHouseServer&) = delete;
  ~ClickHouseServer() { kill(); }

  // With SIGKILL.
  void kill();
  // With what it has stored, on the same port. Returns when it answers.
  void start();

  std::string url() const;
  // Of a database that no other call has got, and that is not made yet.
  store::clickhouse::ConnectionOptions new_database();

 private:
  void write_configuration() const;
  std::vector<std::string> command() const;

  const Engine engine_;
  const ClickHousePlace place_;
  TemporaryDirectory folder_;
  int port_ = 0;
  pid_t pid_ = -1;
  int databases_ = 0;
};

}  // namespace plimsoll::testing
