// What every implementation of RowSource does. memory_rows.h is the definition; the other implementations must agree with it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "store/aggregation/top_cells.h"
#include "tests/conformance/plain_row.h"
#include "tests/conformance/random_requests.h"
#include "tests/conformance/row_sources.h"
#include "tests/temporary_directory.h"

namespace plimsoll::store {

void PrintTo(const Row& row, std::ostream* out) {
  *out << fmt::format("{{{}, hits {}}}", text_of(row.ids), row.hits);
}

void PrintTo(const CellKey& key, std::ostream* out) {
  *out << "{" << text_of(key) << "}";
}

}  // namespace plimsoll::store

namespace plimsoll::testing {
namespace {

using store::AggregateRequest;
using store::cell_of;
using store::CellKey;
using store::Cells;
using store::Column;
using store::IdGrouping;
using store::IdSet;
using store::Row;
using store::row_of;
using store::RowFilter;
using store::rows_of;
using store::RowSource;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<Row> with_distinct_keys(std::vector<Row> rows) {
  std::ranges::sort(rows);
  const auto rest = std::ranges::unique(rows, [](const Row& a, const Row& b) { return a.same_key(b); });
  rows.erase(rest.begin(), rest.end());
  return rows;
}

// In an order of their own, so that segments overlap.
std::vector<Row> shuffled(std::vector<Row> rows) {
  std::ranges::shuffle(rows, std::mt19937_64(rows.size()));
  return rows;
}

class RowSourceTest : public ::testing::TestWithParam<Implementation> {
 protected:
  void SetUp() override {
    if (const std::string missing = GetParam().why_missing(); !missing.empty()) {
      GTEST_SKIP() << missing;
    }
  }

  std::unique_ptr<RowSource> source_of(const std::vector<Row>& rows) {
    auto source = GetParam().make(rows, folder_.path());
    if (!source) {
      // As where a server is gone. The test has failed, and must not end the program: the rest of it asks the model.
      ADD_FAILURE() << source.error().text();
      return std::make_unique<MemoryRows>(rows);
    }
    return std::move(*source);
  }

