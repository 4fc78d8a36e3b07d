#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sqlite/database.h"
#include "store/directory/data_directory.h"
#include "store/spans/local_span_sink.h"
#include "store/spans/local_span_source.h"
#include "store/store.h"
#include "tests/temporary_directory.h"
#include "tests/traces/span_fixture.h"

namespace plimsoll::testing {
namespace {

using store::LocalSpanSink;
using store::LocalSpanSource;
using store::SpanBlockLimits;
using store::SpanQuestion;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr int64_t kSecondNs = 1'000'000'000;
constexpr int64_t kNow = int64_t{1'700'000'000} * kSecondNs;
constexpr const char* kDirectoryId = "0123456789abcdef";

class SpanStoreTest : public ::testing::Test {
 protected:
  void open(const SpanBlockLimits& limits = {}) {
    sink_.reset();
    auto sink = LocalSpanSink::open(path_, kDirectoryId, limits, [this] { return now_ns_; });
    ASSERT_TRUE(sink) << sink.error().text();
    sink_ = std::move(*sink);
  }

  store::SpansKept add(const std::vector<PlainSpan>& spans, double weight = 1) {
    const auto kept = sink_->add(span_set_of(spans), weight);
    EXPECT_TRUE(kept) << kept.error().text();
    return kept.value_or(store::SpansKept());
  }

  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path_)) {
      if (entry.path().extension() == ".spans") {
        names.push_back(entry.path().string());
      }
    }
    return names;
  }

  std::vector<std::string> blocks() const {
    std::vector<std::string> names;
    const auto listed = store::list_span_blocks(path_);
    EXPECT_TRUE(listed) << listed.error().text();
    for (const store::BlockFolder& block : *listed) {
      names.push_back(block.name());
    }
    return names;
  }

  // The spans that are answered, though some are damaged.
  std::vector<PlainSpan> sound_answer(std::vector<store::DamagedPart>& damaged) {
    std::vector<PlainSpan> spans;
    auto read = source_.read({}, [&](const store::StoredSpan& span) -> Status {
      spans.push_back(plain(span));
      return {};
    });
    EXPECT_TRUE(read) << read.error().text();
    damaged = read ? std::move(*read) : std::vector<store::DamagedPart>();
    return spans;
  }

  std::string catalogue_of(const std::string& block) const { return path_ + "/" + block + "/catalogue.db"; }

  TemporaryDirectory folder_;
  const std::string path_ = folder_ / "spans";
  int64_t now_ns_ = kNow;
  std::unique_ptr<LocalSpanSink> sink_;
  LocalSpanSource source_{path_};
};

// Of a service, named by its number.
PlainSpan span_of(uint64_t number, const std::string& service = "cart") {
  return {.trace = {.high = 1, .low = number},
          .id = number,
          .start_ns = kNow,
          .end_ns = kNow + 5,
          .service = service};
}

