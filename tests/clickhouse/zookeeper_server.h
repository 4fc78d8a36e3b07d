// A ZooKeeper, started by a test on loopback, with a folder of its own: Debian's (scripts/install.sh --scale).
#pragma once

#include <sys/types.h>

#include <string>

#include "tests/temporary_directory.h"

namespace plimsoll::testing {

class ZooKeeperServer {
 public:
  // Why there is none, for GTEST_SKIP(); empty: there is.
  static std::string why_missing();

  // Begins to start it, which takes its virtual machine a second or two. It ends with the thread that starts it.
  ZooKeeperServer();
  ZooKeeperServer(const ZooKeeperServer&) = delete;
  ZooKeeperServer& operator=(const ZooKeeperServer&) = delete;
  ~ZooKeeperServer();

  int port() const { return port_; }

 private:
  TemporaryDirectory folder_;
  const int port_;
  pid_t pid_ = -1;
};

}  // namespace plimsoll::testing