  TemporaryDirectory folder_;
};

// Ascending, in one piece; none where it fails, as the test then does.
std::vector<Row> scanned(const RowSource& source, const RowFilter& filter) {
  std::vector<Row> rows;
  const auto cursor = source.scan(filter);
  while (true) {
    const auto batch = cursor->next();
    if (!batch) {
      ADD_FAILURE() << batch.error().text();
      return {};
    }
    if (batch->empty()) {
      std::ranges::sort(rows);
      return rows;
    }
    rows.insert(rows.end(), batch->begin(), batch->end());
  }
}

// Of a request that must have an answer; no cells where it has none, as the test then fails.
Cells answered(const RowSource& source, const AggregateRequest& request) {
  auto cells = source.aggregate(request);
  EXPECT_TRUE(cells) << cells.error().text();
  return cells ? *std::move(cells) : Cells();
}

void expect_same_answer(const RowSource& source, const MemoryRows& model, const AggregateRequest& request) {
  const auto answer = source.aggregate(request);
  const auto expected = model.aggregate(request);
  if (!expected) {
    ASSERT_EQ(expected.error().code, ErrorCode::kTooLarge) << expected.error().text();
    ASSERT_FALSE(answer);
    ASSERT_EQ(answer.error().code, ErrorCode::kTooLarge) << answer.error().text();
    return;
  }
  ASSERT_TRUE(answer) << answer.error().text();
  ASSERT_EQ(answer->keys, expected->keys);
  ASSERT_EQ(answer->measures, expected->measures);
  ASSERT_EQ(answer->machine_groups, expected->machine_groups);
  ASSERT_EQ(answer->sums, expected->sums);
}

void expect_conforms(const RowSource& source, const std::vector<Row>& rows, const Cardinalities& ids,
                     uint64_t seed, int requests) {
  const MemoryRows model(rows);
  Random random(seed);
  const int count = std::max(1, requests / RowSourceTest::GetParam().one_request_in);
  for (int i = 0; i < count; ++i) {
    SCOPED_TRACE(fmt::format("request {} of seed {}", i, seed));
    ASSERT_NO_FATAL_FAILURE(expect_same_answer(source, model, random_request(random, ids)));
    const RowFilter filter = random_filter(random, ids);
    ASSERT_EQ(scanned(source, filter), scanned(model, filter));
  }
}

TEST_P(RowSourceTest, FewIdsMeetInEveryCombination) {
  const Cardinalities ids = kFewIds;
  Random random(1);
  const auto rows = shuffled(with_distinct_keys(random_rows(random, ids, 4000)));
  expect_conforms(*source_of(rows), rows, ids, 1, 400);
}

TEST_P(RowSourceTest, ManyIdsHardlyMeet) {
  const Cardinalities ids{{12, 900, 300, 70, 3, 40'000}};
  Random random(2);
  const auto rows = shuffled(with_distinct_keys(random_rows(random, ids, 20'000)));
  expect_conforms(*source_of(rows), rows, ids, 2, 60);
}

TEST_P(RowSourceTest, FewGroupsOfRowsHaveManyStacks) {
  const Cardinalities ids{{2, 3, 3, 2, 3, 200'000}};
  Random random(3);
  const auto rows = shuffled(with_distinct_keys(random_rows(random, ids, 150'000)));
  expect_conforms(*source_of(rows), rows, ids, 3, 6);
}

TEST_P(RowSourceTest, ManyGroupsOfRowsHaveOneStack) {
  const Cardinalities ids{{3, 2000, 500, 3, 3, 2}};
  Random random(4);
  const auto rows = shuffled(with_distinct_keys(random_rows(random, ids, 150'000)));
  expect_conforms(*source_of(rows), rows, ids, 4, 6);
}

TEST_P(RowSourceTest, OneRowIsASource) {
  const Cardinalities ids = kFewIds;
  Random random(5);
  const auto rows = random_rows(random, ids, 1);
  expect_conforms(*source_of(rows), rows, ids, 5, 100);
}

TEST_P(RowSourceTest, NoRowsHaveNoCells) {
  const auto source = source_of({});
  const auto cells = source->aggregate(request_for_all(kFewIds));
  ASSERT_TRUE(cells) << cells.error().text();
  EXPECT_THAT(cells->keys, IsEmpty());
  EXPECT_THAT(cells->sums, IsEmpty());
  EXPECT_THAT(scanned(*source, {}), IsEmpty());
}

TEST_P(RowSourceTest, ACellIsTheSumOfHitsTimesFactorByMeasureAndMachineGroup) {
  const auto source = source_of(rows_of({
      {.event = 1, .workload = 1, .origin = 1, .thread = 1, .stack = 5, .hits = 10},
      {.event = 1, .workload = 2, .origin = 1, .thread = 1, .stack = 5, .hits = 1},
      {.event = 1, .workload = 1, .origin = 2, .thread = 1, .stack = 6, .hits = 100},
      {.event = 2, .workload = 1, .origin = 2, .thread = 1, .stack = 0, .hits = 1000},
  }));
  AggregateRequest request;
  request.group[Column::kEvent] = IdGrouping::by({0, 0, 7});  // event 2 is in group 7
  request.machine_group = {0, 0, 1};                          // origin 2 is in group 1
  request.measures = {{{}, {0, 2, 0.5}, {0, 2, 0.25}}, {{}, {0, 1, 1}, {0, 1, 1}}};
  const auto cells = source->aggregate(request);
  ASSERT_TRUE(cells) << cells.error().text();
  EXPECT_THAT(cells->keys, ElementsAre(cell_of({.event = 0}), cell_of({.event = 7})));
  EXPECT_THAT(cells->by_machine_group(0, 0), ElementsAre(22, 50));
  EXPECT_THAT(cells->by_machine_group(0, 1), ElementsAre(11, 100));
  EXPECT_THAT(cells->by_machine_group(1, 0), ElementsAre(0, 250));
  EXPECT_THAT(cells->by_machine_group(1, 1), ElementsAre(0, 1000));
  EXPECT_EQ(cells->sum(0), 72);
  EXPECT_EQ(cells->sum(1, 1), 1000);
}

TEST_P(RowSourceTest, CellsStandInAscendingOrderOfTheirKeys) {
  const auto source = source_of(rows_of({
      {.event = 1, .workload = 1, .origin = 1, .thread = 1, .stack = 9, .hits = 1},
      {.event = 1, .workload = 2, .origin = 1, .thread = 1, .stack = 0, .hits = 2},
      {.event = 2, .workload = 1, .origin = 1, .thread = 1, .stack = 8, .hits = 3},
  }));
  AggregateRequest request = request_for_all(kFewIds);
  request.group[Column::kEvent] = IdGrouping::by({0, 1, 0});      // the later event first
  request.group[Column::kWorkload] = IdGrouping::by({0, 30, 4});  // the later workload first
  request.group[Column::kStack] = IdGrouping::each();
  EXPECT_THAT(answered(*source, request).keys,
              ElementsAre(cell_of({.event = 0, .workload = 30, .stack = 8}),
                          cell_of({.event = 1, .workload = 4, .stack = 0}),
                          cell_of({.event = 1, .workload = 30, .stack = 9})));
}

TEST_P(RowSourceTest, FlagsSelectNothingBeyondTheirEndAndGroupsPutItInGroup0) {
  const auto source = source_of(rows_of({
      {.event = 1, .workload = 1, .origin = 1, .thread = 1, .stack = 1, .hits = 10},
      {.event = 1, .workload = 2, .origin = 1, .thread = 1, .stack = 1, .hits = 20},
      {.event = 1, .workload = 3, .origin = 1, .thread = 1, .stack = 1, .hits = 40},
  }));
  AggregateRequest request = request_for_all(kFewIds);
  request.filter[Column::kWorkload] = IdSet::of_flags({false, true, true});  // as of before workload 3 came
  request.group[Column::kWorkload] = IdGrouping::by({0, 1});                 // and 2
  const Cells cells = answered(*source, request);
  EXPECT_THAT(cells.keys, ElementsAre(cell_of({.workload = 0}), cell_of({.workload = 1})));
  EXPECT_THAT(cells.sums, ElementsAre(20, 10));
}

TEST_P(RowSourceTest, EachIdOfAnyColumnCanBeAGroup) {
  const Row row =
      row_of({.event = 1, .workload = 5, .origin = 2, .thread = 4, .stack = 9, .hits = 3, .labels = 6});
  const auto source = source_of({row});
  for (const Column column : store::kColumns) {
    AggregateRequest request = request_for_all({{4, 9, 7, 6, 8, 60}});
    request.group[column] = IdGrouping::each();
    CellKey expected;
    expected[column] = row[column];
    EXPECT_THAT(answered(*source, request).keys, ElementsAre(expected));
  }
}

TEST_P(RowSourceTest, ListsOfGroupsAreRefusedForOtherColumnsThanStacks) {
  const auto source = source_of(rows_of({{.event = 1, .workload = 1, .origin = 1, .thread = 1, .hits = 1}}));
  AggregateRequest request = request_for_all(kFewIds);
  request.group[Column::kWorkload] =
      IdGrouping::in_lists({.list_of_stack = {0, 0}, .first = {0, 1}, .groups = {2}});
  const auto refused = source->aggregate(request);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalid);
}

TEST_P(RowSourceTest, AFilterThatSelectsNoIdSelectsNoRow) {
  const auto source =
      source_of(rows_of({{.event = 1, .workload = 1, .origin = 1, .thread = 1, .stack = 1, .hits = 1}}));
  for (const Column column : {Column::kStack, Column::kEvent}) {
    AggregateRequest request = request_for_all(kFewIds);
    request.group[Column::kEvent] = IdGrouping::by({0, 1, 2});
    for (const IdSet& none : {IdSet::of_flags({false}), IdSet::of({}), IdSet::of({0, 2})}) {
      request.filter[column] = none;
      EXPECT_THAT(answered(*source, request).keys, IsEmpty());
      EXPECT_THAT(scanned(*source, request.filter), IsEmpty());
    }
  }
}

TEST_P(RowSourceTest, WhatMadeASetSelectsTheSameRowsAsItsIds) {
  const Cardinalities ids{{4, 200, 150, 100, 3, 50}};
  Random random(10);
  const auto rows = shuffled(with_distinct_keys(random_rows(random, ids, 5000)));
  const auto source = source_of(rows);
  const MemoryRows model(rows);
  for (int i = 0; i < 12; ++i) {
    SCOPED_TRACE(fmt::format("request {}", i));
    AggregateRequest request = request_for_all(ids);
    request.group[Column::kWorkload] = IdGrouping::each();
    for (const Column column : {Column::kOrigin, Column::kWorkload, Column::kThread}) {
      if (random.one_in(2)) {
        const IdSet selected = random_selection(random, column, ids[column]);
        request.filter[column] =
            random.one_in(2) ? selected : intersection_of(selected, random.ids(ids[column]));
      }
    }
    ASSERT_NO_FATAL_FAILURE(expect_same_answer(*source, model, request));
    ASSERT_EQ(scanned(*source, request.filter), scanned(model, request.filter));
  }
}

TEST_P(RowSourceTest, WhatCountsNothingIsNoCell) {
  const auto source = source_of(rows_of({
      {.event = 1, .workload = 1, .origin = 1, .thread = 1, .stack = 1, .hits = 5},
      {.event = 1, .workload = 2, .origin = 2, .thread = 1, .stack = 1, .hits = 5},
  }));
  AggregateRequest request = request_for_all(kFewIds);
  request.group[Column::kWorkload] = IdGrouping::by({0, 1, 2});
  request.measures = {{{}, {0, 0, 0}}, {{}, {0, 0, 0.25}}};
  const Cells cells = answered(*source, request);
  EXPECT_THAT(cells.keys, ElementsAre(cell_of({.workload = 2})));
  EXPECT_THAT(cells.sums, ElementsAre(0, 1.25)) << "the other measure counts it";
}

TEST_P(RowSourceTest, LargeHitsAreNotCutOff) {
  constexpr uint64_t kMany = uint64_t{1} << 50;
  const auto source = source_of(rows_of({
      {.event = 1, .workload = 1, .origin = 1, .thread = 1, .stack = 1, .hits = kMany},
      {.event = 1, .workload = 1, .origin = 1, .thread = 1, .stack = 2, .hits = 1},
  }));
  EXPECT_THAT(answered(*source, request_for_all(kFewIds)).sums, ElementsAre(static_cast<double>(kMany) + 1));
}

// --- the largest cells

TEST_P(RowSourceTest, TheTopCellsAreTheLargestOfAllWithTheirSumsByMachineGroup) {
  const auto source = source_of(shuffled(rows_of({
      {.event = 1, .workload = 1, .origin = 1, .thread = 1, .stack = 1, .hits = 5},
      {.event = 1, .workload = 1, .origin = 2, .thread = 1, .stack = 1, .hits = 1},
      {.event = 1, .workload = 1, .origin = 1, .thread = 1, .stack = 2, .hits = 3},
      {.event = 1, .workload = 1, .origin = 2, .thread = 1, .stack = 3, .hits = 7},
      {.event = 1, .workload = 1, .origin = 2, .thread = 1, .stack = 4, .hits = 6},
  })));
  AggregateRequest request = request_for_all(kFewIds);
  request.group[Column::kStack] = IdGrouping::each();
  request.machine_group = {0, 0, 1};
  const auto top = aggregate_top(*source, request, 2);
  ASSERT_TRUE(top) << top.error().text();
  EXPECT_THAT(top->keys,
              ElementsAre(cell_of({.stack = 1}), cell_of({.stack = 3})));  // stack 4 has as much as stack 1
  EXPECT_THAT(top->sums, ElementsAre(5, 1, 0, 7));
}

TEST_P(RowSourceTest, TheTopCellsOfRandomRequestsAreThoseOfTheModel) {
  const Cardinalities ids = kFewIds;
  Random random(9);
  const auto rows = shuffled(with_distinct_keys(random_rows(random, ids, 3000)));
  const auto source = source_of(rows);
  const MemoryRows model(rows);
  for (int i = 0; i < 200; ++i) {
    const AggregateRequest request = random_request(random, ids);
    const auto all = model.aggregate(request);
    ASSERT_TRUE(all) << all.error().text();
    const size_t count = random.below(30);
    std::vector<size_t> places(all->size());
    std::iota(places.begin(), places.end(), size_t{0});
    std::ranges::sort(places, {}, [&](size_t cell) { return std::pair(-all->sum(cell), cell); });
    places.resize(std::min(places.size(), count));
    std::ranges::sort(places);
    const auto top = aggregate_top(*source, request, count);
    ASSERT_TRUE(top) << top.error().text();
    ASSERT_EQ(top->size(), places.size()) << "request " << i;
    for (size_t place = 0; place < places.size(); ++place) {
      ASSERT_EQ(top->keys[place], all->keys[places[place]]) << "request " << i;
      for (size_t measure = 0; measure < all->measures; ++measure) {
        const auto sums = top->by_machine_group(place, measure);
        const auto expected = all->by_machine_group(places[place], measure);
        ASSERT_TRUE(std::ranges::equal(sums, expected)) << "request " << i;
      }
    }
  }
}

// --- refusals

TEST_P(RowSourceTest, MoreSumsThanAllowedAreRefused) {
  std::vector<Row> rows;
  for (uint32_t stack = 0; stack < 50; ++stack) {
    rows.push_back(
        row_of({.event = 1, .workload = 1, .origin = 1 + stack % 3, .thread = 1, .stack = stack, .hits = 1}));
  }
  const auto source = source_of(shuffled(rows));
  AggregateRequest request = request_for_all(kFewIds);
  request.group[Column::kStack] = IdGrouping::each();
  request.machine_group = {0, 0, 1, 2};
  request.measures.push_back(request.measures[0]);
  request.max_sums = 50ULL * 3 * 2;
  const auto allowed = source->aggregate(request);
  ASSERT_TRUE(allowed) << allowed.error().text();
  EXPECT_EQ(allowed->size(), 50);
  --request.max_sums;
  const auto refused = source->aggregate(request);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kTooLarge);
}

TEST_P(RowSourceTest, SumsAreRefusedAtTheExactBoundForAnyGrouping) {
  const Cardinalities ids = kFewIds;
  Random random(6);
  const auto rows = shuffled(with_distinct_keys(random_rows(random, ids, 2000)));
  const auto source = source_of(rows);
  for (int i = 0; i < 50; ++i) {
    AggregateRequest request = random_request(random, ids);
    request.measures.assign(1 + random.below(2), request_for_all(ids).measures[0]);  // no cell is 0
    const auto cells = source->aggregate(request);
    ASSERT_TRUE(cells) << cells.error().text();
    request.max_sums = cells->sums.size();
    ASSERT_TRUE(source->aggregate(request)) << "request " << i;
    if (request.max_sums > 0) {
      --request.max_sums;
      ASSERT_FALSE(source->aggregate(request)) << "request " << i;
    }
  }
}

TEST_P(RowSourceTest, ARowWithoutAFactorIsDamageNotZero) {
  const auto source = source_of(rows_of({
      {.event = 1, .workload = 1, .origin = 1, .thread = 1, .stack = 1, .hits = 1},
      {.event = 3, .workload = 1, .origin = 8, .thread = 1, .stack = 1, .hits = 1},
  }));
  const auto with_factors = [](store::Factors factors) {
    AggregateRequest request;
    request.measures = {std::move(factors)};
    return request;
  };
  const store::IdTable<double> of_all(std::vector<double>(9, 1.0));
  const store::IdTable<double> of_older(std::vector<double>(8, 1.0));
  EXPECT_TRUE(source->aggregate(with_factors({of_all, of_all, {}, of_all})));
  for (const store::Factors& factors :
       {store::Factors{of_all, of_all, of_all}, store::Factors{of_all, of_all, of_all, of_older},
        store::Factors{of_all, of_all, of_all, {}}, store::Factors{}}) {
    const auto answer = source->aggregate(with_factors(factors));
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, ErrorCode::kCorrupt);
  }
  // An event that is left out needs none.
  AggregateRequest request = with_factors({{}, {0, 1}});
  request.filter[Column::kEvent] = IdSet::of({1});
  EXPECT_THAT(answered(*source, request).sums, ElementsAre(1));
}

// Of one measure that lacks a factor among others that have them.
TEST_P(RowSourceTest, EveryMeasureNeedsItsFactors) {
  const auto source =
      source_of(rows_of({{.event = 1, .workload = 1, .origin = 2, .thread = 1, .stack = 1, .hits = 1}}));
  AggregateRequest request;
  request.measures = {{{}, {0, 1, 1}}, {{}, {0, 1}}};
  const auto refused = source->aggregate(request);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kCorrupt);
}

// --- scanning

TEST_P(RowSourceTest, AScanGivesEachSelectedRowOnce) {
  const Cardinalities ids{{4, 60, 50, 9, 3, 5000}};
  Random random(7);
  const auto rows = with_distinct_keys(random_rows(random, ids, 100'000));
  const auto source = source_of(shuffled(rows));
  EXPECT_EQ(scanned(*source, {}), rows);
  RowFilter filter;
  filter[Column::kWorkload] = IdSet::of_ranges({{0, 6}, {8, 39}});
  filter[Column::kStack] = IdSet::of_flags(std::vector<bool>(4000, true));
  std::vector<Row> expected = rows;
  std::erase_if(expected, [](const Row& row) {
    const uint32_t workload = row[Column::kWorkload];
    return workload == 7 || workload >= 40 || row[Column::kStack] >= 4000;
  });
  EXPECT_EQ(scanned(*source, filter), expected);
}

TEST_P(RowSourceTest, TwoCursorsDoNotDisturbEachOther) {
  const Cardinalities ids = kFewIds;
  Random random(8);
  const auto rows = with_distinct_keys(random_rows(random, ids, 3000));
  const auto source = source_of(rows);
  const auto first = source->scan({});
  ASSERT_TRUE(first->next());
  EXPECT_EQ(scanned(*source, {}), rows);
  EXPECT_TRUE(first->next());
}

INSTANTIATE_TEST_SUITE_P(Rows, RowSourceTest, ::testing::ValuesIn(row_source_implementations()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace plimsoll::testing
