// The tables that a store in ClickHouse has, as far as that needs no server.
#include "store/clickhouse/schema.h"

#include <gtest/gtest.h>

#include <set>

#include "store/clickhouse/row_statement.h"

namespace plimsoll::store::clickhouse {
namespace {

TEST(Schema, TheMarkOfABatchIsWrittenAfterAllElse) {
  std::string_view last;
  for (const Table& table : tables()) {
    last = table.is_by_epoch ? table.name : last;
  }
  EXPECT_EQ(last, "batches");
}

TEST(Schema, EachTableHasANameOfItsOwnAndItsOrderIsOfItsColumns) {
  std::set<std::string_view> names;
  for (const Table& table : tables()) {
    SCOPED_TRACE(table.name);
    EXPECT_TRUE(names.insert(table.name).second);
    EXPECT_EQ(&table_called(table.name), &table);
    const std::string columns = ", " + table.columns() + ",";
    std::string_view order = table.order;
    while (!order.empty()) {
      const size_t end = order.find(", ");
      EXPECT_NE(columns.find(fmt::format(", {},", order.substr(0, end))), std::string::npos) << order;
      order = end == std::string_view::npos ? "" : order.substr(end + 2);
    }
  }
}

TEST(Schema, VersionsDecideWhatIsUsed) {
  EXPECT_FALSE(parse_version("18.16.1\n")->has_codecs());
  EXPECT_TRUE(parse_version("26.7.1.1")->has_codecs());
  for (const std::string_view text : {"", "26", "x.y", "26.", "<html>"}) {
    const auto version = parse_version(text);
    ASSERT_FALSE(version) << text;
    EXPECT_EQ(version.error().code, ErrorCode::kUnsupported);
  }
}

std::vector<bool> every_other(size_t count) {
  std::vector<bool> flags(count);
  for (size_t id = 0; id < count; id += 2) {
    flags[id] = true;
  }
  return flags;
}

TEST(RowStatement, AFilterOfFewRangesIsSqlAndOneOfManyATable) {
  RowFilter filter;
  filter[Column::kEvent] = IdSet::of({4, 1, 2});
  filter[Column::kThread] = IdSet::of({});
  filter[Column::kStack] = IdSet::of_flags(every_other(100));
  Statement statement{"SELECT 1 FROM rows WHERE epoch = 1", {}};
  add_conditions(filter, {.epoch = 1}, statement);
  EXPECT_EQ(statement.sql,
            "SELECT 1 FROM rows WHERE epoch = 1 AND (event BETWEEN 1 AND 2 OR event BETWEEN 4 AND 4) AND (0) "
            "AND stack IN selected_stack");
  ASSERT_EQ(statement.tables.size(), 1);
  EXPECT_EQ(statement.tables[0].structure, "id UInt32");
  EXPECT_EQ(statement.tables[0].rows.size(), 50 * sizeof(uint32_t));
}

TEST(RowStatement, LongRangesAreSentAsTheirEnds) {
  std::vector<IdRange> ranges;
  for (uint32_t first = 0; first < 2'000'000; first += 100'000) {
    ranges.push_back({first, first + 50'000});
  }
  RowFilter filter;
  filter[Column::kOrigin] = IdSet::of_ranges(ranges);
  Statement statement{"SELECT 1 FROM rows WHERE epoch = 1", {}};
  add_conditions(filter, {.epoch = 1}, statement);
  EXPECT_EQ(statement.sql,
            "SELECT 1 FROM rows WHERE epoch = 1 AND origin IN (SELECT toUInt32(first_id + "
            "arrayJoin(range(run_length))) FROM selected_origin)");
  ASSERT_EQ(statement.tables.size(), 1);
  EXPECT_EQ(statement.tables[0].structure, "first_id UInt32, run_length UInt32");
  EXPECT_EQ(statement.tables[0].rows.size(), 20 * 2 * sizeof(uint32_t));
}

// Of which each second ID is one of many.
IdSet selected_by(std::vector<EntryCondition> conditions) {
  return IdSet::of_flags(every_other(100))
      .made_by({.among = IdSet::of_ranges({{0, 98}}), .conditions = std::move(conditions)});
}

TEST(RowStatement, ManyIdsThatValuesSelectedAreFoundByTheServer) {
  EpochBatches epoch{.epoch = 1};
  epoch.add(5);
  RowFilter filter;
  filter[Column::kOrigin] =
      selected_by({{.dimension = "platform", .values = {"old", "o'lder"}, .is_negated = true}});
  filter[Column::kWorkload] = selected_by({{.dimension = "job", .values = {"web"}}});
  filter[Column::kThread] =
      IdSet::of({3}).made_by({.conditions = {{.dimension = "thread", .values = {"io"}}}});
  Statement statement{"SELECT 1 FROM rows WHERE 1", {}};
  add_conditions(filter, epoch, statement);
  EXPECT_EQ(statement.sql,
            "SELECT 1 FROM rows WHERE 1 AND (origin BETWEEN 0 AND 98) AND origin IN (SELECT id FROM origins "
            "WHERE epoch = 1 AND (batch BETWEEN 5 AND 5) AND machine IN (SELECT id FROM machines WHERE "
            "epoch = 1 AND (batch BETWEEN 5 AND 5) AND platform NOT IN values_0)) AND (workload BETWEEN 0 "
            "AND 98) AND workload IN (SELECT id FROM workloads WHERE epoch = 1 AND (batch BETWEEN 5 AND 5) "
            "AND job IN values_1) AND (thread BETWEEN 3 AND 3)");
  ASSERT_EQ(statement.tables.size(), 2);
  EXPECT_EQ(statement.tables[0].name, "values_0");
  EXPECT_EQ(statement.tables[0].structure, "value String");
  EXPECT_EQ(statement.tables[0].rows, "\3old\6o'lder");
  EXPECT_EQ(statement.tables[1].rows, "\3web");
}

TEST(RowStatement, TimesAndBeginningsOfValuesStandInTheStatement) {
  RowFilter filter;
  filter[Column::kOrigin] = IdSet::of_flags(every_other(100))
                                .made_by({.conditions = {{.dimension = "draw",
                                                          .values = {"or", "'"},
                                                          .are_prefixes = true,
                                                          .is_negated = true}},
                                          .middle = {100, 200}});
  Statement statement{"SELECT 1 FROM rows WHERE 1", {}};
  add_conditions(filter, {.epoch = 1}, statement);
  EXPECT_EQ(statement.sql,
            "SELECT 1 FROM rows WHERE 1 AND origin IN (SELECT id FROM origins WHERE epoch = 1 AND (0) AND "
            "from_ns + intDiv(to_ns - from_ns, 2) >= 100 AND from_ns + intDiv(to_ns - from_ns, 2) < 200) AND "
            "origin IN (SELECT id FROM origins WHERE epoch = 1 AND (0) AND NOT (lower(hex(substring(draw, 1, "
            "2))) = '6f72' OR lower(hex(substring(draw, 1, 1))) = '27'))");
  EXPECT_TRUE(statement.tables.empty());
}

TEST(RowStatement, WhatTheServerCannotFindIsSent) {
  RowFilter filter;
  filter[Column::kWorkload] = selected_by(
      {{.dimension = "job", .values = {"web"}}, {.dimension = "unknown to this release", .values = {"x"}}});
  filter[Column::kThread] =
      IdSet::of_flags(every_other(100))
          .made_by({.among = IdSet::of_flags(every_other(200)), .conditions = {{.dimension = "thread"}}});
  Statement statement{"SELECT 1 FROM rows WHERE 1", {}};
  add_conditions(filter, {.epoch = 1}, statement);
  EXPECT_EQ(statement.sql,
            "SELECT 1 FROM rows WHERE 1 AND workload IN selected_workload AND thread IN selected_thread");
  // An epoch of many interrupted batches: its condition is too long to be repeated.
  EpochBatches interrupted{.epoch = 1};
  for (uint64_t batch = 1; batch < 200; batch += 2) {
    interrupted.add(batch);
  }
  filter = {};
  filter[Column::kWorkload] = selected_by({{.dimension = "job", .values = {"web"}}});
  statement = {"SELECT 1 FROM rows WHERE 1", {}};
  add_conditions(filter, interrupted, statement);
  EXPECT_EQ(statement.sql, "SELECT 1 FROM rows WHERE 1 AND workload IN selected_workload");
  // So are many conditions.
  const EntryCondition is_not_web{.dimension = "job", .values = {"web"}, .is_negated = true};
  filter[Column::kWorkload] = selected_by(std::vector<EntryCondition>(20, is_not_web));
  statement = {"SELECT 1 FROM rows WHERE 1", {}};
  add_conditions(filter, {.epoch = 1}, statement);
  EXPECT_EQ(statement.sql, "SELECT 1 FROM rows WHERE 1 AND workload IN selected_workload");
  EXPECT_EQ(statement.tables.size(), 1) << "without their values";
}

TEST(RowStatement, WhatIsOneForAllIsNoGroup) {
  AggregateRequest request;
  request.filter[Column::kEvent] = IdSet::of({1});
  request.group[Column::kWorkload] = IdGrouping::each();
  request.measures = {Factors(2, IdTable<double>{1.0, 1.0})};
  EXPECT_EQ(
      sums_statement(request, {.epoch = 1}).statement.sql,
      "SELECT toUInt32(0) AS event_group, toUInt32(0) AS origin_group, toUInt32(0) AS machine_group, "
      "workload, "
      "min(toUInt8(origin < 2)), sum(hits * reinterpretAsFloat64(unhex('000000000000f03f'))) FROM (SELECT "
      "origin, workload, hits FROM rows WHERE epoch = 1 AND (0) AND (event BETWEEN 1 AND 1)) AS selected "
      "GROUP BY "
      "workload FORMAT RowBinary");
}

// Else the server would give a row of no rows.
TEST(RowStatement, ThereIsAlwaysAKey) {
  AggregateRequest request;
  request.filter[Column::kEvent] = IdSet::of({1});
  request.measures = {Factors(2, IdTable<double>{1.0, 2.0})};
  EXPECT_NE(sums_statement(request, {.epoch = 1}).statement.sql.find("GROUP BY has_factor FORMAT"),
            std::string::npos);
}

TEST(RowStatement, StacksThatNoWantedCellHasAreLeftToTheServer) {
  AggregateRequest request;
  request.group[Column::kStack] = IdGrouping::each();
  request.measures = {Factors(2, IdTable<double>{1.0, 1.0})};
  CellKey key;
  key[Column::kStack] = 7;
  request.wanted = {key};
  EpochBatches epoch{.epoch = 1};
  epoch.newest.entries.stacks = 100;
  EXPECT_NE(sums_statement(request, epoch).statement.sql.find("AND (stack BETWEEN 7 AND 7)"),
            std::string::npos);
}

}  // namespace
}  // namespace plimsoll::store::clickhouse
