#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "base/resource_limit.h"
#include "bench/clickhouse/clickhouse_server.h"
#include "bench/fleet/counted_profiles.h"
#include "bench/fleet/daemon_simulator.h"
#include "bench/fleet/every_second.h"
#include "bench/fleet/fleet_load.h"
#include "bench/fleet/hour_before.h"
#include "bench/fleet/parts.h"
#include "bench/fleet/profile_maker.h"
#include "bench/fleet/server_under_test.h"
#include "bench/fleet/split_roles.h"
#include "bench/fleet/table_question.h"
#include "bench/harness/statistics.h"
#include "bench/store/clock.h"
#include "query/table/table.h"

namespace plimsoll::bench {
namespace {

// After the last profile was acknowledged: what has no rows by then counts as that late.
constexpr double kRowsWithinS = 120;

struct RolesLoad {
  uint32_t daemons = 0;
  uint32_t intervals = 0;
  FleetPace pace = {};

  // Of which one in a hundred sends one each minute.
  uint32_t profiles_of_hour() const { return daemons / 100 * 60; }
};

RolesLoad roles_load(const Flags& flags) {
  if (flags.quick) {
    return {1000, 10, {.heartbeat_s = 1, .window_s = 1, .draw_s = 6}};
  }
  return flags.full ? RolesLoad{100'000, 10, {.heartbeat_s = 60, .window_s = 10, .draw_s = 60}}
                    : RolesLoad{10'000, 18, {.heartbeat_s = 10, .window_s = 10, .draw_s = 60}};
}

// What a fleet and users met, and what servers took for it.
struct FleetRun {
  Simulated simulated = {};
  std::vector<double> questions_ms = {};
  double heartbeats_p99_ms = 0;
  double question_p99_ms = 0;
  double primary_cores = 0;
  double ingest_cores = 0;  // of all ingest servers
  double primary_peak_mib = 0;
};

// As on a page that shows the last hour.
class LastHour {
 public:
  explicit LastHour(std::string address) : address_(std::move(address)) {}

  Status ask() {
    const double start_s = now_s();
    const auto answer = ask_for_table(address_, "top?by=job&since=1h");
    took_ms_.push_back((now_s() - start_s) * 1e3);
    return answer ? Status() : propagate(answer);
  }
  std::vector<double> take() { return std::move(took_ms_); }

 private:
  const std::string address_;
  std::vector<double> took_ms_;
};

struct ServersCpu {
  double primary_s = 0;
  double ingest_s = 0;
};

Result<ServersCpu> cpu_of(const FleetServers& servers) {
  const auto primary_s = servers.primary->cpu_s();
  if (!primary_s) {
    return propagate(primary_s);
  }
  ServersCpu cpu{.primary_s = *primary_s};
  for (const ServerUnderTest& server : servers.ingest) {
    const auto ingest_s = server.cpu_s();
    if (!ingest_s) {
      return propagate(ingest_s);
    }
    cpu.ingest_s += *ingest_s;
  }
  return cpu;
}

// Of a fleet that has registered.
Result<FleetRun> run_heartbeats(DaemonSimulator& fleet, uint32_t intervals, const FleetServers& servers) {
  const auto before = cpu_of(servers);
  if (!before) {
    return propagate(before);
  }
  LastHour questions(servers.questions_address());
  EverySecond asking([&] { return questions.ask(); });
  const double start_s = now_s();
  auto simulated = fleet.run(intervals);
  const double elapsed_s = now_s() - start_s;
  const auto after = cpu_of(servers);
  const Status asked = asking.stop();
  Status fine = simulated ? expect_no_failures(*simulated, servers.log_ends()) : propagate(simulated);
  fine = fine ? asked : fine;
  const auto peak_rss_bytes = fine ? servers.primary->peak_rss_bytes() : propagate(fine);
  if (!peak_rss_bytes || !after) {
    return !peak_rss_bytes ? propagate(peak_rss_bytes) : propagate(after);
  }
  FleetRun run{.simulated = std::move(*simulated), .questions_ms = questions.take()};
  run.heartbeats_p99_ms = quantile(run.simulated.latencies_ms, 0.99);
  run.question_p99_ms = quantile(run.questions_ms, 0.99);
  run.primary_cores = (after->primary_s - before->primary_s) / elapsed_s;
  run.ingest_cores = (after->ingest_s - before->ingest_s) / elapsed_s;
  run.primary_peak_mib = static_cast<double>(*peak_rss_bytes) / kMebibyte;
  return run;
}

Result<FleetRun> run_fleet(const RolesLoad& load, const FleetServers& servers, ProfileMaker& profiles) {
  auto fleet = DaemonSimulator::create({.ports = servers.fleet_ports(),
                                        .daemons = load.daemons,
                                        .heartbeat_s = load.pace.heartbeat_s,
                                        .keeps_connections = false},
                                       profiles);
  const auto registered = fleet ? (*fleet)->register_all() : propagate(fleet);
  const Status fine =
      registered ? expect_no_failures(*registered, servers.log_ends()) : propagate(registered);
  if (!fine) {
    return propagate(fine, "registering {} daemons", load.daemons);
  }
  auto run = run_heartbeats(**fleet, load.intervals, servers);
  return run ? std::move(run) : propagate(run, "heartbeats of {} daemons", load.daemons);
}

Result<FleetRun> run_one_server(const RolesLoad& load, ProfileMaker& profiles) {
  const auto server = ServerUnderTest::start(settings_of(load.pace));
  if (!server) {
    return propagate(server);
  }
  const FleetServers servers{.primary = &*server};
  const Status filled = fill_hour_before(load.profiles_of_hour(), servers, profiles);
  return filled ? run_fleet(load, servers, profiles) : propagate(filled);
}

// How long the rows of each profile took, from its acknowledgement on. Goes on looking for those that are not there yet.
Result<std::vector<double>> wait_for_rows(const std::vector<DeliveredProfile>& delivered,
                                          CountedProfiles& counted) {
  const double end_s = now_s() + kRowsWithinS;
  const auto is_counted = [&](const DeliveredProfile& profile) {
    return counted.counted_s(profile.id).has_value();
  };
  while (!std::ranges::all_of(delivered, is_counted) && now_s() < end_s) {
    std::this_thread::sleep_for(std::chrono::seconds(1));
    if (const Status looked = counted.look(); !looked) {
      return propagate(looked);
    }
  }
  std::vector<double> took_s;
  for (const DeliveredProfile& profile : delivered) {
    took_s.push_back(counted.counted_s(profile.id).value_or(end_s) - profile.acknowledged_s);
  }
  return took_s;
}

std::string text_of(const query::Value& value) {
  const auto* const text = std::get_if<std::string>(&value);
  return text == nullptr ? std::string() : *text;
}

// How many of them the server's answer does not count.
Result<uint64_t> lost_profiles(const std::vector<DeliveredProfile>& delivered, const std::string& address) {
  const auto table = ask_for_table(address, "top?by=machine,draw&margins=no&limit=1000000");
  if (!table) {
    return propagate(table);
  }
  const size_t machine = query::column_of(*table, "machine");
  const size_t draw = query::column_of(*table, "draw");
  std::set<std::pair<std::string, std::string>> counted;
  for (const std::vector<query::Value>& row : table->rows) {
    counted.emplace(text_of(row[machine]), text_of(row[draw]));
  }
  uint64_t lost = 0;
  for (const DeliveredProfile& profile : delivered) {
    lost += counted.contains({simulated_machine(profile.machine).id(), profile.draw}) ? 0 : 1;
  }
  return lost;
}

struct RolesRun {
  FleetRun run = {};
  std::vector<double> rows_after_s = {};  // by profile
  uint64_t lost = 0;
};

Result<RolesRun> run_roles(const RolesLoad& load, ProfileMaker& profiles) {
  const auto roles = SplitRoles::start(settings_of(load.pace));
  const Status filled =
      roles ? fill_hour_before(load.profiles_of_hour(), roles->servers(), profiles) : propagate(roles);
  if (!filled) {
    return propagate(filled);
  }
  CountedProfiles counted(roles->clickhouse().options());
  EverySecond looking([&] { return counted.look(); });
  auto run = run_fleet(load, roles->servers(), profiles);
  const Status looked = looking.stop();
  if (!run || !looked) {
    return !run ? propagate(run) : propagate(looked);
  }
  if (run->simulated.delivered.empty()) {
    return fail(ErrorCode::kUnavailable, "no machine was drawn: there is no profile to look for");
  }
  auto rows_after_s = wait_for_rows(run->simulated.delivered, counted);
  const auto lost = rows_after_s
                        ? lost_profiles(run->simulated.delivered, roles->servers().questions_address())
                        : propagate(rows_after_s);
  return lost ? Result<RolesRun>(RolesRun{std::move(*run), std::move(*rows_after_s), *lost})
              : propagate(lost);
}

// Figures that one server without roles has, too.
class ReportBesideOneServer {
 public:
  // Borrows all. `one_server`: not measured where it is absent.
  ReportBesideOneServer(const FleetRun& run, const std::optional<FleetRun>& one_server, Report& report)
      : run_(run), one_server_(one_server), report_(report) {}

  void add(Measurement measurement, double FleetRun::* figure) {
    measurement.value = run_.*figure;
    if (one_server_) {
      measurement.peer = "one server";
      measurement.peer_value = (*one_server_).*figure;
    }
    report_.add(measurement);
  }

 private:
  const FleetRun& run_;
  const std::optional<FleetRun>& one_server_;
  Report& report_;
};

void report_rows(const RolesRun& roles, Report& report) {
  report.add({.name = "roles_lost",
              .value = static_cast<double>(roles.lost),
              .unit = "profiles",
              .goal = 0,
              .note = fmt::format("of {} that were acknowledged", roles.rows_after_s.size())});
  report.add({.name = "roles_visible_after",
              .value = quantile(roles.rows_after_s, 1),
              .unit = "s",
              .goal = 10,
              .note = fmt::format("from the acknowledgement of the slowest of {} profiles until its rows "
                                  "count, looked for once a second; the middle one {:.1f} s",
                                  roles.rows_after_s.size(), median(roles.rows_after_s))});
}

void report_roles(const RolesLoad& load, const RolesRun& roles, const std::optional<FleetRun>& one_server,
                  Report& report) {
  const FleetRun& run = roles.run;
  ReportBesideOneServer beside(run, one_server, report);
  beside.add({.name = "roles_heartbeats_p99",
              .unit = "ms",
              .goal = 50,
              .note = fmt::format("{} daemons every {} s, a connection for each request, to two ingest "
                                  "servers in turn: {}",
                                  load.daemons, load.pace.heartbeat_s, summary_of(run.simulated))},
             &FleetRun::heartbeats_p99_ms);
  report_rows(roles, report);
  beside.add({.name = "roles_question_p99",
              .unit = "ms",
              .goal = 1000,
              .note = fmt::format("top by job of the last hour, {} profiles when heartbeats began: {} "
                                  "questions, the middle one {:.0f} ms, the slowest {:.0f} ms",
                                  load.profiles_of_hour(), run.questions_ms.size(), median(run.questions_ms),
                                  quantile(run.questions_ms, 1))},
             &FleetRun::question_p99_ms);
  beside.add({.name = "roles_primary_cores", .unit = "cores", .note = "ClickHouse not included"},
             &FleetRun::primary_cores);
  report.add({.name = "roles_ingest_cores",
              .value = run.ingest_cores,
              .unit = "cores",
              .note = "both ingest servers together"});
  beside.add({.name = "roles_primary_memory", .unit = "MiB", .note = "the primary's, at its peak"},
             &FleetRun::primary_peak_mib);
}

}  // namespace

Status measure_roles(const Flags& flags, Report& report) {
  if (const Status installed = ClickHouseServer::expect_debian(); !installed) {
    report.skip("roles", installed.error().text());
    return {};
  }
  const RolesLoad load = roles_load(flags);
  const auto files = raise_limit(RLIMIT_NOFILE, load.daemons + kSpareFiles, "open files");
  ProfileMaker profiles;
  const auto roles = files ? run_roles(load, profiles) : propagate(files);
  if (!roles) {
    return propagate(roles, "split roles");
  }
  std::optional<FleetRun> one_server;
  if (!flags.quick) {
    auto run = run_one_server(load, profiles);
    if (!run) {
      return propagate(run, "one server");
    }
    one_server = std::move(*run);
  }
  report_roles(load, *roles, one_server, report);
  return {};
}

}  // namespace plimsoll::bench
