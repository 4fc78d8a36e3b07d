#include "store/segments/segment_merge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "tests/conformance/plain_row.h"
#include "tests/temporary_directory.h"
#include "tests/unit/store/segment_fixture.h"

namespace plimsoll::store {
namespace {

using ::testing::HasSubstr;

class SegmentMergeTest : public ::testing::Test {
 protected:
  std::shared_ptr<const Segment> segment(const std::string& content) {
    const std::string path = fmt::format("{}/{}.rows", folder_.path(), ++files_);
    write_bytes(path, content);
    return std::make_shared<const Segment>(*Segment::open(path));
  }

  std::vector<Row> merged(const std::vector<std::shared_ptr<const Segment>>& inputs,
                          const RowOrder& order = {}) {
    const auto merged = SegmentMerge(inputs, order).run({});
    EXPECT_TRUE(merged) << merged.error().text();
    const auto rows = scan_rows(segment(merged->content)->path());
    EXPECT_TRUE(rows) << rows.error().text();
    EXPECT_EQ(merged->rows, rows->size());
    return *rows;
  }

  // Of the jobs of the workloads from 1.
  static RowOrder order_of(const std::vector<std::string_view>& jobs) {
    RowOrder order;
    for (const std::string_view job : jobs) {
      order.add_workload(job);
    }
    return order;
  }

  testing::TemporaryDirectory folder_;
  int files_ = 0;
};

TEST_F(SegmentMergeTest, RowsOfEqualKeysBecomeOne) {
  const auto a = segment(encode_segment(rows_of({{1, 1, 1, 1, 5, 2}, {1, 2, 1, 1, 5, 7}})));
  const auto b = segment(encode_segment(rows_of({{1, 1, 1, 1, 4, 1}, {1, 1, 1, 1, 5, 40}})));
  EXPECT_EQ(merged({a, b}), (rows_of({{1, 1, 1, 1, 4, 1}, {1, 1, 1, 1, 5, 42}, {1, 2, 1, 1, 5, 7}})));
}

TEST_F(SegmentMergeTest, NothingBecomesNothing) {
  EXPECT_THAT(merged({}), ::testing::IsEmpty());
  EXPECT_THAT(merged({segment(encode_segment({})), segment(encode_segment({}))}), ::testing::IsEmpty());
}

// The second was written when workloads 4 and 5 had come.
TEST_F(SegmentMergeTest, RowsOfAJobStayTogetherWhateverIsKnownWhen) {
  const RowOrder early = order_of({"web", "batch", "web"});
  const RowOrder late = order_of({"web", "batch", "web", "batch", "web"});
  const auto a =
      segment(encode_segment(rows_of({{1, 1, 1, 1, 1, 1}, {1, 2, 1, 1, 1, 1}, {1, 3, 1, 1, 1, 1}}), early));
  const auto b =
      segment(encode_segment(rows_of({{1, 2, 2, 1, 1, 1}, {1, 4, 2, 1, 1, 1}, {1, 5, 2, 1, 1, 1}}), late));
  EXPECT_EQ(merged({a, b}, late), (rows_of({{1, 1, 1, 1, 1, 1},
                                            {1, 3, 1, 1, 1, 1},
                                            {1, 5, 2, 1, 1, 1},
                                            {1, 2, 1, 1, 1, 1},
                                            {1, 2, 2, 1, 1, 1},
                                            {1, 4, 2, 1, 1, 1}})));
}

// Segments of several chunks whose keys lie apart, between each other, or meet.
TEST_F(SegmentMergeTest, HoldsTheSumOfItsInputs) {
  std::mt19937 random(1);
  const auto below = [&](uint32_t count) { return static_cast<uint32_t>(random() % count); };
  for (int round = 0; round < 20; ++round) {
    const RowOrder order = below(2) == 0 ? RowOrder() : order_of({"web", "batch", "web"});
    std::map<Row, uint64_t> expected;
    std::vector<std::shared_ptr<const Segment>> inputs;
    const uint32_t stacks = 1 + below(50'000);
    for (uint32_t input = 0, count = 1 + below(9); input < count; ++input) {
      std::vector<Row> rows;
      const uint32_t first_origin = below(2) == 0 ? 0 : input * 100;
      for (uint32_t i = 0, size = below(round == 0 ? 200'000 : 5'000); i < size; ++i) {
        rows.push_back(row_of({1 + below(2), 1 + below(3), 1 + first_origin + below(100), 1, below(stacks),
                               below(4) == 0 ? uint64_t{random()} : 1, below(3)}));
        Row key = rows.back();
        expected[(key.hits = 0, key)] += rows.back().hits;
      }
      inputs.push_back(segment(encode_segment(std::move(rows), order)));
    }
    std::vector<Row> sums;
    for (const auto& [key, hits] : expected) {
      sums.push_back(key);
      sums.back().hits = hits;
    }
    std::erase_if(sums, [](const Row& row) { return row.hits == 0; });
    std::ranges::sort(sums, order);
    ASSERT_EQ(merged(inputs, order), sums) << round;
  }
}

TEST_F(SegmentMergeTest, AnInputThatIsNotInOrderIsNamed) {
  SegmentWriter within_a_chunk;
  within_a_chunk.add(row_of({1, 2, 1, 1, 1, 1}));
  within_a_chunk.add(row_of({1, 1, 1, 1, 1, 1}));
  SegmentWriter between_chunks;
  for (uint32_t stack = 0; stack <= kChunkRows; ++stack) {
    between_chunks.add(row_of({1, 1, 1, 1, stack < kChunkRows ? stack : 0, 1}));
  }
  const auto good = segment(encode_segment(rows_of({{1, 1, 1, 1, 1, 1}})));
  for (const std::string& content : {within_a_chunk.finish(), between_chunks.finish()}) {
    const auto bad = segment(content);
    const RowOrder order;
    SegmentMerge merge({good, bad}, order);
    const auto merged = merge.run({});
    ASSERT_FALSE(merged);
    EXPECT_EQ(merged.error().code, ErrorCode::kCorrupt);
    EXPECT_THAT(merged.error().message, HasSubstr(bad->path() + " is damaged: its rows are not in order"));
    EXPECT_EQ(merge.failed_input(), 1);
  }
}

}  // namespace
}  // namespace plimsoll::store
