// What damaged and older files of spans cost.
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "sqlite/database.h"
#include "tests/unit/store/span_store_fixture.h"

namespace plimsoll::testing {
namespace {

using store::LocalSpanSink;
using store::SpanBlockLimits;
using ::testing::ElementsAre;

// As versions left it that kept no attributes: without their table, and 58 bytes a span that is in no file yet.
TEST_F(SpanStoreTest, ABlockWithoutAttributesIsReadAndGoesOn) {
  open();
  add({span_of(1), span_of(2)});
  sink_.reset();
  {
    auto database = sqlite::Database::open(catalogue_of("000001"), sqlite::OpenMode::kReadWrite);
    ASSERT_TRUE(database) << database.error().text();
    std::string records;
    ASSERT_TRUE(sqlite::for_each_row(database->query("SELECT records FROM recent"),
                                     [&](const sqlite::Statement& row) { records = row.blob(0); }));
    ASSERT_EQ(records.size(), 2 * 62);
    const std::string old = records.substr(0, 58) + records.substr(62, 58);
    ASSERT_TRUE(database->execute("UPDATE recent SET records = ?", as_bytes(old)));
    ASSERT_TRUE(database->run("DROP TABLE attributes"));
  }
  EXPECT_THAT(answer_of(source_), ElementsAre(span_of(1), span_of(2)));
  open();
  PlainSpan span = span_of(3);
  span.attributes = {{"host.type", "c7"}};
  add({span});
  EXPECT_THAT(answer_of(source_), ElementsAre(span_of(1), span_of(2), span));
  now_ns_ += 61 * kSpanSecondNs;
  ASSERT_TRUE(sink_->settle());
  EXPECT_EQ(files().size(), 1);
  EXPECT_THAT(answer_of(source_), ElementsAre(span_of(1), span_of(2), span));
}

TEST_F(SpanStoreTest, ADamagedFileCostsItsSpansAndIsNamed) {
  open({.max_recent = 1});
  add({span_of(1)});
  const std::string file = files().at(0);
  add({span_of(2)});
  std::ofstream(file, std::ios::app) << "more";
  std::vector<store::DamagedPart> damaged;
  EXPECT_THAT(sound_answer(damaged), ElementsAre(span_of(2)));
  ASSERT_EQ(damaged.size(), 1);
  EXPECT_EQ(damaged.front().path, file);
  EXPECT_EQ(damaged.front().rows, 1);
}

// Nothing says that its spans are lost: a part of an answer would pass for the whole.
TEST_F(SpanStoreTest, AFileThatCannotBeOpenedForAnotherReasonFailsTheQuestion) {
  open({.max_recent = 1});
  add({span_of(1)});
  const std::string file = files().at(0);
  std::filesystem::remove(file);
  std::filesystem::create_symlink(file, file);
  const auto failed = source_.read({}, [](const store::StoredSpan&) { return Status(); });
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::kIo) << failed.error().text();
}

TEST_F(SpanStoreTest, ABlockWithoutItsCatalogueCostsItsSpansAlone) {
  open({.max_bytes = 1});
  add({span_of(1)});
  add({span_of(2)});
  sink_.reset();
  std::filesystem::remove(catalogue_of("000001"));
  std::vector<store::DamagedPart> damaged;
  EXPECT_THAT(sound_answer(damaged), ElementsAre(span_of(2)));
  ASSERT_EQ(damaged.size(), 1);
  EXPECT_EQ(damaged.front().path, path_ + "/000001");
}

// What fills the disk is what has to go, whatever else fails.
TEST_F(SpanStoreTest, OldBlocksGoThoughTheNewestIsDamaged) {
  const SpanBlockLimits limits{.max_bytes = 1};
  open(limits);
  for (uint64_t number = 1; number <= 3; ++number) {
    add({span_of(number)});
  }
  sink_.reset();
  std::ofstream(catalogue_of("000003"), std::ios::trunc) << std::string(8192, 'x');
  ASSERT_NO_FATAL_FAILURE(open(limits)) << "a server starts all the same";
  const auto dropped = sink_->drop_old(0, 1);
  ASSERT_FALSE(dropped) << "the damage is said";
  EXPECT_EQ(dropped.error().code, ErrorCode::kCorrupt) << dropped.error().text();
  EXPECT_THAT(blocks(), ElementsAre("000003"));
  add({span_of(4)});
  EXPECT_THAT(blocks(), ElementsAre("000003", "000004")) << "what comes has a block of its own";
  std::vector<store::DamagedPart> damaged;
  EXPECT_THAT(sound_answer(damaged), ElementsAre(span_of(4)));
  EXPECT_EQ(damaged.size(), 1);
}

TEST_F(SpanStoreTest, ANewestBlockWithoutItsCatalogueStaysAsItIs) {
  open({.max_recent = 1});
  add({span_of(1)});
  sink_.reset();
  std::filesystem::remove(catalogue_of("000001"));
  ASSERT_NO_FATAL_FAILURE(open({.max_recent = 1}));
  add({span_of(2)});
  EXPECT_THAT(blocks(), ElementsAre("000001", "000002"));
  EXPECT_FALSE(std::filesystem::exists(catalogue_of("000001")));
  EXPECT_EQ(files().size(), 2);
}

TEST_F(SpanStoreTest, DamagedRecentSpansStayAndTheNextComeToANewBlock) {
  const SpanBlockLimits limits{.max_recent_age_ns = 10 * kSpanSecondNs};
  open(limits);
  add({span_of(1)});
  sink_.reset();
  {
    auto database = sqlite::Database::open(catalogue_of("000001"), sqlite::OpenMode::kReadWrite);
    ASSERT_TRUE(database) << database.error().text();
    ASSERT_TRUE(database->run("UPDATE recent SET records = x'0102'"));
  }
  open(limits);
  now_ns_ += 10 * kSpanSecondNs;
  // The segment that is due cannot be made.
  add({span_of(2)});
  add({span_of(3)});
  EXPECT_THAT(blocks(), ElementsAre("000001", "000002"));
  std::vector<store::DamagedPart> damaged;
  EXPECT_THAT(sound_answer(damaged), ElementsAre(span_of(2), span_of(3)));
  ASSERT_EQ(damaged.size(), 1);
  EXPECT_EQ(damaged.front().path, catalogue_of("000001"));
  EXPECT_EQ(damaged.front().rows, 1);
}

TEST_F(SpanStoreTest, WithABlockMissingInBetweenAServerStartsAndTakesNoSpans) {
  open({.max_bytes = 1});
  for (uint64_t number = 1; number <= 3; ++number) {
    add({span_of(number)});
  }
  sink_.reset();
  std::filesystem::remove_all(path_ + "/000002");
  ASSERT_NO_FATAL_FAILURE(open());
  const auto refused = sink_->add(span_set_of({span_of(4)}), 1);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kCorrupt) << refused.error().text();
  EXPECT_FALSE(std::filesystem::exists(path_ + "/000004"));
}

TEST_F(SpanStoreTest, TimesThatCannotBeAreDamage) {
  open();
  add({span_of(1)});
  sink_.reset();
  {
    auto database = sqlite::Database::open(catalogue_of("000001"), sqlite::OpenMode::kReadWrite);
    ASSERT_TRUE(database) << database.error().text();
    ASSERT_TRUE(database->run("UPDATE block SET first_written_ns = -9223372036854775807"));
  }
  open();
  add({span_of(2)});
  EXPECT_THAT(blocks(), ElementsAre("000001", "000002"));
}

TEST_F(SpanStoreTest, BlocksOfAnotherDirectoryAreRefused) {
  open();
  add({span_of(1)});
  auto other = LocalSpanSink::open(path_, "another 16 bytes", {}, [] { return kSpanStoreNow; });
  ASSERT_TRUE(other) << other.error().text();
  const auto refused = (*other)->add(span_set_of({span_of(2)}), 1);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kConflict) << refused.error().text();
  EXPECT_THAT(blocks(), ElementsAre("000001"));
}

}  // namespace
}  // namespace plimsoll::testing
