// What goes with a statement of what a request has by event and origin.
#include "store/clickhouse/origin_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace plimsoll::store::clickhouse {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr size_t kOrigins = 5;

// Of events 1 and 2; the factors of event 2 are `second`.
AggregateRequest request_of(std::vector<double> first, std::vector<double> second) {
  AggregateRequest request;
  request.filter[Column::kEvent] = IdSet::of({1, 2});
  request.filter[Column::kOrigin] = IdSet::of_ranges({{1, kOrigins - 1}});
  request.measures = {factors_of({{}, std::move(first), std::move(second)})};
  return request;
}

std::vector<double> all(double factor) {
  return std::vector<double>(kOrigins, factor);
}

TEST(OriginValues, WhereAllAreAlikeNothingIsJoined) {
  const OriginValues values = origin_values(request_of(all(1), all(1)));
  EXPECT_EQ(values.join, "");
  EXPECT_THAT(values.tables, IsEmpty());
  EXPECT_THAT(values.columns, ElementsAre("origin"));
  EXPECT_THAT(values.factors, ElementsAre("reinterpretAsFloat64(unhex('000000000000f03f'))"));
  EXPECT_EQ(values.has_factor, "toUInt8(origin < 5)");
  EXPECT_FALSE(values.event_group.varies || values.origin_group.varies || values.machine_group.varies);
}

TEST(OriginValues, EventsThatCountAlikeShareATableByOrigin) {
  AggregateRequest request = request_of({0, 1, 2, 3, 4}, {0, 1, 2, 3, 4});
  request.group[Column::kEvent] = IdGrouping::by({0, 1, 0});
  request.machine_group = {0, 0, 7, 1, 2};
  const OriginValues values = origin_values(request);
  ASSERT_THAT(values.tables, SizeIs(1));
  EXPECT_EQ(values.tables[0].structure, "origin UInt32, group_of_machine UInt8, factor_0 Float64");
  EXPECT_THAT(values.tables[0].rows, SizeIs((kOrigins - 1) * (4 + 1 + 8)));
  EXPECT_THAT(values.join, HasSubstr("USING (origin)"));
  EXPECT_EQ(values.event_group.sql, "transform(event, [1, 2], [1, 0], 0)");
  EXPECT_TRUE(values.event_group.varies);
  EXPECT_EQ(values.machine_group.sql, "group_of_machine");
  EXPECT_EQ(values.has_factor, "has_factor");
}

TEST(OriginValues, EventsThatCountDifferentlyAreJoinedByEvent) {
  AggregateRequest request = request_of({0, 1, 2, 3, 4}, {0, 1, 2, 3, 5});
  request.group[Column::kEvent] = IdGrouping::by({0, 1, 0});
  const OriginValues values = origin_values(request);
  ASSERT_THAT(values.tables, SizeIs(1));
  EXPECT_EQ(values.tables[0].structure,
            "event UInt32, origin UInt32, group_of_event UInt32, factor_0 Float64");
  EXPECT_THAT(values.tables[0].rows, SizeIs(2 * (kOrigins - 1) * (3 * 4 + 8)));
  EXPECT_THAT(values.join, HasSubstr("USING (event, origin)"));
  EXPECT_EQ(values.event_group.sql, "group_of_event");
  EXPECT_THAT(values.columns, ElementsAre("origin", "event"));
}

// What is not selected may differ.
TEST(OriginValues, OriginsThatAreNotSelectedMakeNoDifference) {
  const OriginValues values = origin_values(request_of({5, 1, 1, 1, 1}, {6, 1, 1, 1, 1}));
  EXPECT_THAT(values.tables, IsEmpty());
}

