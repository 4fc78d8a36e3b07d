#include "store/segments/segment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "tests/conformance/plain_row.h"
#include "tests/temporary_directory.h"
#include "tests/unit/store/segment_fixture.h"

namespace plimsoll::store {

void PrintTo(const Row& row, std::ostream* out) {
  *out << fmt::format("{{{}, hits {}}}", text_of(row.ids), row.hits);
}

namespace {

using ::testing::ElementsAreArray;
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

// What a segment must hold: hits of equal keys summed.
std::vector<Row> model(const std::vector<Row>& rows) {
  std::map<Row, uint64_t> sums;
  for (const Row& row : rows) {
    Row key = row;
    key.hits = 0;
    sums[key] += row.hits;
  }
  std::vector<Row> expected;
  for (const auto& [key, hits] : sums) {
    expected.push_back(key);
    expected.back().hits = hits;
  }
  return expected;
}

// IDs below `range`: from keys that nearly all meet to keys that hardly ever do.
std::vector<Row> random_rows(uint64_t seed, size_t count, uint32_t range) {
  std::mt19937_64 random(seed);
  const auto id = [&] { return static_cast<uint32_t>(random() % range); };
  std::vector<Row> rows;
  for (size_t i = 0; i < count; ++i) {
    rows.push_back(row_of({id(), id(), id(), id(), id(), 1 + random() % 1000, id() % 50}));
  }
  return rows;
}

TEST_F(SegmentTest, NoRowsAreASegmentToo) {
  EXPECT_THAT(*round_trip({}), IsEmpty());
}

TEST_F(SegmentTest, KeepsTheSmallestAndTheLargestValues) {
  const std::vector<Row> rows = rows_of({
      {1, 1, 1, 1, 0, 1},
      {UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT64_MAX, UINT32_MAX},
  });
  EXPECT_EQ(*round_trip(rows), rows);
}

TEST_F(SegmentTest, AColumnOfOneValueTakesNoRoom) {
  std::vector<Row> rows;
  for (uint32_t stack = 1; stack <= 1000; ++stack) {
    rows.push_back(row_of({3, 3, 3, 3, stack, UINT64_MAX}));
  }
  EXPECT_EQ(*round_trip(rows), rows);
  const size_t stacks_alone = 1000 * 10 / 8;
  EXPECT_LT(encode_segment(rows).size(), stacks_alone + 500);
}

TEST_F(SegmentTest, SortsAndSumsEqualKeys) {
  const std::vector<Row> rows = rows_of({{2, 1, 1, 1, 1, 5}, {1, 1, 1, 1, 1, 7}, {2, 1, 1, 1, 1, 6}});
  EXPECT_THAT(*round_trip(rows), ElementsAreArray(rows_of({{1, 1, 1, 1, 1, 7}, {2, 1, 1, 1, 1, 11}})));
}

TEST_F(SegmentTest, EveryRangeOfValuesComesBack) {
  // Each bit width from 1 to 64, at sizes where values straddle words.
  for (unsigned bits = 1; bits <= 64; ++bits) {
    std::vector<Row> rows;
    std::mt19937_64 random(bits);
    for (uint32_t i = 0; i < 131; ++i) {
      rows.push_back(row_of({1, 1, 1, 1, i, std::max<uint64_t>(1, random() >> (64 - bits))}));
    }
    rows.push_back(row_of({1, 1, 1, 1, 131, UINT64_MAX >> (64 - bits)}));
    ASSERT_EQ(*round_trip(rows), rows) << bits << " bits";
  }
}

TEST_F(SegmentTest, ManyRandomRowsComeBack) {
  for (const uint32_t range : {2U, 9U, 1000U, UINT32_MAX}) {
    const std::vector<Row> rows = random_rows(range, 150'000, range);
    EXPECT_EQ(*round_trip(rows), model(rows)) << "IDs below " << range;
  }
}

TEST_F(SegmentTest, TheSameRowsInAnyOrderAreTheSameBytes) {
  std::vector<Row> rows = random_rows(11, 5000, 40);
  const std::string bytes = encode_segment(rows);
  std::ranges::shuffle(rows, std::mt19937_64(12));
  EXPECT_EQ(encode_segment(rows), bytes);
}

}  // namespace
}  // namespace plimsoll::store
