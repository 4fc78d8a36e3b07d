// When spans become files, and blocks end and go.
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "store/directory/data_directory.h"
#include "store/store.h"
#include "tests/unit/store/span_store_fixture.h"

namespace plimsoll::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST_F(SpanStoreTest, ALargeBatchIsASegmentAtOnce) {
  open({.max_recent = 3});
  add({span_of(1), span_of(2), span_of(3)});
  EXPECT_EQ(files().size(), 1);
  add({span_of(4)});
  EXPECT_EQ(files().size(), 1);
  add({span_of(5), span_of(6)});
  EXPECT_EQ(files().size(), 2) << "three have gathered";
  EXPECT_EQ(answer_of(source_).size(), 6);
}

TEST_F(SpanStoreTest, AnOldOrFullBlockIsSealedAndTheNextBeginsWithItsOwnNames) {
  open({.max_age_ns = 100 * kSpanSecondNs});
  add({span_of(1, "a")});
  now_ns_ += 100 * kSpanSecondNs;
  add({span_of(2, "b")});
  EXPECT_THAT(blocks(), ElementsAre("000001", "000002"));
  EXPECT_EQ(files().size(), 1) << "a sealed block has no recent spans";
  EXPECT_THAT(answer_of(source_), ElementsAre(span_of(1, "a"), span_of(2, "b")));
  open({.max_bytes = 1});
  add({span_of(3, "c")});
  add({span_of(4, "d")});
  EXPECT_THAT(blocks(), ElementsAre("000001", "000002", "000003"));
  // Copies in two blocks, with other numbers for the same names.
  add({span_of(1, "a"), span_of(2, "b")});
  EXPECT_THAT(answer_of(source_),
              ElementsAre(span_of(1, "a"), span_of(2, "b"), span_of(3, "c"), span_of(4, "d")));
}

TEST_F(SpanStoreTest, DropsWholeBlocksByAgeAndBySize) {
  open({.max_age_ns = 100 * kSpanSecondNs});
  for (uint64_t number = 1; number <= 4; ++number) {
    add({span_of(number)});
    now_ns_ += 100 * kSpanSecondNs;
  }
  EXPECT_THAT(blocks(), ElementsAre("000001", "000002", "000003", "000004"));
  const auto by_age = sink_->drop_old(kSpanStoreNow + 150 * kSpanSecondNs, UINT64_MAX);
  ASSERT_TRUE(by_age) << by_age.error().text();
  EXPECT_EQ(*by_age, 2);
  EXPECT_THAT(answer_of(source_), ElementsAre(span_of(3), span_of(4)));
  const auto by_size = sink_->drop_old(0, 1);
  ASSERT_TRUE(by_size) << by_size.error().text();
  EXPECT_EQ(*by_size, 1);
  EXPECT_THAT(answer_of(source_), ElementsAre(span_of(4))) << "the newest stays, whatever it takes";
  // When nothing comes any more.
  const auto last = sink_->drop_old(now_ns_, UINT64_MAX);
  ASSERT_TRUE(last) << last.error().text();
  EXPECT_EQ(*last, 1);
  EXPECT_THAT(answer_of(source_), IsEmpty());
  add({span_of(5)});
  open();
  EXPECT_THAT(answer_of(source_), ElementsAre(span_of(5)));
}

TEST_F(SpanStoreTest, ForAFullDiskTheOldestBlockGoesAndNeverTheNewest) {
  open({.max_bytes = 1});
  EXPECT_FALSE(*sink_->drop_oldest());
  add({span_of(1)});
  add({span_of(2)});
  EXPECT_TRUE(*sink_->drop_oldest());
  EXPECT_THAT(answer_of(source_), ElementsAre(span_of(2)));
  EXPECT_FALSE(*sink_->drop_oldest());
  EXPECT_THAT(answer_of(source_), ElementsAre(span_of(2)));
}

TEST_F(SpanStoreTest, ABlockThatWasBegunWhileTheClockWasAheadEnds) {
  constexpr int64_t kYearNs = 365 * 24 * 3600 * kSpanSecondNs;
  open();
  now_ns_ += kYearNs;
  add({span_of(1)});
  now_ns_ -= kYearNs;
  add({span_of(2)});
  add({span_of(3)});
  EXPECT_THAT(blocks(), ElementsAre("000001", "000002"));
  EXPECT_EQ(answer_of(source_).size(), 3);
}

// A limit that is smaller than a block's empty tables.
TEST_F(SpanStoreTest, ASmallLimitDoesNotMakeABlockOfEachBatch) {
  auto directory = store::DataDirectory::open_for_writing(folder_ / "data");
  ASSERT_TRUE(directory) << directory.error().text();
  const auto sink = store::open_span_sink(*directory, 1);
  ASSERT_TRUE(sink) << sink.error().text();
  for (uint64_t number = 1; number <= 3; ++number) {
    ASSERT_TRUE((*sink)->add(span_set_of({span_of(number)}), 1));
  }
  EXPECT_EQ(store::list_span_blocks(directory->spans_path())->size(), 1);
}

TEST_F(SpanStoreTest, FilesThatNoCatalogueShowsGoWhenItIsOpened) {
  open({.max_recent = 1});
  add({span_of(1)});
  std::ofstream(path_ + "/000001/segments/0000.spans") << "left";
  std::filesystem::create_directories(path_ + "/000002.tmp/segments");
  EXPECT_EQ(files().size(), 2);
  open();
  EXPECT_EQ(files().size(), 1);
  EXPECT_FALSE(std::filesystem::exists(path_ + "/000002.tmp"));
  EXPECT_THAT(answer_of(source_), ElementsAre(span_of(1)));
}

}  // namespace
}  // namespace plimsoll::testing