TEST_F(SpanStoreTest, ADirectoryWithoutSpansHasNoBlock) {
  open();
  EXPECT_THAT(answer_of(source_), IsEmpty());
  EXPECT_TRUE(sink_->settle());
  const auto dropped = sink_->drop_old(INT64_MAX, 0);
  ASSERT_TRUE(dropped) << dropped.error().text();
  EXPECT_EQ(*dropped, 0);
  EXPECT_EQ(add({}).spans, 0);
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(SpanStoreTest, KeepsAllThatIsKnownOfASpan) {
  open();
  const PlainSpan span{.trace = {.high = 5, .low = 6},
                       .id = 7,
                       .is_shared = true,
                       .kind = traces::SpanKind::kConsumer,
                       .start_ns = kNow,
                       .end_ns = kNow - 3,
                       .service = "shop/cart",
                       .operation = "GET /cart",
                       .parent = 8,
                       .replica = "cart-1",
                       .machine = "node-1",
                       .version = "v2",
                       .status = traces::SpanStatus::kError,
                       .weight = 20};
  EXPECT_EQ(add({span}, 20).spans, 1);
  EXPECT_THAT(answer_of(source_), ElementsAre(span));
  open();
  now_ns_ += 61 * kSecondNs;
  ASSERT_TRUE(sink_->settle());
  EXPECT_EQ(files().size(), 1);
  EXPECT_THAT(answer_of(source_), ElementsAre(span));
}

TEST_F(SpanStoreTest, ASpanThatComesAgainIsReturnedOnce) {
  open({.max_recent = 2});
  add({span_of(1), span_of(1)});
  add({span_of(1)});
  add({span_of(2), span_of(1)});
  PlainSpan longer = span_of(1);
  longer.end_ns += 1;
  add({longer});
  EXPECT_THAT(answer_of(source_), ElementsAre(longer, span_of(2)));
}

TEST_F(SpanStoreTest, HalvesOfACallWithOneIdAreTwoSpans) {
  open();
  PlainSpan client = span_of(1);
  client.kind = traces::SpanKind::kClient;
  PlainSpan shared = span_of(1);
  shared.is_shared = true;
  add({span_of(1), client, shared});
  EXPECT_EQ(answer_of(source_).size(), 3);
}

TEST_F(SpanStoreTest, AnswersOfTimesAndTraces) {
  open();
  PlainSpan later = span_of(2);
  later.start_ns += 100;
  later.end_ns += 100;
  add({span_of(1), later});
  EXPECT_THAT(answer_of(source_, {.times = {kNow + 6, kNow + 200}}), ElementsAre(later));
  EXPECT_THAT(answer_of(source_, {.times = {kNow - 100, kNow}}), IsEmpty()) << "without the end";
  EXPECT_THAT(answer_of(source_, {.times = {kNow + 5, kNow + 6}}), ElementsAre(span_of(1)));
  EXPECT_THAT(answer_of(source_, {.trace = traces::TraceId{1, 2}}), ElementsAre(later));
  EXPECT_THAT(answer_of(source_, {.trace = traces::TraceId{2, 2}}), IsEmpty());
}

TEST_F(SpanStoreTest, RefusesMoreSpansThanTheCallerCanTake) {
  open();
  add({span_of(1), span_of(2)});
  const auto refused = source_.read({.max_spans = 1}, [](const store::StoredSpan&) { return Status(); });
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kTooLarge);
}

TEST_F(SpanStoreTest, NamesBeyondTheLimitAreOther) {
  store::SpanNameLimits names;
  names.texts[static_cast<size_t>(store::SpanText::kService)] = 2;
  open({.names = names});
  const store::SpansKept kept = add(
      {span_of(1, "a"), span_of(2, "b"), span_of(3, "c"), span_of(4, "d"), span_of(5, "a"), span_of(6, "")});
  EXPECT_EQ(kept.spans, 6);
  EXPECT_EQ(kept.with_other_names, 2);
  std::vector<std::string> services;
  for (const PlainSpan& span : answer_of(source_)) {
    services.push_back(span.service);
  }
  EXPECT_THAT(services, ElementsAre("a", "b", "[other]", "[other]", "a", ""));
}

TEST_F(SpanStoreTest, MethodsAndProcessesBeyondTheLimitKeepServiceKindAndWeight) {
  store::SpanNameLimits names;
  names.methods = 1;
  names.processes = 1;
  open({.names = names});
  PlainSpan first = span_of(1);
  first.replica = "r1";
  PlainSpan second = span_of(2);
  second.operation = "PUT /";
  second.replica = "r2";
  second.machine = "m2";
  EXPECT_EQ(add({first, second}, 3).with_other_names, 1);
  first.weight = 3;
  second.weight = 3;
  second.operation = "[other]";
  second.replica = "[other]";
  second.machine = "";
  EXPECT_THAT(answer_of(source_), ElementsAre(first, second));
}

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
  open({.max_age_ns = 100 * kSecondNs});
  add({span_of(1, "a")});
  now_ns_ += 100 * kSecondNs;
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
  open({.max_age_ns = 100 * kSecondNs});
  for (uint64_t number = 1; number <= 4; ++number) {
    add({span_of(number)});
    now_ns_ += 100 * kSecondNs;
  }
  EXPECT_THAT(blocks(), ElementsAre("000001", "000002", "000003", "000004"));
  const auto by_age = sink_->drop_old(kNow + 150 * kSecondNs, UINT64_MAX);
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
  const SpanBlockLimits limits{.max_recent_age_ns = 10 * kSecondNs};
  open(limits);
  add({span_of(1)});
  sink_.reset();
  {
    auto database = sqlite::Database::open(catalogue_of("000001"), sqlite::OpenMode::kReadWrite);
    ASSERT_TRUE(database) << database.error().text();
    ASSERT_TRUE(database->run("UPDATE recent SET records = x'0102'"));
  }
  open(limits);
  now_ns_ += 10 * kSecondNs;
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
  constexpr int64_t kYearNs = 365 * 24 * 3600 * kSecondNs;
  open();
  now_ns_ += kYearNs;
  add({span_of(1)});
  now_ns_ -= kYearNs;
  add({span_of(2)});
  add({span_of(3)});
  EXPECT_THAT(blocks(), ElementsAre("000001", "000002"));
  EXPECT_EQ(answer_of(source_).size(), 3);
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

