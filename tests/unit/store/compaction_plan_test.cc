#include "store/compaction/plan/compaction_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <random>

namespace plimsoll::store {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

SegmentEntry segment(int64_t id, uint64_t rows, int64_t from_ns, int64_t length_ns = 1) {
  return {.id = id,
          .file = fmt::format("{:012}.rows", id),
          .rows = rows,
          .bytes = rows,
          .from_ns = from_ns,
          .to_ns = from_ns + length_ns};
}

std::vector<int64_t> ids(const std::vector<SegmentEntry>& segments) {
  std::vector<int64_t> ids;
  for (const SegmentEntry& entry : segments) {
    ids.push_back(entry.id);
  }
  return ids;
}

// What stands in the catalogue after merging until there is nothing to do.
std::vector<SegmentEntry> merged_until_done(std::vector<SegmentEntry> segments,
                                            const CompactionLimits& limits, uint64_t* rewritten = nullptr) {
  int64_t next_id = 1'000'000;
  while (true) {
    const auto inputs = next_merge(segments, limits);
    if (inputs.empty()) {
      return segments;
    }
    SegmentEntry output = segment(++next_id, 0, inputs.front().from_ns);
    for (const SegmentEntry& input : inputs) {
      output.rows += input.rows;
      output.from_ns = std::min(output.from_ns, input.from_ns);
      output.to_ns = std::max(output.to_ns, input.to_ns);
      std::erase_if(segments, [&](const SegmentEntry& entry) { return entry.id == input.id; });
    }
    EXPECT_GE(inputs.size(), 2);
    EXPECT_LE(output.rows, limits.max_rows);
    segments.push_back(output);
    if (rewritten != nullptr) {
      *rewritten += output.rows;
    }
  }
}

TEST(CompactionPlan, EightOfARankBecomeOneAndFewerAreLeft) {
  std::vector<SegmentEntry> segments;
  for (int64_t i = 1; i <= 7; ++i) {
    segments.push_back(segment(i, 100, i));
  }
  segments.push_back(segment(8, 1000, 8));  // of the next rank
  EXPECT_THAT(next_merge(segments, {}), IsEmpty());
  segments.push_back(segment(9, 64, 9));
  EXPECT_THAT(ids(next_merge(segments, {})), ElementsAre(1, 2, 3, 4, 5, 6, 7, 9));
}

TEST(CompactionPlan, NothingAndOneAreLeftAlone) {
  EXPECT_THAT(next_merge({}, {}), IsEmpty());
  EXPECT_THAT(next_merge({segment(1, 0, 1)}, {.min_inputs = 0, .max_inputs = 0}), IsEmpty());
}

TEST(CompactionPlan, WhatIsFarApartInTimeStaysApart) {
  std::vector<SegmentEntry> segments = {segment(1, 10, 0), segment(2, 10, 500)};
  for (int64_t i = 3; i <= 10; ++i) {
    segments.push_back(segment(i, 10, 100'000 + i));
  }
  segments.push_back(segment(11, 10, 900'000));
  EXPECT_THAT(ids(next_merge(segments, {})), ElementsAre(3, 4, 5, 6, 7, 8, 9, 10));
}

TEST(CompactionPlan, LateProfilesAreMergedAlthoughLargeSegmentsLieBetweenThem) {
  std::vector<SegmentEntry> segments;
  for (int64_t i = 1; i <= 8; ++i) {
    segments.push_back(segment(2 * i, 10, 1000 * i));
    segments.push_back(segment(2 * i + 1, 5'000'000, 1000 * i + 500));
  }
  EXPECT_THAT(ids(next_merge(segments, {})), ElementsAre(2, 4, 6, 8, 10, 12, 14, 16));
}

TEST(CompactionPlan, NoSegmentGetsMoreRowsThanAllowedAndFullOnesAreLeft) {
  std::vector<SegmentEntry> segments;
  for (int64_t i = 1; i <= 8; ++i) {
    segments.push_back(segment(i, 400, i));
  }
  EXPECT_THAT(ids(next_merge(segments, {.max_rows = 1000})), ElementsAre(1, 2));
  EXPECT_THAT(next_merge(segments, {.max_rows = 700}), IsEmpty());
}

TEST(CompactionPlan, ExtremeTimesAndSizesDoNotOverflow) {
  std::vector<SegmentEntry> segments;
  for (int64_t i = 1; i <= 20; ++i) {
    SegmentEntry entry = segment(i, i % 3 == 0 ? UINT64_MAX : 1, 0);
    entry.from_ns = i % 2 == 0 ? INT64_MIN : INT64_MAX;
    entry.to_ns = i % 5 == 0 ? INT64_MIN : INT64_MAX;
    segments.push_back(entry);
  }
  EXPECT_EQ(next_merge(segments, {}).size(), 8);
}

TEST(CompactionPlan, TheNumberOfSegmentsIsLogarithmicAndRowsAreRewrittenOnceARank) {
  std::mt19937_64 random(1);
  std::vector<SegmentEntry> segments;
  uint64_t rows = 0;
  uint64_t rewritten = 0;
  for (int64_t i = 1; i <= 5000; ++i) {
    // Now and then a profile comes a day late.
    const int64_t from_ns = i * 1'000'000'000 - (random() % 10 == 0 ? 86'400'000'000'000 : 0);
    segments.push_back(segment(i, 1 + random() % (random() % 8 == 0 ? 4000 : 100), from_ns));
    rows += segments.back().rows;
    segments = merged_until_done(std::move(segments), {}, &rewritten);
    const auto ranks = static_cast<size_t>(std::bit_width(rows) - 1) / 3 + 1;
    ASSERT_LE(segments.size(), 7 * ranks) << "after " << i;
    ASSERT_LE(rewritten, rows * ranks) << "after " << i;
  }
}

TEST(CompactionPlan, ByHandThereStaysOneOfARankAtMost) {
  std::mt19937_64 random(2);
  std::vector<SegmentEntry> segments;
  uint64_t rows = 0;
  for (int64_t i = 1; i <= 300; ++i) {
    segments.push_back(segment(i, 1 + random() % 3000, i));
    rows += segments.back().rows;
  }
  constexpr uint64_t kMaxRows = 50'000;
  const auto left = merged_until_done(segments, CompactionLimits::thorough(kMaxRows));
  EXPECT_LE(left.size(), 2 * rows / kMaxRows + 6);
}

}  // namespace
}  // namespace plimsoll::store
