#include "bench/fleet/split_roles.h"

#include <fmt/format.h>

namespace plimsoll::bench {
namespace {

constexpr size_t kIngestServers = 2;

}  // namespace

std::vector<uint16_t> FleetServers::fleet_ports() const {
  std::vector<uint16_t> ports;
  for (const ServerUnderTest& server : ingest) {
    ports.push_back(server.fleet_port());
  }
  if (ports.empty()) {
    ports.push_back(primary->fleet_port());
  }
  return ports;
}

std::string FleetServers::questions_address() const {
  return fmt::format("127.0.0.1:{}", primary->people_port());
}

std::string FleetServers::log_ends() const {
  std::string text = fmt::format("the server's log ends with: {}", primary->log_end());
  for (const ServerUnderTest& server : ingest) {
    text += fmt::format("\nthe log of an ingest server ends with: {}", server.log_end());
  }
  return text;
}

Result<SplitRoles> SplitRoles::start(const std::string& settings) {
  auto folder = ScratchFolder::create();
  auto clickhouse = folder ? ClickHouseServer::start_debian(*folder / "clickhouse") : propagate(folder);
  auto primary = clickhouse ? ServerUnderTest::start(settings + fmt::format("[store]\naddress = \"{}\"\n",
                                                                            clickhouse->address()))
                            : propagate(clickhouse);
  if (!primary) {
    return propagate(primary);
  }
  SplitRoles roles(std::move(*folder), std::move(*clickhouse), std::move(*primary));
  const Status started = roles.start_ingest();
  return started ? Result<SplitRoles>(std::move(roles)) : propagate(started);
}

Status SplitRoles::start_ingest() {
  const std::string settings = fmt::format("[ingest]\nserver = \"127.0.0.1:{}\"\n", primary_.fleet_port());
  while (ingest_.size() < kIngestServers) {
    auto server = ServerUnderTest::start(settings, ServerRole::kIngest);
    if (!server) {
      return propagate(server, "starting an ingest server");
    }
    ingest_.push_back(std::move(*server));
  }
  return {};
}

}  // namespace plimsoll::bench
