#include <fmt/format.h>

#include <optional>

#include "base/resource_limit.h"
#include "bench/fleet/daemon_simulator.h"
#include "bench/fleet/fleet_load.h"
#include "bench/fleet/parts.h"
#include "bench/fleet/secured_fleet.h"
#include "bench/fleet/server_under_test.h"
#include "bench/harness/statistics.h"
#include "bench/store/clock.h"

namespace plimsoll::bench {
namespace {

struct FleetLoad {
  std::string name;
  uint32_t daemons;
  double heartbeat_s;
  uint32_t intervals;
  bool keeps_connections;
  bool is_secured;  // by TLS and tokens
};

// A window is as long as an interval of heartbeats, and a draw comes every six of them.
std::string settings_for(const FleetLoad& load, const std::optional<SecuredFleet>& secured) {
  return (secured ? secured->settings() : "") +
         settings_of(
             {.heartbeat_s = load.heartbeat_s, .window_s = load.heartbeat_s, .draw_s = 6 * load.heartbeat_s});
}

// With the end of the server's log where daemons met failures.
Status check(const Simulated& simulated, const ServerUnderTest& server) {
  return expect_no_failures(simulated, fmt::format("the server's log ends with: {}", server.log_end()));
}

void add(const FleetLoad& load, const Simulated& simulated, double cores, uint64_t peak_rss_bytes,
         Report& report) {
  const std::string what =
      fmt::format("{} daemons every {} s, {}", load.daemons, load.heartbeat_s,
                  load.keeps_connections ? "each on its connection" : "a connection for each request") +
      (load.is_secured ? ", over TLS, known by tokens" : "");
  report.add({.name = load.name + "_p99",
              .value = quantile(simulated.latencies_ms, 0.99),
              .unit = "ms",
              .goal = 50,
              .note = fmt::format("{}: {}", what, summary_of(simulated))});
  report.add({.name = load.name + "_server", .value = cores, .unit = "cores", .goal = 1, .note = what});
  report.add({.name = load.name + "_memory",
              .value = static_cast<double>(peak_rss_bytes) / kMebibyte,
              .unit = "MiB",
              .goal = 500,
              .note = "the server's, at its peak"});
}

Status measure(const FleetLoad& load, Report& report) {
  const auto files = raise_limit(RLIMIT_NOFILE, load.daemons + kSpareFiles, "open files");
  std::optional<SecuredFleet> secured;
  if (load.is_secured) {
    auto made = SecuredFleet::make();
    if (!made) {
      return propagate(made);
    }
    secured.emplace(std::move(*made));
  }
  auto server = files ? ServerUnderTest::start(settings_for(load, secured)) : propagate(files);
  if (!server) {
    return propagate(server);
  }
  ProfileMaker profiles;
  auto simulator = DaemonSimulator::create({.ports = {server->fleet_port()},
                                            .daemons = load.daemons,
                                            .heartbeat_s = load.heartbeat_s,
                                            .keeps_connections = load.keeps_connections,
                                            .secured = secured ? &*secured : nullptr},
                                           profiles);
  const auto registered = simulator ? (*simulator)->register_all() : propagate(simulator);
  if (auto fine = registered ? check(*registered, *server) : propagate(registered); !fine) {
    return propagate(fine, "registering {} daemons", load.daemons);
  }
  const auto cpu_before_s = server->cpu_s();
  const double start_s = now_s();
  const auto simulated = cpu_before_s ? (*simulator)->run(load.intervals) : propagate(cpu_before_s);
  if (auto fine = simulated ? check(*simulated, *server) : propagate(simulated); !fine) {
    return propagate(fine, "heartbeats of {} daemons", load.daemons);
  }
  const double elapsed_s = now_s() - start_s;
  const auto cpu_s = server->cpu_s();
  const auto peak_rss_bytes = cpu_s ? server->peak_rss_bytes() : propagate(cpu_s);
  if (!peak_rss_bytes) {
    return propagate(peak_rss_bytes);
  }
  add(load, *simulated, (*cpu_s - *cpu_before_s) / elapsed_s, *peak_rss_bytes, report);
  return {};
}

}  // namespace

Status measure_heartbeats(const Flags& flags, Report& report) {
  const uint32_t daemons = flags.quick ? 1000 : 10'000;
  const double heartbeat_s = flags.quick ? 1 : 10;
  const uint32_t intervals = flags.quick ? 5 : 18;
  const Status plain = measure({"heartbeats", daemons, heartbeat_s, intervals, true, false}, report);
  return plain ? measure({"heartbeats_tls", daemons, heartbeat_s, intervals, true, true}, report) : plain;
}

Status measure_short_heartbeats(const Flags& flags, Report& report) {
  const std::string name = "heartbeats_short";
  if (flags.quick) {
    return measure({name, 1000, 1, 5, false, false}, report);
  }
  return flags.full ? measure({name, 100'000, 60, 10, false, false}, report)
                    : measure({name, 10'000, 10, 6, false, false}, report);
}

}  // namespace plimsoll::bench
