#include "store/rows/segment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <tuple>

#include "tests/temporary_directory.h"
#include "tests/unit/store/segment_fixture.h"

namespace plimsoll::store {

void PrintTo(const Row& row, std::ostream* out) {
  *out << fmt::format("{{event {} workload {} stack {} thread {} origin {} hits {}}}", row.event,
                      row.workload, row.stack, row.thread, row.origin, row.hits);
}

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class SegmentTest : public ::testing::Test {
 protected:
  Result<std::vector<Row>> round_trip(const std::vector<Row>& rows) {
    write_bytes(path_, encode_segment(rows));
    return read_rows(path_);
  }

  plimsoll::testing::TemporaryDirectory folder_;
  std::string path_ = folder_ / "000000000007.rows";
};

// What a segment must hold: sorted, hits of equal keys summed.
std::vector<Row> model(const std::vector<Row>& rows) {
  std::map<std::tuple<uint32_t, uint32_t, uint32_t, uint32_t, uint32_t>, uint64_t> sums;
  for (const Row& row : rows) {
    sums[{row.event, row.workload, row.stack, row.thread, row.origin}] += row.hits;
  }
  std::vector<Row> expected;
  for (const auto& [key, hits] : sums) {
    const auto [event, workload, stack, thread, origin] = key;
    expected.push_back({event, workload, stack, thread, origin, hits});
  }
  return expected;
}

// IDs below `range`: from keys that nearly all meet to keys that hardly ever do.
std::vector<Row> random_rows(uint64_t seed, size_t count, uint32_t range) {
  std::mt19937_64 random(seed);
  const auto id = [&] { return static_cast<uint32_t>(random() % range); };
  std::vector<Row> rows;
  for (size_t i = 0; i < count; ++i) {
    rows.push_back({id(), id(), id(), id(), id(), random() % 1000});
  }
  return rows;
}

TEST_F(SegmentTest, NoRowsAreASegmentToo) {
  EXPECT_THAT(*round_trip({}), IsEmpty());
}

TEST_F(SegmentTest, KeepsTheSmallestAndTheLargestValues) {
  const std::vector<Row> rows = {
      {0, 0, 0, 0, 0, 0},
      {1, 1, 1, 1, 1, 1},
      {UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT64_MAX},
  };
  EXPECT_EQ(*round_trip(rows), rows);
}

TEST_F(SegmentTest, AColumnOfOneValueTakesNoRoom) {
  std::vector<Row> rows;
  for (uint32_t stack = 1; stack <= 1000; ++stack) {
    rows.push_back({3, 3, stack, 3, 3, UINT64_MAX});
  }
  EXPECT_EQ(*round_trip(rows), rows);
  const size_t stacks_alone = 1000 * 10 / 8;
  EXPECT_LT(encode_segment(rows).size(), stacks_alone + 500);
}

TEST_F(SegmentTest, SortsAndSumsEqualKeys) {
  const std::vector<Row> rows = {{2, 1, 1, 1, 1, 5}, {1, 1, 1, 1, 1, 7}, {2, 1, 1, 1, 1, 6}};
  EXPECT_THAT(*round_trip(rows), ElementsAre(Row{1, 1, 1, 1, 1, 7}, Row{2, 1, 1, 1, 1, 11}));
}

TEST_F(SegmentTest, EveryRangeOfValuesComesBack) {
  // Each bit width from 1 to 64, at sizes where values straddle words.
  for (unsigned bits = 1; bits <= 64; ++bits) {
    std::vector<Row> rows;
    std::mt19937_64 random(bits);
    for (uint32_t i = 0; i < 131; ++i) {
      rows.push_back({1, 1, i, 1, 1, i == 0 ? 0 : random() >> (64 - bits)});
    }
    rows.push_back({1, 1, 131, 1, 1, UINT64_MAX >> (64 - bits)});
    ASSERT_EQ(*round_trip(rows), rows) << bits << " bits";
  }
}

TEST_F(SegmentTest, RandomRowsComeBackFromSeveralBlocks) {
  for (const uint32_t range : {2U, 9U, 1000U, UINT32_MAX}) {
    const std::vector<Row> rows = random_rows(range, 2 * kBlockRows + 777, range);
    EXPECT_EQ(*round_trip(rows), model(rows)) << "IDs below " << range;
  }
}

TEST_F(SegmentTest, BlocksAreFullButForTheLast) {
  for (const size_t count : {size_t{1}, kBlockRows - 1, kBlockRows, kBlockRows + 1, 3 * kBlockRows}) {
    std::vector<Row> rows;
    for (uint32_t i = 0; i < count; ++i) {
      rows.push_back({1, 1, i, 1, 1, 1});
    }
    write_bytes(path_, encode_segment(rows));
    const auto segment = Segment::open(path_);
    ASSERT_TRUE(segment) << segment.error().text();
    EXPECT_EQ(segment->rows(), count);
    ASSERT_EQ(segment->blocks(), (count + kBlockRows - 1) / kBlockRows);
    EXPECT_EQ(segment->rows_in_block(segment->blocks() - 1), (count - 1) % kBlockRows + 1);
  }
}

TEST_F(SegmentTest, ZonesAreTheSmallestAndLargestValueOfABlock) {
  const std::vector<Row> rows = model(random_rows(5, kBlockRows + 5000, 100'000));
  write_bytes(path_, encode_segment(rows));
  const auto segment = Segment::open(path_);
  ASSERT_TRUE(segment) << segment.error().text();
  ASSERT_EQ(segment->blocks(), 2);
  std::vector<uint64_t> values;
  for (size_t block = 0; block < 2; ++block) {
    for (size_t column = 0; column < kColumns; ++column) {
      ASSERT_TRUE(segment->read(block, static_cast<Column>(column), values));
      const Segment::Zone zone = segment->zone(block, static_cast<Column>(column));
      EXPECT_EQ(zone.min, *std::ranges::min_element(values)) << block << " " << column;
      EXPECT_EQ(zone.max, *std::ranges::max_element(values)) << block << " " << column;
    }
  }
}

TEST_F(SegmentTest, TheSameRowsInAnyOrderAreTheSameBytes) {
  std::vector<Row> rows = random_rows(11, 5000, 40);
  const std::string bytes = encode_segment(rows);
  std::ranges::shuffle(rows, std::mt19937_64(12));
  EXPECT_EQ(encode_segment(rows), bytes);
}

// --- damage

// Either the damage is found and the error names the file, or the rows are those that were written.
void expect_found_or_harmless(const std::string& path, std::string_view bytes, const std::vector<Row>& rows,
                              std::string_view what) {
  write_bytes(path, bytes);
  const auto read = read_rows(path);
  if (read) {
    ASSERT_EQ(*read, rows) << what << " was not noticed";
    return;
  }
  ASSERT_THAT(read.error().message, HasSubstr(path)) << what;
  ASSERT_TRUE(read.error().code == ErrorCode::kCorrupt || read.error().code == ErrorCode::kUnsupported)
      << what << ": " << read.error().text();
}

TEST_F(SegmentTest, EveryFlippedBitIsFound) {
  const std::vector<Row> rows = model(random_rows(3, 12, 5));
  const std::string bytes = encode_segment(rows);
  size_t found = 0;
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string damaged = bytes;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    ASSERT_NO_FATAL_FAILURE(expect_found_or_harmless(path_, damaged, rows, fmt::format("bit {}", bit)));
    found += read_rows(path_) ? 0 : 1;
  }
  EXPECT_EQ(found, bytes.size() * 8);
}

TEST_F(SegmentTest, EveryTruncationIsFound) {
  const std::vector<Row> rows = model(random_rows(4, 40, 20));
  const std::string bytes = encode_segment(rows);
  for (size_t length = 0; length < bytes.size(); ++length) {
    write_bytes(path_, bytes.substr(0, length));
    const auto read = read_rows(path_);
    ASSERT_FALSE(read) << "cut to " << length << " of " << bytes.size();
    ASSERT_THAT(read.error().message, HasSubstr(path_));
  }
}

TEST_F(SegmentTest, DamageInABlockLeavesTheOtherBlocksReadable) {
  const std::vector<Row> rows = model(random_rows(6, 2 * kBlockRows, 1000));
  std::string bytes = encode_segment(rows);
  bytes.back() = static_cast<char>(bytes.back() ^ 0x80);
  write_bytes(path_, bytes);
  const auto segment = Segment::open(path_);
  ASSERT_TRUE(segment) << segment.error().text();
  std::vector<uint64_t> values;
  EXPECT_TRUE(segment->read(0, Column::kHits, values));
  EXPECT_TRUE(segment->read(1, Column::kOrigin, values));
  const Status damaged = segment->read(1, Column::kHits, values);
  ASSERT_FALSE(damaged);
  EXPECT_THAT(damaged.error().message, HasSubstr("block 1 of column 5"));
}

TEST_F(SegmentTest, WhatIsNoSegmentIsRefused) {
  for (const std::string content : {"", "PLIMSEGM", "SQLite format 3 and so on, and on, and on, and on"}) {
    write_bytes(path_, content);
    const auto segment = Segment::open(path_);
    ASSERT_FALSE(segment) << content;
    EXPECT_EQ(segment.error().code, ErrorCode::kCorrupt);
    EXPECT_THAT(segment.error().message, HasSubstr("no segment header"));
  }
  EXPECT_EQ(Segment::open(folder_ / "missing.rows").error().code, ErrorCode::kNotFound);
}

TEST_F(SegmentTest, AnotherVersionIsNamed) {
  std::string bytes = encode_segment({{1, 1, 1, 1, 1, 1}});
  bytes[8] = 9;
  write_bytes(path_, bytes);
  const auto segment = Segment::open(path_);
  ASSERT_FALSE(segment);
  EXPECT_EQ(segment.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(segment.error().message, HasSubstr("version 9 with 6 columns; this program reads version 1"));
}

}  // namespace
}  // namespace plimsoll::store
