// The tables beside samples.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "query/sql/sql.h"
#include "tests/unit/query/sql_fixture.h"

namespace plimsoll::query {
namespace {

using SqlTableTest = SqlTest;

TEST_F(SqlTableTest, TotalsAddUpToTheRows) {
  add_profiles();
  const std::string sums =
      "SELECT event, unit, machine, draw, from_time, to_time, from_ns, to_ns, sum(hits), sum(value), "
      "CAST(sum(samples) AS INTEGER) FROM {} {} GROUP BY 1, 2, 3, 4, 5, 6, 7, 8 ORDER BY 1, 3, 7";
  const std::string of_rows = answer(fmt::format(fmt::runtime(sums), "samples", ""));
  EXPECT_EQ(answer(fmt::format(fmt::runtime(sums), "totals", "WHERE hits > 0")), of_rows);
  EXPECT_EQ(rows_read_, 0) << "totals are read from the catalogue";
}

TEST_F(SqlTableTest, TotalsSayWhatProfilesSayOfAnEvent) {
  wire::RawProfile profile = make_profile({.machine = "m7",
                                           .from_ns = 1'700'000'000'250'000'000,
                                           .events = {{.name = "cycles", .scale = 1000}},
                                           .stacks = "main 5\n"});
  profile.mutable_events(0)->set_lost(3);
  profile.mutable_events(0)->set_note("instead of ref-cycles");
  fleet_.add(profile);
  load();
  EXPECT_EQ(
      answer(
          "SELECT event, unit, machine, from_time, to_time, from_ns, hits, value, samples, lost, scale, ran, "
          "note FROM totals"),
      "cycles|count|m7|2023-11-14T22:13:20Z|2023-11-14T22:13:21Z|1700000000250000000|5|5000|5|3|1000|1|"
      "instead of ref-cycles\n");
}

TEST_F(SqlTableTest, EventsAreThoseOfTheTotals) {
  add_profiles();
  EXPECT_EQ(answer("SELECT event, unit, kind, profiles, machines FROM events ORDER BY event"),
            "cycles|count|delta|9|3\nwait|ns|delta|9|3\n");
  EXPECT_EQ(
      answer("SELECT event, from_time, to_time, hits, value, samples, lost FROM events ORDER BY event"),
      answer("SELECT event, min(from_time), max(to_time), sum(hits), sum(value), sum(samples), sum(lost) "
             "FROM totals GROUP BY event ORDER BY event"));
}

TEST_F(SqlTableTest, MachinesAreThoseOfTheView) {
  add_profiles();
  wire::Machine machine;
  machine.set_id("m9");
  ASSERT_TRUE(fleet_.ingest().with_machines(
      [&](store::LiveMachines& machines) { return machines.register_machine(machine, 1, 1000); }));
  now_ns_ = 2;
  const Table view =
      machines({.now_ns = now_ns_}, snapshot_, *LiveFleet::load(*store::open_fleet(fleet_.path())));
  const auto answered = ask("SELECT * FROM machines");
  ASSERT_TRUE(answered);
  EXPECT_EQ(answered->rows, view.rows);
  ASSERT_EQ(answered->columns.size(), view.columns.size());
  for (size_t i = 0; i < view.columns.size(); ++i) {
    EXPECT_EQ(answered->columns[i], view.columns[i].name);
  }
  EXPECT_EQ(
      answer(
          "SELECT machine, state, cpu_quota IS NULL FROM machines WHERE machine IN ('m9', 'm1') ORDER BY 1"),
      "m1|profiles|1\nm9|live|1\n");
}

TEST_F(SqlTableTest, HeartbeatsAreReadOnceAndOnlyForMachines) {
  add_profiles();
  ASSERT_TRUE(ask("SELECT count(*) FROM samples, totals"));
  EXPECT_EQ(fleet_reads_, 0);
  EXPECT_EQ(
      answer("SELECT machine, sum(hits) > 0 FROM machines JOIN totals USING (machine) GROUP BY 1 ORDER BY 1"),
      "m0|1\nm1|1\nm2|1\n");
  EXPECT_EQ(fleet_reads_, 1);
}

TEST_F(SqlTableTest, TablesJoin) {
  add_profiles();
  EXPECT_EQ(answer("SELECT s.event, sum(s.hits) = e.hits FROM samples s JOIN events e ON e.event = s.event "
                   "GROUP BY 1"),
            "cycles|1\nwait|1\n");
  EXPECT_EQ(answer("SELECT count(*) FROM totals t WHERE NOT EXISTS (SELECT 1 FROM samples s WHERE s.from_ns "
                   "= t.from_ns "
                   "AND s.machine = t.machine AND s.event = t.event)"),
            answer("SELECT count(*) FROM totals WHERE hits = 0"));
}

TEST_F(SqlTableTest, ColumnsSaysWhatThereIs) {
  load();
  EXPECT_EQ(answer("SELECT DISTINCT table_name FROM columns"),
            "samples\ntotals\nevents\nmachines\ncolumns\n");
  for (const SqlTable& table : sql_tables()) {
    const auto all = ask(fmt::format("SELECT * FROM {}", table.name));
    ASSERT_TRUE(all) << all.error().text();
    EXPECT_EQ(all->columns, table.columns) << table.name;
    std::string listed;
    for (const std::string& column : table.columns) {
      listed += column + "|1\n";
    }
    EXPECT_EQ(
        answer(fmt::format("SELECT column_name, data_type IN ('TEXT', 'INTEGER', 'REAL') AND meaning != '' "
                           "FROM columns WHERE table_name = '{}'",
                           table.name)),
        listed);
  }
}

}  // namespace
}  // namespace plimsoll::query
