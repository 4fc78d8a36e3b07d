#include "query/operations/status.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/time.h"
#include "query/operations/application_kinds.h"
#include "query/operations/collection.h"
#include "query/operations/machines.h"
#include "query/operations/status_parts.h"
#include "store/draws/draw_outcome.h"
#include "store/fleet.h"

namespace plimsoll::query {
namespace {

// Less free disk space is a warning, or too little for the next segments.
constexpr int64_t kLittleDiskBytes = int64_t{1} << 30;
constexpr int64_t kNoDiskBytes = int64_t{64} << 20;
// Several batches of Ingest::build_pending(): rows do not keep up with profiles.
constexpr int64_t kManyPending = 1000;
constexpr double kManyWithoutSymbols = 0.2;
constexpr double kFewAnswers = 0.9;
constexpr double kManyLost = 0.05;
constexpr size_t kShownVersions = 5;
constexpr size_t kShownStops = 5;
constexpr size_t kNewestDraws = 20;

enum class RowState : uint8_t { kOk, kWarning, kFailed };

std::string name_of_state(RowState state) {
  return state == RowState::kOk ? "ok" : state == RowState::kWarning ? "warning" : std::string(kFailedState);
}

class StatusTable {
 public:
  void add(std::string subject, RowState state, std::string value, std::string detail = {}) {
    table_.rows.push_back({std::move(subject), name_of_state(state), std::move(value), std::move(detail)});
  }
  // The detail is for rows that are not ok.
  void judge(std::string subject, RowState state, std::string value, std::string detail) {
    add(std::move(subject), state, std::move(value), state == RowState::kOk ? "" : std::move(detail));
  }
  Table table() && { return std::move(table_); }

