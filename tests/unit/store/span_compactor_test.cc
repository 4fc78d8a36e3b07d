// How small files of spans become larger ones.
#include <chrono>
#include <filesystem>
#include <fstream>
#include <stop_token>
#include <string>
#include <vector>

#include "tests/unit/store/span_store_fixture.h"

namespace plimsoll::testing {
namespace {

using store::SpanBlockLimits;
using ::testing::ElementsAre;
using ::testing::SizeIs;

// Files that were merged go at once.
SpanBlockLimits merging_limits() {
  return {.max_recent = 1, .merging = {.max_rows = 1000, .keep_replaced = std::chrono::seconds(0)}};
}

class SpanCompactorTest : public SpanStoreTest {
 protected:
  // A file each.
  void add_files(uint64_t first, uint64_t count) {
    for (uint64_t number = first; number < first + count; ++number) {
      add({span_of(number)});
    }
  }

  store::SpanFilesMerged merge() {
    const auto merged = sink_->merge_once({});
    EXPECT_TRUE(merged) << merged.error().text();
    return merged.value_or(store::SpanFilesMerged());
  }

  void merge_all() {
    while (merge().merged > 0) {
    }
  }
};

TEST_F(SpanCompactorTest, EightSmallFilesBecomeOne) {
  open(merging_limits());
  add_files(1, 7);
  EXPECT_EQ(merge().merged, 0);
  add_files(8, 1);
  const std::vector<PlainSpan> before = answer_of(source_);
  const store::SpanFilesMerged merged = merge();
  EXPECT_EQ(merged.merged, 8);
  EXPECT_EQ(merged.made, 1);
  EXPECT_THAT(files(), SizeIs(1));
  EXPECT_EQ(answer_of(source_), before);
  EXPECT_THAT(answer_of(source_, {.trace = traces::TraceId{1, 3}}), ElementsAre(span_of(3)));
  EXPECT_EQ(merge().merged, 0);
}

TEST_F(SpanCompactorTest, FilesAreSoFewThatTheirNumberHardlyGrows) {
  open(merging_limits());
  for (uint64_t number = 1; number <= 512; ++number) {
    add({span_of(number)});
    merge_all();
    ASSERT_LT(files().size(), 24) << number << " spans";
  }
  EXPECT_THAT(files(), SizeIs(1)) << "eight of each rank became one of the next";
  EXPECT_THAT(answer_of(source_), SizeIs(512));
}

TEST_F(SpanCompactorTest, ASpanThatCameAgainAndAgainIsInAFileOnce) {
  open(merging_limits());
  PlainSpan longest = span_of(1);
  for (int i = 0; i < 8; ++i) {
    longest.end_ns += 1;
    add({longest});
  }
  EXPECT_EQ(merge().merged, 8);
  EXPECT_THAT(answer_of(source_), ElementsAre(longest));
  // As known after it as before.
  add({span_of(1)});
  EXPECT_THAT(answer_of(source_), ElementsAre(longest));
}

TEST_F(SpanCompactorTest, SealedBlocksAreMergedToo) {
  SpanBlockLimits limits = merging_limits();
  limits.max_age_ns = 100 * kSpanSecondNs;
  open(limits);
  add_files(1, 8);
  now_ns_ += 100 * kSpanSecondNs;
  add_files(9, 1);
  ASSERT_THAT(blocks(), SizeIs(2));
  EXPECT_EQ(merge().merged, 8);
  EXPECT_EQ(merge().merged, 0);
  EXPECT_THAT(files(), SizeIs(2));
  EXPECT_THAT(answer_of(source_), SizeIs(9));
  const auto dropped = sink_->drop_oldest();
  ASSERT_TRUE(dropped) << dropped.error().text();
  EXPECT_THAT(answer_of(source_), ElementsAre(span_of(9)));
}

TEST_F(SpanCompactorTest, ADamagedFileStaysAndTheOthersAreMerged) {
  open(merging_limits());
  add_files(1, 1);
  const std::string damaged_file = files().at(0);
  add_files(2, 8);
  std::ofstream(damaged_file, std::ios::app) << "more";
  EXPECT_EQ(merge().merged, 8);
  EXPECT_TRUE(std::filesystem::exists(damaged_file));
  EXPECT_THAT(files(), SizeIs(2));
  std::vector<store::DamagedPart> damaged;
  EXPECT_THAT(sound_answer(damaged), SizeIs(8));
  EXPECT_THAT(damaged, SizeIs(1));
}

TEST_F(SpanCompactorTest, AMergeThatIsStoppedChangesNothing) {
  open(merging_limits());
  add_files(1, 8);
  const std::vector<std::string> before = files();
  std::stop_source stop;
  stop.request_stop();
  const auto stopped = sink_->merge_once(stop.get_token());
  ASSERT_TRUE(stopped) << stopped.error().text();
  EXPECT_EQ(stopped->merged, 0);
  EXPECT_EQ(files(), before);
}

TEST_F(SpanCompactorTest, FilesThatWereMergedStayForReadersThatHaveJustListedThem) {
  SpanBlockLimits limits = merging_limits();
  limits.merging.keep_replaced = std::chrono::hours(1);
  open(limits);
  add_files(1, 8);
  EXPECT_EQ(merge().merged, 8);
  EXPECT_THAT(files(), SizeIs(9));
  EXPECT_THAT(answer_of(source_), SizeIs(8));
  sink_.reset();
  EXPECT_THAT(files(), SizeIs(1)) << "none is left behind";
}

TEST_F(SpanCompactorTest, RandomSpansAnswerAsBeforeTheyWereMerged) {
  for (const uint64_t seed : {1, 2, 3}) {
    SCOPED_TRACE(seed);
    sink_.reset();
    std::filesystem::remove_all(path_);
    RandomSpans random(seed);
    SpanBlockLimits limits = merging_limits();
    limits.merging.min_inputs = 3;
    limits.max_age_ns = 500 * kSpanSecondNs;
    ASSERT_NO_FATAL_FAILURE(open(limits));
    SpanModel model;
    for (int round = 0; round < 60; ++round) {
      const std::vector<PlainSpan> spans = random.next(1 + random.below(20));
      add(spans);
      model.add(spans, 1);
      now_ns_ += random.below(30) * kSpanSecondNs;
      if (random.one_in(3)) {
        merge();
      }
      const store::SpanQuestion question = random.question();
      ASSERT_EQ(answer_of(source_, question), model.answer(question)) << round;
    }
    merge_all();
    ASSERT_EQ(answer_of(source_), model.answer({}));
  }
}

}  // namespace
}  // namespace plimsoll::testing
