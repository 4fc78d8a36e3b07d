#include "store/segments/row_sorter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "store/rollup/origin_hits.h"
#include "tests/conformance/plain_row.h"
#include "tests/temporary_directory.h"
#include "tests/unit/store/segment_fixture.h"

namespace plimsoll::store::row_sorter_test {
namespace {

// Origin N lasts from 10 N to 10 N + 5.
const OriginEntry& origin_of(uint32_t id) {
  static std::map<uint32_t, OriginEntry> origins;
  OriginEntry& origin = origins[id];
  origin.from_ns = 10 * int64_t{id};
  origin.to_ns = origin.from_ns + 5;
  return origin;
}

RowOrder order_of_jobs() {
  RowOrder order;
  for (const char* job : {"web", "batch", "web", "batch"}) {
    order.add_workload(job);
  }
  return order;
}

std::vector<Row> random_rows(uint32_t seed, size_t count) {
  std::mt19937 random(seed);
  const auto below = [&](uint32_t bound) { return static_cast<uint32_t>(random() % bound); };
  std::vector<Row> rows;
  for (size_t i = 0; i < count; ++i) {
    rows.push_back(row_of({.event = 1 + below(2),
                           .workload = 1 + below(4),
                           .origin = 1 + below(3),
                           .thread = 1,
                           .stack = below(7),
                           .hits = 1 + below(9)}));
  }
  return rows;
}

std::map<ByColumn<uint32_t>, uint64_t> hits_by_key(const std::vector<Row>& rows) {
  std::map<ByColumn<uint32_t>, uint64_t> hits;
  for (const Row& row : rows) {
    hits[row.ids] += row.hits;
  }
  return hits;
}

class RowSorterTest : public ::testing::Test {
 protected:
  std::vector<SegmentEntry> sort(const std::vector<Row>& rows, const RowSorterLimits& limits) {
    RowSorter sorter(order_of_jobs(), origin_of, path_, limits);
    for (const Row& row : rows) {
      EXPECT_TRUE(sorter.add(row));
    }
    const auto segments = sorter.finish({});
    EXPECT_TRUE(segments) << segments.error().text();
    return segments.value_or(std::vector<SegmentEntry>());
  }

  std::vector<Row> rows_in(const SegmentEntry& segment) const {
    const auto rows = scan_rows(path_ + "/" + segment.file);
    EXPECT_TRUE(rows) << rows.error().text();
    return rows.value_or(std::vector<Row>());
  }

  size_t files() const {
    return static_cast<size_t>(
        std::distance(std::filesystem::directory_iterator(path_), std::filesystem::directory_iterator()));
  }

  plimsoll::testing::TemporaryDirectory folder_;
  const std::string path_ = [this] {
    std::filesystem::create_directories(folder_ / "segments");
    return std::string(folder_ / "segments");
  }();
};

TEST_F(RowSorterTest, ManyRunsBecomeOneSegmentWithEachKeyOnce) {
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    const std::vector<Row> rows = random_rows(seed, 300);
    const size_t before = files();
    const std::vector<SegmentEntry> segments = sort(rows, {.rows_in_memory = 2 + seed * 5});
    ASSERT_EQ(segments.size(), 1);
    EXPECT_EQ(files(), before + 1) << "no run is left";
    const std::vector<Row> sorted = rows_in(segments[0]);
    EXPECT_TRUE(std::ranges::is_sorted(sorted, order_of_jobs()));
    EXPECT_EQ(sorted.size(), segments[0].rows);
    EXPECT_EQ(hits_by_key(sorted).size(), sorted.size());
    EXPECT_EQ(hits_by_key(sorted), hits_by_key(rows));
    EXPECT_EQ(segments[0].from_ns, 10);
    EXPECT_EQ(segments[0].to_ns, 35);
    std::filesystem::remove(path_ + "/" + segments[0].file);
  }
}

TEST_F(RowSorterTest, WhatIsTooMuchForOneSegmentBecomesSeveral) {
  const std::vector<Row> rows = random_rows(1, 300);
  const std::vector<SegmentEntry> segments =
      sort(rows, {.rows_in_memory = 20, .rows_of_segment = 40, .runs_of_merge = 2});
  EXPECT_GT(segments.size(), 2);
  std::vector<Row> all;
  for (const SegmentEntry& segment : segments) {
    const std::vector<Row> sorted = rows_in(segment);
    EXPECT_TRUE(std::ranges::is_sorted(sorted, order_of_jobs()));
    EXPECT_LE(sorted.size(), 40);
    all.insert(all.end(), sorted.begin(), sorted.end());
  }
  EXPECT_EQ(hits_by_key(all), hits_by_key(rows));
}

TEST_F(RowSorterTest, WithoutRowsThereIsNoSegment) {
  EXPECT_THAT(sort({}, {}), ::testing::IsEmpty());
  EXPECT_EQ(files(), 0);
}

TEST(OriginHitsTest, OtherHitsOriginsOrEventsAreDamage) {
  OriginHits hits;
  hits.add_origin(std::vector<EventRecord>{{.event = 1, .hits = 5}, {.event = 3, .hits = 0}});
  hits.add_origin(std::vector<EventRecord>{{.event = 2, .hits = 4}});
  const auto add = [&](uint32_t origin, uint32_t event, uint64_t count) {
    return hits.add(row_of({.event = event, .origin = origin, .hits = count})).has_value();
  };
  EXPECT_TRUE(add(1, 1, 3));
  EXPECT_FALSE(hits.expect_all(1, hits.origins()));
  EXPECT_TRUE(add(1, 1, 2));
  EXPECT_TRUE(hits.expect_all(1, 2)) << "the first has all";
  EXPECT_EQ(hits.expect_all(1, hits.origins()).error().code, ErrorCode::kCorrupt);
  EXPECT_TRUE(add(2, 2, 4));
  EXPECT_TRUE(hits.expect_all(1, hits.origins()));
  EXPECT_FALSE(add(2, 1, 1)) << "an event of another";
  EXPECT_FALSE(add(0, 1, 1));
  EXPECT_FALSE(add(3, 1, 1));
}

}  // namespace
}  // namespace plimsoll::store::row_sorter_test