TEST_F(SpanStoreTest, BlocksOfAnotherDirectoryAreRefused) {
  open();
  add({span_of(1)});
  auto other = LocalSpanSink::open(path_, "another 16 bytes", {}, [] { return kNow; });
  ASSERT_TRUE(other) << other.error().text();
  const auto refused = (*other)->add(span_set_of({span_of(2)}), 1);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kConflict) << refused.error().text();
  EXPECT_THAT(blocks(), ElementsAre("000001"));
}

TEST_F(SpanStoreTest, RefusesWeightsThatCannotBe) {
  open();
  for (const double weight : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    const auto refused = sink_->add(span_set_of({span_of(1)}), weight);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalid);
  }
  EXPECT_THAT(answer_of(source_), IsEmpty());
}

// Through the door of the store.
TEST_F(SpanStoreTest, ADataDirectoryHasSpansBesideItsProfiles) {
  const std::string data_dir = folder_ / "data";
  auto directory = store::DataDirectory::open_for_writing(data_dir);
  ASSERT_TRUE(directory) << directory.error().text();
  const auto source = store::open_span_source(data_dir);
  EXPECT_THAT(answer_of(*source), IsEmpty());
  {
    const auto sink = store::open_span_sink(*directory);
    ASSERT_TRUE(sink) << sink.error().text();
    const auto kept = (*sink)->add(span_set_of({span_of(1)}), 1);
    ASSERT_TRUE(kept) << kept.error().text();
  }
  EXPECT_THAT(answer_of(*source), ElementsAre(span_of(1)));
  const auto again = store::open_span_sink(*directory);
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_THAT(answer_of(*source), ElementsAre(span_of(1)));
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

TEST_F(SpanStoreTest, RandomBatchesAnswerAsTheModelDoes) {
  for (const uint64_t seed : {1, 2, 3, 4}) {
    SCOPED_TRACE(seed);
    sink_.reset();
    std::filesystem::remove_all(path_);
    RandomSpans random(seed);
    const SpanBlockLimits limits{.max_bytes = 200'000, .max_age_ns = 500 * kSecondNs, .max_recent = 40};
    ASSERT_NO_FATAL_FAILURE(open(limits));
    SpanModel model;
    for (int round = 0; round < 40; ++round) {
      SCOPED_TRACE(round);
      const std::vector<PlainSpan> spans = random.next(random.below(60));
      const double weight = random.one_in(3) ? 20 : 1;
      ASSERT_EQ(add(spans, weight).spans, spans.size());
      model.add(spans, weight);
      now_ns_ += random.below(60) * kSecondNs;
      if (random.one_in(4)) {
        ASSERT_TRUE(sink_->settle());
      }
      if (random.one_in(6)) {
        ASSERT_NO_FATAL_FAILURE(open(limits));
      }
      const SpanQuestion question = random.question();
      ASSERT_EQ(answer_of(source_, question), model.answer(question));
    }
    ASSERT_EQ(answer_of(source_), model.answer({}));
    ASSERT_GT(blocks().size(), 1);
  }
}

}  // namespace
}  // namespace plimsoll::testing
