// Two ClickHouse servers of Debian with a ZooKeeper, on loopback: replicas.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>

#include "store/clickhouse/connection.h"
#include "tests/clickhouse/clickhouse_server.h"
#include "tests/clickhouse/zookeeper_server.h"

namespace plimsoll::testing {

class ReplicaPair {
 public:
  // Why there is none, for GTEST_SKIP(); empty: there is.
  static std::string why_missing();

  // They end with the thread that starts them.
  ReplicaPair();

  ClickHouseServer& operator[](size_t replica) { return *replicas_[replica]; }
  // Whether both reach ZooKeeper, or will within minutes.
  bool become_ready() const;

  // Of a database of both that no other call has got, and that is not made yet. An insert is for both.
  store::clickhouse::ConnectionOptions new_database();

 private:
  std::unique_ptr<ClickHouseServer> start_replica(size_t replica) const;

  const ZooKeeperServer zookeeper_;
  const std::array<std::unique_ptr<ClickHouseServer>, 2> replicas_;
};

}  // namespace plimsoll::testing
