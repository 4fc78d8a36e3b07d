// Damage of segment files: found, named, and the business of that file alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/conformance/plain_row.h"
#include "tests/temporary_directory.h"
#include "tests/unit/store/segment_fixture.h"

namespace plimsoll::store::segment_damage_test {
namespace {

using ::testing::HasSubstr;

constexpr uint32_t kEvents = 3, kOrigins = 5;  // IDs below these

// Two events, several groups of rows, several stacks, hits of several sizes.
std::vector<Row> few_rows() {
  return rows_of({
      {.event = 1, .workload = 1, .origin = 1, .thread = 1, .stack = 0, .hits = 1},
      {.event = 1, .workload = 1, .origin = 1, .thread = 1, .stack = 4, .hits = 900},
      {.event = 1, .workload = 1, .origin = 1, .thread = 2, .stack = 4, .hits = 3},
      {.event = 1, .workload = 2, .origin = 3, .thread = 1, .stack = 7, .hits = 3},
      {.event = 1, .workload = 2, .origin = 4, .thread = 1, .stack = 900, .hits = uint64_t{1} << 40},
      {.event = 2, .workload = 2, .origin = 4, .thread = 1, .stack = 4, .hits = 12, .labels = 3},
  });
}

AggregateRequest hits_by_stack() {
  AggregateRequest request;
  request.group[Column::kStack] = IdGrouping::each();
  request.measures = {Factors(kEvents, IdTable<double>(std::vector<double>(kOrigins, 1)))};
  return request;
}

class SegmentDamageTest : public ::testing::Test {
 protected:
  SegmentDamageTest() {
    write_bytes(path_, bytes_);
    write_bytes(healthy_path_, encode_segment(healthy_rows_));
    sums_ = LocalRows::open({healthy_path_, path_})->aggregate(hits_by_stack())->sums;
  }

  // Opening, or reading what was opened, finds the damage and says in which file.
  void expect_found(const std::string& damaged, const std::string& what) const {
    write_bytes(path_, damaged);
    const auto segment = Segment::open(path_);
    if (!segment) {
      expect_named(segment.error(), what);
    }
    const auto opened = LocalRows::open({healthy_path_, path_});
    if (!opened) {
      expect_named(opened.error(), what);
      return;
    }
    const auto read = read_rows(*opened);
    ASSERT_FALSE(read) << what << " was not noticed by a scan";
    expect_named(read.error(), what);
    // What is known to be damaged is left out from then on.
    EXPECT_EQ(*read_rows(*opened), healthy_rows_) << what;
    EXPECT_EQ(opened->aggregate(hits_by_stack())->sum(0), 5) << what;
    // An aggregation may leave the damaged part unread; then its answer is right.
    const auto answer = LocalRows::open({healthy_path_, path_})->aggregate(hits_by_stack());
    if (answer) {
      ASSERT_EQ(answer->sums, sums_) << what << " changed an answer";
      return;
    }
    expect_named(answer.error(), what);
  }

  void expect_named(const Error& error, const std::string& what) const {
    EXPECT_THAT(error.message, HasSubstr(path_)) << what;
    EXPECT_TRUE(error.code == ErrorCode::kCorrupt || error.code == ErrorCode::kUnsupported)
        << what << ": " << error.text();
  }

  plimsoll::testing::TemporaryDirectory folder_;
  std::string path_ = folder_ / "000000000007.rows";
  std::string healthy_path_ = folder_ / "000000000008.rows";
  std::string bytes_ = encode_segment(few_rows());
  std::vector<Row> healthy_rows_ =
      rows_of({{.event = 1, .workload = 1, .origin = 2, .thread = 1, .stack = 4, .hits = 5}});
  LargeVector<double> sums_;  // of both, undamaged
};

TEST_F(SegmentDamageTest, EveryFlippedBitIsFoundAndNamed) {
  for (size_t bit = 0; bit < bytes_.size() * 8; ++bit) {
    std::string damaged = bytes_;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    ASSERT_NO_FATAL_FAILURE(expect_found(damaged, fmt::format("bit {}", bit)));
    ASSERT_FALSE(HasFailure());
  }
  write_bytes(path_, bytes_);
  EXPECT_EQ(*read_rows(path_), few_rows()) << "undamaged";
}

TEST_F(SegmentDamageTest, EveryTruncationIsFoundAndNamed) {
  for (size_t length = 0; length < bytes_.size(); ++length) {
    ASSERT_NO_FATAL_FAILURE(expect_found(bytes_.substr(0, length), fmt::format("a cut to {}", length)));
    ASSERT_FALSE(HasFailure());
  }
}

TEST_F(SegmentDamageTest, TheOtherSegmentsAnswerWithoutTheDamagedOne) {
  std::string damaged = bytes_;
  damaged.back() = static_cast<char>(damaged.back() ^ 1);
  write_bytes(path_, damaged);
  const auto rest = LocalRows::open({healthy_path_});
  ASSERT_TRUE(rest) << rest.error().text();
  EXPECT_EQ(*read_rows(*rest), healthy_rows_);
  EXPECT_EQ(rest->aggregate(hits_by_stack())->sum(0), 5);
}

TEST_F(SegmentDamageTest, WhatIsNoSegmentIsRefused) {
  for (const std::string content : {"", "PLIMSEGM", "SQLite format 3 and so on, and on, and on, and on"}) {
    write_bytes(path_, content);
    const auto segment = Segment::open(path_);
    ASSERT_FALSE(segment) << content;
    EXPECT_EQ(segment.error().code, ErrorCode::kCorrupt);
  }
  EXPECT_EQ(Segment::open(folder_ / "missing.rows").error().code, ErrorCode::kNotFound);
}

TEST_F(SegmentDamageTest, AnotherVersionIsNamed) {
  bytes_[8] = 99;
  write_bytes(path_, bytes_);
  const auto segment = Segment::open(path_);
  ASSERT_FALSE(segment);
  EXPECT_EQ(segment.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(segment.error().message, HasSubstr("version 99"));
}

}  // namespace
}  // namespace plimsoll::store::segment_damage_test