 private:
  Table table_{.event = {},
               .notes = {},
               .columns = {{"subject", ""}, {std::string(kStatusColumn), ""}, {"value", ""}, {"detail", ""}},
               .rows = {},
               .coverage = {}};
};

// In one unit, two digits or more of it: "95s", "100m", "30h", "4d".
std::string age_text(int64_t age_ns) {
  constexpr int64_t kDayNs = 24 * kNsPerHour;
  const int64_t age = std::max<int64_t>(age_ns, 0);
  return age < 2 * kNsPerMinute ? fmt::format("{}s", age / kNsPerSecond)
         : age < 2 * kNsPerHour ? fmt::format("{}m", age / kNsPerMinute)
         : age < 2 * kDayNs     ? fmt::format("{}h", age / kNsPerHour)
                                : fmt::format("{}d", age / kDayNs);
}

std::string bytes_text(int64_t bytes) {
  return readable(static_cast<double>(bytes), "bytes");
}

void add_server(const StatusRequest& request, const StatusFacts& facts, StatusTable& rows) {
  if (!facts.server) {
    rows.add("server", RowState::kOk, "not asked",
             "known from files only; use --server ADDR to see problems of daemons and background work");
    return;
  }
  const RunningServer& server = *facts.server;
  rows.add("server", RowState::kOk,
           fmt::format("{}, up {}", server.version, age_text(request.now_ns - server.started_ns)),
           fmt::format("clients: {}, daemons: {}", server.address, server.fleet_address));
}

void add_versions(const std::map<std::string, int64_t>& live_by_version, StatusTable& rows) {
  std::vector<std::pair<int64_t, std::string>> versions;  // the most frequent first
  for (const auto& [version, machines] : live_by_version) {
    versions.emplace_back(-machines, version);
  }
  std::ranges::sort(versions);
  std::string text;
  for (size_t i = 0; i < std::min(versions.size(), kShownVersions); ++i) {
    text += fmt::format("{}{}: {}", i == 0 ? "" : ", ", versions[i].second, -versions[i].first);
  }
  if (versions.size() > kShownVersions) {
    text += fmt::format(", {} more", versions.size() - kShownVersions);
  }
  if (!versions.empty()) {
    rows.judge("daemon versions", versions.size() > 1 ? RowState::kWarning : RowState::kOk, text,
               "plimsoll machines lists them; update the daemons of older versions");
  }
}

// Where draws ask for bursts: whether daemons can record any.
void add_burst_daemons(const StatusFacts& facts, const RunningServer& server, StatusTable& rows) {
  const bool are_wanted =
      std::ranges::any_of(facts.draws, [](const auto& drawn) { return drawn.draw.collects.has_bursts(); });
  if (!are_wanted) {
    return;
  }
  const bool can_all = server.cannot_record_bursts + server.bursts_not_reported == 0;
  rows.judge(
      "daemons that record bursts", can_all ? RowState::kOk : RowState::kWarning,
      fmt::format("{} can, {} cannot, {} did not report", server.can_record_bursts,
                  server.cannot_record_bursts, server.bursts_not_reported),
      server.cannot_record_bursts > 0 ? server.why_no_bursts : "older daemons do not report: upgrade them");
}

// The budget that is used up most.
void add_overhead(const StatusRequest& request, const StatusFacts& facts, StatusTable& rows) {
  const std::vector<OverheadBudgetUse> budgets = overhead_budgets(request, facts);
  const auto highest = std::ranges::max_element(
      budgets, {}, [](const OverheadBudgetUse& budget) { return budget.spent / budget.limit; });
  if (highest == budgets.end()) {
    return;
  }
  rows.judge("overhead", highest->is_over() ? RowState::kWarning : RowState::kOk,
             fmt::format("{} of the fleet's CPU time, max {} ({})", readable(highest->spent, "share"),
                         readable(highest->limit, "share"), highest->name),
             highest->what_to_do);
}

void add_uploads(const RunningServer& server, StatusTable& rows) {
  const ReceivedUploads& received = server.received;
  rows.add("uploads", RowState::kOk,
           fmt::format("{} accepted, {} duplicate, {} refused, {} failed", received.accepted,
                       received.duplicate, received.refused, received.failed),
           received.refused > 0 ? "plimsoll machines has the reason of each machine's newest refusal" : "");
  const int64_t taken = received.samples + received.lost_samples;
  const double lost =
      taken == 0 ? 0 : static_cast<double>(received.lost_samples) / static_cast<double>(taken);
  rows.judge("samples lost", lost > kManyLost ? RowState::kWarning : RowState::kOk,
             fmt::format("{} of {} ({})", received.lost_samples, taken, readable(lost, "share")),
             "kernels could not hand them over: lower collect.rate, or raise the memory of daemons");
}

void add_symbolizers(const RunningServer& server, StatusTable& rows) {
  if (server.symbolizers.empty()) {
    return;
  }
  int64_t leases = 0;
  int64_t tables = 0;
  int64_t bad = 0;
  for (const SymbolizerWorkerHealth& worker : server.symbolizers) {
    leases += worker.leases;
    tables += worker.tables;
    bad += worker.refused;
  }
  rows.judge("symbolizer workers", bad > 0 ? RowState::kWarning : RowState::kOk,
             fmt::format("{}; {} builds leased, {} tables made", server.symbolizers.size(), leases, tables),
             fmt::format("{} of their tables were refused: plimsoll status --by symbolizer", bad));
}

void add_daemons(const StatusRequest& request, const StatusFacts& facts, StatusTable& rows) {
  int64_t live = 0;
  int64_t offline = 0;
  std::map<std::string, int64_t> live_by_version;
  for (const store::LiveMachine& machine : facts.machines) {
    if (machine.first_seen_ns == 0) {
      continue;  // of the inventory alone
    }
    const bool is_live = machine.is_live(request.now_ns);
    ++(is_live ? live : offline);
    live_by_version[machine.attributes.daemon_version()] += is_live ? 1 : 0;
  }
  std::erase_if(live_by_version, [](const auto& version) { return version.second == 0; });
  if (live + offline == 0) {
    rows.add("daemons", RowState::kWarning, "none registered",
             "start plimsolld on the machines, with the server's address for daemons");
    return;
  }
  // Without a server every machine is offline.
  const bool has_failed = live == 0 && facts.server;
  rows.judge("daemons",
             has_failed    ? RowState::kFailed
             : offline > 0 ? RowState::kWarning
                           : RowState::kOk,
             fmt::format("{} live, {} offline", live, offline),
             "no heartbeat in the last three intervals; plimsoll machines lists them");
  add_versions(live_by_version, rows);
  if (facts.server) {
    const RunningServer& server = *facts.server;
    rows.judge("daemons with problems", server.daemons_with_problem > 0 ? RowState::kWarning : RowState::kOk,
               std::to_string(server.daemons_with_problem), server.problem);
    rows.judge("daemons slowed down", server.daemons_slowed_down > 0 ? RowState::kWarning : RowState::kOk,
               std::to_string(server.daemons_slowed_down),
               "they collect fewer samples to stay within their limits of CPU time and memory");
    add_burst_daemons(facts, server, rows);
    add_overhead(request, facts, rows);
    rows.add("spools of daemons", RowState::kOk,
             fmt::format("{} profiles, {}", server.profiles_queued, bytes_text(server.spooled_bytes)));
  }
}

// The newest draw of which all results are due; without one, the newest.
void add_draws(const StatusRequest& request, const StatusFacts& facts, StatusTable& rows) {
  if (facts.draws.empty()) {
    rows.add("draws", RowState::kOk, "none");
    return;
  }
  const auto due = std::ranges::find_if(
      facts.draws, [&](const auto& drawn) { return drawn.draw.due_ns <= request.now_ns; });
  const auto& [draw, machines] = due == facts.draws.end() ? facts.draws.front() : *due;
  const auto answered = std::ranges::count_if(machines, [&](const store::DrawnMachine& machine) {
    return store::has_answer(store::outcome_of(draw, machine, request.now_ns));
  });
  const auto drawn = static_cast<int64_t>(machines.size());
  const std::string value = fmt::format("{}: {} of {} answered", draw.id, answered, drawn);
  const bool is_due = due != facts.draws.end();
  const RowState state = !is_due || drawn == 0 ? RowState::kOk
                         : answered == 0       ? RowState::kFailed
                         : static_cast<double>(answered) < kFewAnswers * static_cast<double>(drawn)
                             ? RowState::kWarning
                             : RowState::kOk;
  rows.add("draws", state, value,
           !is_due                  ? "its results are not due yet"
           : state == RowState::kOk ? ""
                                    : "plimsoll draws " + draw.id + " shows the outcome of each machine");
}

// Of kinds of application profiles: the newest draw with any, of those of which all results are due.
void add_application_kinds(const StatusRequest& request, const StatusFacts& facts, StatusTable& rows) {
  for (const auto& [draw, machines] : facts.draws) {
    const std::vector<KindCoverage> coverages = kind_coverage(machines);
    if (coverages.empty() || draw.due_ns > request.now_ns) {
      continue;
    }
    const auto worst = std::ranges::min_element(coverages, {}, [](const KindCoverage& coverage) {
      return coverage.endpoints == 0
                 ? 1.0
                 : static_cast<double>(coverage.answered) / static_cast<double>(coverage.endpoints);
    });
    const bool are_few =
        static_cast<double>(worst->answered) < kFewAnswers * static_cast<double>(worst->endpoints);
    rows.judge("application profiles", are_few ? RowState::kWarning : RowState::kOk,
               fmt::format("{}: {}", draw.id, text_of(*worst)),
               "plimsoll draws " + draw.id + " shows the cause on each machine");
    return;
  }
}

void add_stops(const StatusFacts& facts, StatusTable& rows) {
  std::vector<store::Stop> stops = facts.stops;
  std::erase_if(stops, [](const store::Stop& stop) { return stop.step == store::StopStep::kAll; });
  if (stops.empty()) {
    rows.add("stops", RowState::kOk, "none");
  }
  for (size_t i = 0; i < std::min(stops.size(), kShownStops); ++i) {
    const store::Stop& stop = stops[i];
    rows.add("stop", RowState::kWarning, fmt::format("{}: {} is measured", name_of(stop), name_of(stop.step)),
             fmt::format("{} since {}: {}; end it with plimsoll collection --resume",
                         stop.by_hand ? "by hand" : "after failures",
                         format_time(stop.since_ns / kNsPerSecond * kNsPerSecond), stop.reason));
  }
  if (stops.size() > kShownStops) {
    rows.add("stop", RowState::kWarning, fmt::format("{} more", stops.size() - kShownStops),
             "plimsoll collection lists them");
  }
}

void add_profiles(const store::StoreHealth& store, StatusTable& rows) {
  rows.judge("profiles pending", store.profiles_pending > kManyPending ? RowState::kWarning : RowState::kOk,
             fmt::format("{} of {}", store.profiles_pending, store.profiles_accepted),
             "accepted, and not in answers yet: the server builds rows slower than profiles arrive");
  rows.judge("profiles set aside", store.profiles_set_aside > 0 ? RowState::kWarning : RowState::kOk,
             std::to_string(store.profiles_set_aside),
             "no rows can be built from them; the server's log has the reason of each");
  if (store.blocks_unreadable > 0) {
    rows.judge(
        "damaged blocks", RowState::kWarning, std::to_string(store.blocks_unreadable),
        fmt::format("left out of results: {}; rebuild from raw profiles: plimsoll store repair --rebuild",
                    store.why_unreadable));
  }
}

void add_symbols(const store::StoreHealth& store, StatusTable& rows) {
  const double share = store.locations == 0 ? 0
                                            : static_cast<double>(store.locations_without_symbols) /
                                                  static_cast<double>(store.locations);
  rows.judge("symbols", share > kManyWithoutSymbols ? RowState::kWarning : RowState::kOk,
             fmt::format("{} of {} addresses without; binaries: {} found, {} pending, {} missing",
                         readable(share, "share"), store.locations, store.binaries_found,
                         store.binaries_pending, store.binaries_missing),
             "the notes of plimsoll top name the binaries and the reasons (docs/symbolizing.md)");
}

void add_store(const StatusFacts& facts, StatusTable& rows) {
  if (!facts.store_error.empty()) {
    rows.add("data directory", RowState::kFailed, "cannot be measured", facts.store_error);
  }
  if (!facts.store) {
    return;
  }
  const store::StoreHealth& store = *facts.store;
  const bool is_little =
      store.disk_free_bytes < kLittleDiskBytes || store.disk_free_bytes < store.disk_bytes / 10;
  rows.judge("disk",
             store.disk_free_bytes < kNoDiskBytes ? RowState::kFailed
             : is_little                          ? RowState::kWarning
                                                  : RowState::kOk,
             fmt::format("{} used, {} free", bytes_text(store.disk_bytes), bytes_text(store.disk_free_bytes)),
             "free disk space in the file system of the data directory, or move it to a larger one");
  add_profiles(store, rows);
  add_symbols(store, rows);
}

std::string value_of(const BackgroundWorkHealth& work, int64_t now_ns) {
  std::string value = work.newest_success_ns == 0
                          ? "no success yet"
                          : "last success " + age_text(now_ns - work.newest_success_ns) + " ago";
  if (work.is_failing()) {
    value += ", failing for " + age_text(now_ns - work.failing_since_ns);
  }
  if (work.running_since_ns != 0) {
    value += ", running for " + age_text(now_ns - work.running_since_ns);
  }
  return value;
}

std::string detail_of(const BackgroundWorkHealth& work, int64_t now_ns) {
  std::string detail = work.is_stuck(now_ns)  ? "one pass is stuck: restart the server, which repeats it"
                       : work.is_long(now_ns) ? "one pass takes unusually long"
                                              : "";
  if (work.last_error_ns != 0) {
    detail += fmt::format("{}last error {} ago: {} (errors since the start: {})", detail.empty() ? "" : "; ",
                          age_text(now_ns - work.last_error_ns), work.last_error, work.errors);
  }
  return work.is_failing() ? detail + "; " + work.hint : detail;
}

void add_work(const StatusRequest& request, const RunningServer& server, StatusTable& rows) {
  for (const BackgroundWorkHealth& work : server.work) {
    const RowState state = work.is_failing() || work.is_stuck(request.now_ns) ? RowState::kFailed
                           : work.is_long(request.now_ns)                     ? RowState::kWarning
                                                                              : RowState::kOk;
    rows.add("background: " + work.name, state, value_of(work, request.now_ns),
             detail_of(work, request.now_ns));
  }
}

}  // namespace

Result<StatusRequest> parse_status(const Parameters& parameters, int64_t now_ns) {
  constexpr std::pair<std::string_view, StatusRows> kRows[] = {{"subject", StatusRows::kSubject},
                                                               {"work", StatusRows::kWork},
                                                               {"question", StatusRows::kQuestion},
                                                               {"overhead", StatusRows::kOverhead},
                                                               {"symbolizer", StatusRows::kSymbolizer}};
  StatusRequest request{.now_ns = now_ns};
  const Parameter by{"by", [&](const std::string& text) -> Status {
                       const auto* const row =
                           std::ranges::find(kRows, text, &std::pair<std::string_view, StatusRows>::first);
                       if (row == std::end(kRows)) {
                         return invalid_parameter("by", text,
                                                  "subject, work, question, overhead or symbolizer");
                       }
                       request.rows = row->second;
                       return {};
                     }};
  const auto read = read_parameters(parameters, std::span(&by, 1));
  return read ? Result<StatusRequest>(request) : propagate(read);
}

Result<StatusFacts> StatusFacts::load(const std::string& data_dir, const store::Fleet& fleet,
                                      std::optional<RunningServer> server) {
  StatusFacts facts;
  if (server) {
    facts.store = server->store;
    facts.store_error = server->store_error;
  } else {
    auto meter = store::StoreHealthMeter::open(data_dir);
    const auto measured = meter ? meter->measure() : propagate(meter);
    if (!measured) {
      return propagate(measured);
    }
    facts.store = *measured;
  }
  facts.server = std::move(server);
  auto machines = fleet.machines();
  if (!machines) {
    return propagate(machines);
  }
  facts.machines = std::move(*machines);
  DrawsRequest newest;
  newest.limit = kNewestDraws;
  auto known = KnownDraws::load(newest, fleet);
  if (!known) {
    return propagate(known);
  }
  facts.draws = std::move(known->draws);
  facts.stops = std::move(known->stops);
  return facts;
}

Table status(const StatusRequest& request, const StatusFacts& facts) {
  switch (request.rows) {
    case StatusRows::kWork:
      return background_work(request, facts);
    case StatusRows::kQuestion:
      return answered_views(facts);
    case StatusRows::kOverhead:
      return overhead(request, facts);
    case StatusRows::kSymbolizer:
      return symbolizers(facts);
    case StatusRows::kSubject:
      break;
  }
  StatusTable rows;
  add_server(request, facts, rows);
  add_daemons(request, facts, rows);
  add_draws(request, facts, rows);
  add_application_kinds(request, facts, rows);
  add_stops(facts, rows);
  add_store(facts, rows);
  if (facts.server) {
    add_uploads(*facts.server, rows);
    add_symbolizers(*facts.server, rows);
    add_work(request, *facts.server, rows);
  }
  return std::move(rows).table();
}

}  // namespace plimsoll::query
