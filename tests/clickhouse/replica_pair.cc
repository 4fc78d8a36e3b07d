#include "tests/clickhouse/replica_pair.h"

#include <fmt/format.h>

#include <algorithm>

#include "tests/eventually.h"

namespace plimsoll::testing {

using store::clickhouse::ConnectionOptions;

std::string ReplicaPair::why_missing() {
  const std::string why = ClickHouseServer::why_missing();
  return why.empty() ? ZooKeeperServer::why_missing() : why;
}

ReplicaPair::ReplicaPair() : replicas_{start_replica(0), start_replica(1)} {}

// A replica that is not the leader of a table sends it what it is to drop, over the other protocol.
std::unique_ptr<ClickHouseServer> ReplicaPair::start_replica(size_t replica) const {
  return std::make_unique<ClickHouseServer>(
      ClickHouseEngine::kDebian,
      ClickHousePlace{.configuration = fmt::format(
                          "<tcp_port>{}</tcp_port><interserver_http_port>{}</interserver_http_port>"
                          "<interserver_http_host>127.0.0.1</interserver_http_host>"
                          "<zookeeper><node index=\"1\"><host>127.0.0.1</host><port>{}</port></node>"
                          "<session_timeout_ms>3000</session_timeout_ms></zookeeper>"
                          "<macros><replica>replica_{}</replica></macros>",
                          free_port(), free_port(), zookeeper_.port(), replica)});
}

bool ReplicaPair::become_ready() const {
  return std::ranges::all_of(replicas_, [](const auto& replica) {
    store::clickhouse::Connection connection({.base_url = replica->url(), .max_attempts = 1});
    return eventually(
        [&] { return connection.query("SELECT count() FROM system.zookeeper WHERE path = '/'").has_value(); },
        std::chrono::milliseconds(100));
  });
}

ConnectionOptions ReplicaPair::new_database() {
  auto options = replicas_[0]->new_database();
  options.further_urls = {replicas_[1]->url()};
  options.insert_quorum = 2;
  options.first_pause_ns = ConnectionOptions().first_pause_ns;  // replicas need time to follow each other
  return options;
}

}  // namespace plimsoll::testing