TEST(OriginValues, RunsOfOriginsThatAreAlikeAreSentAsTheirEnds) {
  std::vector<double> factors(1000, 1.5);
  factors[500] = 2;
  AggregateRequest request;
  request.filter[Column::kEvent] = IdSet::of({1});
  request.measures = {factors_of({{}, factors})};
  OriginValues values = origin_values(request);
  ASSERT_THAT(values.tables, SizeIs(1));
  EXPECT_EQ(values.tables[0].structure, "first_origin UInt32, run_length UInt32, factor_0 Float64");
  EXPECT_THAT(values.tables[0].rows, SizeIs(3 * (4 + 4 + 8)));
  EXPECT_THAT(values.join, HasSubstr("arrayJoin(range(run_length))"));

  request.machine_group = {0, 0, 0, 1};
  EXPECT_THAT(origin_values(request).tables.at(0).rows, SizeIs(5 * (4 + 4 + 1 + 8)));
  // Of the first range three.
  request.filter[Column::kOrigin] = IdSet::of_ranges({{0, 9}, {20, 29}, {990, 2000}});
  EXPECT_THAT(origin_values(request).tables.at(0).rows, SizeIs(5 * (4 + 4 + 1 + 8)));
  request.group[Column::kOrigin] = IdGrouping::each();
  values = origin_values(request);
  EXPECT_EQ(values.tables.at(0).structure,
            "origin UInt32, group_of_origin UInt32, group_of_machine UInt8, factor_0 Float64");
  EXPECT_THAT(values.tables.at(0).rows, SizeIs(30 * (4 + 4 + 1 + 8)));
}

TEST(OriginValues, OfAnOriginThatLacksAFactorNothingIsSent) {
  AggregateRequest request;
  request.filter[Column::kEvent] = IdSet::of({1});
  request.filter[Column::kOrigin] = IdSet::of_ranges({{1, 9}});
  request.measures = {factors_of({{}, {0, 1, 2, 3, 4}}), factors_of({{}, {1, 1, 1}})};
  EXPECT_THAT(origin_values(request).tables.at(0).rows, SizeIs(2 * (4 + 2 * 8)));
}

// A row of an event without factors is an error, whatever the others have.
TEST(OriginValues, AnEventWithoutFactorsHasNone) {
  AggregateRequest request = request_of(all(1), {});
  EXPECT_EQ(origin_values(request).has_factor, "toUInt8(toUInt8(origin < 5) AND event IN (1))");
  request.filter[Column::kEvent] = {};
  EXPECT_THAT(origin_values(request).has_factor, HasSubstr("event IN (1)"));
  request.filter[Column::kEvent] = IdSet::of({1});
  const OriginValues values = origin_values(request);
  EXPECT_THAT(values.has_factor, Not(HasSubstr("event")));
  EXPECT_THAT(values.columns, ElementsAre("origin"));
}

TEST(OriginValues, NumbersOfMachineGroupsTakeAsFewBytesAsTheyCan) {
  AggregateRequest request = request_of(all(1), all(1));
  request.machine_group = {0, 0, 300, 1, 2};
  EXPECT_THAT(origin_values(request).tables.at(0).structure, HasSubstr("group_of_machine UInt16"));
  request.machine_group = {0, 0, 70'000, 1, 2};
  EXPECT_THAT(origin_values(request).tables.at(0).structure, HasSubstr("group_of_machine UInt32"));
}

// As where a question about several events reads an epoch that is older than they are.
TEST(OriginValues, OfNoEventTheTableIsEmptyAndThereAreNoGroups) {
  AggregateRequest request = request_of(all(1), all(1));
  request.filter[Column::kEvent] = IdSet::of({});
  for (const IdGrouping& grouping : {IdGrouping(), IdGrouping::each(), IdGrouping::by({0, 1, 0})}) {
    request.group[Column::kEvent] = grouping;
    const OriginValues values = origin_values(request);
    ASSERT_THAT(values.tables, SizeIs(1));
    EXPECT_THAT(values.tables[0].rows, IsEmpty());
    EXPECT_EQ(values.event_group.sql, "0") << "the server refuses transform() with empty lists";
    EXPECT_FALSE(values.event_group.varies);
    EXPECT_THAT(values.columns, ElementsAre("origin"));
  }
}

}  // namespace
}  // namespace plimsoll::store::clickhouse
