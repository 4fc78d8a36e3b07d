#include "query/operations/status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/time.h"
#include "tests/start.h"
#include "tests/unit/query/fleet_fixture.h"

namespace plimsoll::query::status_test {
namespace {

using plimsoll::testing::kStartNs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kHeartbeatNs = 10 * kNsPerSecond;

store::LiveMachine machine(const std::string& id, int64_t last_seen_ns,
                           const std::string& version = "1.0.0") {
  store::LiveMachine made;
  made.attributes.set_id(id);
  made.attributes.set_daemon_version(version);
  made.first_seen_ns = kStartNs - kNsPerHour;
  made.last_seen_ns = last_seen_ns;
  made.heartbeat_ns = kHeartbeatNs;
  return made;
}

StatusFacts healthy() {
  StatusFacts facts;
  facts.server = RunningServer{.version = "1.0.0",
                               .address = "127.0.0.1:7070",
                               .fleet_address = "127.0.0.1:7071",
                               .started_ns = kStartNs - 3 * kNsPerHour,
                               .work = {{.name = "rows", .newest_success_ns = kStartNs - 5 * kNsPerSecond}}};
  facts.store = store::StoreHealth{.profiles_accepted = 10,
                                   .locations = 100,
                                   .locations_without_symbols = 10,
                                   .binaries_found = 3,
                                   .disk_bytes = 1 << 20,
                                   .disk_free_bytes = int64_t{10} << 30};
  facts.machines = {machine("m1", kStartNs), machine("m2", kStartNs)};
  return facts;
}

// "STATE VALUE; DETAIL" of a subject's row.
std::string row_of(const StatusFacts& facts, const std::string& subject) {
  const Table table = status({kStartNs}, facts);
  const auto row =
      std::ranges::find_if(table.rows, [&](const auto& cells) { return cells[0] == Value(subject); });
  if (row == table.rows.end()) {
    return "no row";
  }
  const std::string detail = std::get<std::string>((*row)[3]);
  return std::get<std::string>((*row)[1]) + " " + std::get<std::string>((*row)[2]) +
         (detail.empty() ? "" : "; " + detail);
}

TEST(Status, OfAHealthyServerIsOk) {
  EXPECT_EQ(csv(status({kStartNs}, healthy())),
            "subject,state,value,detail\n"
            "server,ok,\"1.0.0, up 3h\",\"clients: 127.0.0.1:7070, daemons: 127.0.0.1:7071\"\n"
            "daemons,ok,\"2 live, 0 offline\",\n"
            "daemon versions,ok,1.0.0: 2,\n"
            "daemons with problems,ok,0,\n"
            "daemons slowed down,ok,0,\n"
            "spools of daemons,ok,\"0 profiles, 0 B\",\n"
            "draws,ok,none,\n"
            "stops,ok,none,\n"
            "disk,ok,\"1 MiB used, 10 GiB free\",\n"
            "profiles pending,ok,0 of 10,\n"
            "profiles set aside,ok,0,\n"
            "symbols,ok,\"10.00 % of 100 addresses without; binaries: 3 found, 0 pending, 0 missing\",\n"
            "uploads,ok,\"0 accepted, 0 duplicate, 0 refused, 0 failed\",\n"
            "samples lost,ok,0 of 0 (0.00 %),\n"
            "background: rows,ok,last success 5s ago,\n");
}

TEST(Status, NamesFailingBackgroundWork) {
  StatusFacts facts = healthy();
  BackgroundWorkHealth& rows = facts.server->work[0];
  rows.failing_since_ns = kStartNs - 3 * kNsPerSecond;
  rows.last_error_ns = kStartNs - kNsPerSecond;
  rows.last_error = "building rows: disk full";
  rows.errors = 3;
  rows.hint = "free disk space";
  EXPECT_EQ(
      row_of(facts, "background: rows"),
      "failed last success 5s ago, failing for 3s; last error 1s ago: building rows: disk full (errors since "
      "the start: 3); free disk space");
  rows.failing_since_ns = 0;
  EXPECT_EQ(
      row_of(facts, "background: rows"),
      "ok last success 5s ago; last error 1s ago: building rows: disk full (errors since the start: 3)");
}

TEST(Status, NamesBackgroundWorkThatTakesLong) {
  StatusFacts facts = healthy();
  facts.server->work = {
      {.name = "symbols", .running_since_ns = kStartNs - 3 * kNsPerHour, .max_pass_ns = 6 * kNsPerHour}};
  EXPECT_EQ(row_of(facts, "background: symbols"),
            "warning no success yet, running for 3h; one pass takes unusually long");
  facts.server->work[0].max_pass_ns = 2 * kNsPerHour;
  EXPECT_EQ(row_of(facts, "background: symbols"),
            "failed no success yet, running for 3h; one pass is stuck: restart the server, which repeats it");
}

TEST(Status, TellsOfMachinesThatAreOffline) {
  StatusFacts facts = healthy();
  facts.machines[1].last_seen_ns = kStartNs - kNsPerHour;
  EXPECT_THAT(row_of(facts, "daemons"), HasSubstr("warning 1 live, 1 offline; no heartbeat"));
  facts.machines[0].last_seen_ns = kStartNs - kNsPerHour;
  EXPECT_THAT(row_of(facts, "daemons"), HasSubstr("failed 0 live, 2 offline; no heartbeat"));
  facts.server.reset();
  EXPECT_THAT(row_of(facts, "daemons"), HasSubstr("warning")) << "no server, no heartbeats";
  facts.machines.clear();
  EXPECT_THAT(row_of(facts, "daemons"), HasSubstr("warning none registered; start plimsolld"));
}

TEST(Status, TellsOfMixedVersionsAndProblems) {
  StatusFacts facts = healthy();
  facts.machines.push_back(machine("m3", kStartNs, "0.9.0"));
  facts.server->daemons_with_problem = 1;
  facts.server->problem = "m3: no perf events";
  facts.server->daemons_slowed_down = 2;
  EXPECT_THAT(row_of(facts, "daemon versions"), HasSubstr("warning 1.0.0: 2, 0.9.0: 1; "));
  EXPECT_EQ(row_of(facts, "daemons with problems"), "warning 1; m3: no perf events");
  EXPECT_THAT(row_of(facts, "daemons slowed down"), HasSubstr("warning 2; "));
}

TEST(Status, TellsWhichDaemonsCanRecordBurstsWhereDrawsAskForThem) {
  StatusFacts facts = healthy();
  facts.server->can_record_bursts = 2;
  EXPECT_EQ(row_of(facts, "daemons that record bursts"), "no row");
  facts.draws.emplace_back().draw.collects.mutable_bursts()->set_config_bits(0x7f00);
  EXPECT_EQ(row_of(facts, "daemons that record bursts"), "ok 2 can, 0 cannot, 0 did not report");
  facts.server->bursts_not_reported = 1;
  EXPECT_THAT(row_of(facts, "daemons that record bursts"),
              HasSubstr("warning 2 can, 0 cannot, 1 did not report; older daemons"));
  facts.server->cannot_record_bursts = 3;
  facts.server->why_no_bursts = "m3: no tracefs";
  EXPECT_EQ(row_of(facts, "daemons that record bursts"),
            "warning 2 can, 3 cannot, 1 did not report; m3: no tracefs");
}

TEST(Status, TellsOfStops) {
  StatusFacts facts = healthy();
  facts.stops = {{.reason = "latency", .by_hand = true, .since_ns = kStartNs},
                 {.scope = store::StopScope::kPlatform, .value = "zen", .step = store::StopStep::kAll}};
  EXPECT_EQ(row_of(facts, "stops"), "no row");
  EXPECT_EQ(
      row_of(facts, "stop"),
      "warning everything: nothing is measured; by hand since 2027-01-15T08:00:00Z: latency; end it with "
      "plimsoll collection --resume");
}

store::DrawWithMachines drawn(const std::string& id, int64_t due_ns, int answered, int machines) {
  store::DrawWithMachines draw;
  draw.draw.id = id;
  draw.draw.window_start_ns = due_ns - 2 * kNsPerSecond;
  draw.draw.window_ns = kNsPerSecond;
  draw.draw.due_ns = due_ns;
  for (int i = 0; i < machines; ++i) {
    const bool has_answer = i < answered;
    draw.machines.push_back({.machine_id = "m" + std::to_string(i),
                             .window_start_ns = draw.draw.window_start_ns,
                             .answered_ns = has_answer ? due_ns - 1 : 0,
                             .observed_ns = has_answer ? kNsPerSecond : 0});
  }
  return draw;
}

TEST(Status, JudgesTheNewestDrawThatIsDue) {
  StatusFacts facts = healthy();
  facts.draws = {drawn("new", kStartNs + kNsPerSecond, 0, 10)};
  EXPECT_EQ(row_of(facts, "draws"), "ok new: 0 of 10 answered; its results are not due yet");
  facts.draws.push_back(drawn("due", kStartNs - kNsPerSecond, 9, 10));
  EXPECT_EQ(row_of(facts, "draws"), "ok due: 9 of 10 answered");
  facts.draws[1] = drawn("due", kStartNs - kNsPerSecond, 8, 10);
  EXPECT_EQ(row_of(facts, "draws"),
            "warning due: 8 of 10 answered; plimsoll draws due shows the outcome of each machine");
  facts.draws[1] = drawn("due", kStartNs - kNsPerSecond, 0, 10);
  EXPECT_THAT(row_of(facts, "draws"), HasSubstr("failed due: 0 of 10 answered"));
}

TEST(Status, NamesTheCommonestCauseOfMissingApplicationProfiles) {
  StatusFacts facts = healthy();
  facts.draws = {drawn("not-due", kStartNs + kNsPerSecond, 2, 2),
                 drawn("due", kStartNs - kNsPerSecond, 2, 2)};
  EXPECT_EQ(row_of(facts, "application profiles"), "no row") << "no draw asked for any";
  const auto report = [](uint32_t answered) {
    wire::ApplicationKindReport heap;
    heap.set_kind("heap");
    heap.set_endpoints(10);
    heap.set_answered(answered);
    heap.set_cause("the application returned 503");
    heap.set_with_cause(10 - answered);
    return heap;
  };
  facts.draws[0].machines[0].kinds = {report(0)};
  facts.draws[1].machines[0].kinds = {report(9)};
  facts.draws[1].machines[1].kinds = {report(9)};
  EXPECT_EQ(row_of(facts, "application profiles"),
            "ok due: heap: 18 of 20 endpoints on 2 machines answered; commonest cause of the others: the "
            "application "
            "returned 503 (2)");
  facts.draws[1].machines[1].kinds = {report(8)};
  EXPECT_EQ(
      row_of(facts, "application profiles"),
      "warning due: heap: 17 of 20 endpoints on 2 machines answered; commonest cause of the others: the "
      "application returned 503 (3); plimsoll draws due shows the cause on each machine");
}

TEST(Status, JudgesWhatTheDataDirectoryHolds) {
  StatusFacts facts = healthy();
  facts.store->disk_free_bytes = 1000;
  facts.store->profiles_pending = 5000;
  facts.store->profiles_set_aside = 1;
  facts.store->locations_without_symbols = 60;
  EXPECT_THAT(row_of(facts, "disk"), HasSubstr("failed 1 MiB used, 1000 B free"));
  EXPECT_THAT(row_of(facts, "profiles pending"), HasSubstr("warning 5000 of 10"));
  EXPECT_THAT(row_of(facts, "profiles set aside"), HasSubstr("warning 1; "));
  EXPECT_THAT(row_of(facts, "symbols"), HasSubstr("warning 60.00 %"));
  facts.store->disk_free_bytes = 500 << 20;
  EXPECT_THAT(row_of(facts, "disk"), HasSubstr("warning"));
  facts.store.reset();
  facts.store_error = "no such directory";
  EXPECT_EQ(row_of(facts, "data directory"), "failed cannot be measured; no such directory");
  EXPECT_EQ(row_of(facts, "disk"), "no row");
}

StatusFacts with_daemons_costs() {
  StatusFacts facts = healthy();
  for (store::LiveMachine& machine : facts.machines) {
    machine.attributes.set_cores(50);
  }
  facts.server->daemon_cpus = 0.5;
  facts.server->daemon_cpus_limit = 2;
  facts.server->cpus_of_daemon = 0.01;
  facts.server->max_overhead_share = 0.0001;
  return facts;
}

TEST(Status, ComparesWhatDaemonsTakeWithTheirBudgets) {
  StatusFacts facts = with_daemons_costs();
  EXPECT_EQ(
      csv(status({kStartNs, StatusRows::kOverhead}, facts)),
      "budget,state,spent,limit,used_share,detail\n"
      "draw.max_overhead_percent,warning,0.0002,0.0001,2,\"drawn machines are withheld until daemons take "
      "less: draw fewer, shorten collect.window, or raise draw.max_overhead_percent\"\n"
      "daemons' CPU limits,ok,0.005,0.02,0.25,\n");
  EXPECT_THAT(row_of(facts, "overhead"),
              HasSubstr("warning 0.02 % of the fleet's CPU time, max 0.01 % (draw.max_overhead_percent); "));
  facts.server->max_overhead_share = 0.001;
  EXPECT_EQ(row_of(facts, "overhead"), "ok 0.50 % of the fleet's CPU time, max 2.00 % (daemons' CPU limits)");
  facts.machines.clear();
  EXPECT_EQ(status({kStartNs, StatusRows::kOverhead}, facts).rows.size(), 0);
}

TEST(Status, ListsSymbolizerWorkers) {
  StatusFacts facts = healthy();
  EXPECT_EQ(row_of(facts, "symbolizer workers"), "no row") << "there are none";
  EXPECT_THAT(status({kStartNs, StatusRows::kSymbolizer}, facts).notes,
              ::testing::ElementsAre(HasSubstr("no symbolizer worker")));
  facts.server->symbolizers = {{.name = "w1 (rack 7)",
                                .leases = 2,
                                .tables = 30,
                                .failures = 1,
                                .expired = 4,
                                .newest_request_ns = kStartNs,
                                .newest_failure = "0011: crashed"},
                               {.name = "w2 (rack 8)", .tables = 5}};
  EXPECT_EQ(csv(status({kStartNs, StatusRows::kSymbolizer}, facts)),
            "worker,leases,tables,failed,refused,expired,newest_request,newest_failure\n"
            "w1 (rack 7),2,30,1,0,4,2027-01-15T08:00:00Z,0011: crashed\n"
            "w2 (rack 8),0,5,0,0,0,,\n");
  EXPECT_EQ(row_of(facts, "symbolizer workers"), "ok 2; 2 builds leased, 35 tables made");
  facts.server->symbolizers.at(1).refused = 3;
  EXPECT_EQ(
      row_of(facts, "symbolizer workers"),
      "warning 2; 2 builds leased, 35 tables made; 3 of their tables were refused: plimsoll status --by "
      "symbolizer");
}

TEST(Status, ListsBackgroundWorkWithItsLastError) {
  StatusFacts facts = healthy();
  facts.server->work.push_back({.name = "symbols",
                                .failing_since_ns = kStartNs - kNsPerMinute,
                                .errors = 2,
                                .last_error_ns = kStartNs,
                                .last_error = "disk full",
                                .hint = "free disk space"});
  EXPECT_EQ(csv(status({kStartNs, StatusRows::kWork}, facts)),
            "work,state,newest_success,running_since,failing_since,errors,last_error_at,last_error,detail\n"
            "rows,ok,2027-01-15T07:59:55Z,,,0,,,\n"
            "symbols,failed,,,2027-01-15T07:59:00Z,2,2027-01-15T08:00:00Z,disk full,free disk space\n");
  facts.server.reset();
  const Table of_files = status({kStartNs, StatusRows::kWork}, facts);
  EXPECT_EQ(of_files.rows.size(), 0);
  EXPECT_THAT(of_files.notes, ElementsAre("known to a running server only: use --server ADDR"));
}

TEST(Status, ListsViewsByTheirSlowAnswers) {
  StatusFacts facts = healthy();
  facts.server->answers = {
      {.view = "top", .answers = 10, .sum_ns = 10 * kNsPerMs, .p95_max_ns = 5 * kNsPerMs},
      {.view = "sql", .answers = 2, .sum_ns = 30 * kNsPerSecond, .over_1s = 2, .over_10s = 1},
      {.view = "flame"}};
  EXPECT_EQ(csv(status({kStartNs, StatusRows::kQuestion}, facts)),
            "view,answers,mean,p95_max,over_1s,over_10s\n"
            "sql,2,15000000000,,2,1\n"
            "top,10,1000000,5000000,0,0\n");
}

TEST(Status, TellsOfRefusedUploadsAndLostSamples) {
  StatusFacts facts = healthy();
  facts.server->received = {.accepted = 7, .duplicate = 1, .refused = 2, .samples = 90, .lost_samples = 10};
  EXPECT_EQ(
      row_of(facts, "uploads"),
      "ok 7 accepted, 1 duplicate, 2 refused, 0 failed; plimsoll machines has the reason of each machine's "
      "newest refusal");
  EXPECT_THAT(row_of(facts, "samples lost"), HasSubstr("warning 10 of 100 (10.00 %); "));
}

TEST(Status, TakesOneParameter) {
  EXPECT_EQ(parse_status({{"by", "work"}}, 0)->rows, StatusRows::kWork);
  EXPECT_EQ(parse_status({}, 0)->rows, StatusRows::kSubject);
  EXPECT_THAT(parse_status({{"by", "colour"}}, 0).error().text(), HasSubstr("subject, work, question"));
}

TEST(Status, OfADataDirectoryIsWhatItsFilesSay) {
  Fleet fleet;
  fleet.add({.seed = 1});
  fleet.register_machine("m1");
  const auto facts = StatusFacts::load(fleet.path(), *store::open_fleet(fleet.path()), std::nullopt);
  ASSERT_TRUE(facts) << facts.error().text();
  EXPECT_THAT(row_of(*facts, "server"), HasSubstr("ok not asked; "));
  EXPECT_EQ(row_of(*facts, "profiles pending"), "ok 0 of 1");
  EXPECT_THAT(row_of(*facts, "daemons"), HasSubstr("0 live, 1 offline"));
  EXPECT_EQ(row_of(*facts, "daemons with problems"), "no row");
}

}  // namespace
}  // namespace plimsoll::query::status_test
