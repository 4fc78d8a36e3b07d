// What a store of spans keeps and answers.
#include <cmath>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "base/stop_scope.h"
#include "store/directory/data_directory.h"
#include "store/store.h"
#include "tests/unit/store/span_store_fixture.h"

namespace plimsoll::testing {
namespace {

using store::SpanBlockLimits;
using store::SpanQuestion;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

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
                       .start_ns = kSpanStoreNow,
                       .end_ns = kSpanStoreNow - 3,
                       .service = "shop/cart",
                       .operation = "GET /cart",
                       .parent = 8,
                       .replica = "cart-1",
                       .machine = "node-1",
                       .version = "v2",
                       .status = traces::SpanStatus::kError,
                       .weight = 20,
                       .attributes = {{"host.type", "c7"}, {"http.route", "/cart"}}};
  EXPECT_EQ(add({span}, 20).spans, 1);
  EXPECT_THAT(answer_of(source_), ElementsAre(span));
  open();
  now_ns_ += 61 * kSpanSecondNs;
  ASSERT_TRUE(sink_->settle());
  EXPECT_EQ(files().size(), 1);
  EXPECT_THAT(answer_of(source_), ElementsAre(span));
}

TEST_F(SpanStoreTest, AttributesAreReadWhereTheyAreAskedFor) {
  open();
  PlainSpan span = span_of(1);
  span.attributes = {{"host.type", "c7"}};
  add({span});
  const auto read = source_.read({}, [](const store::StoredSpan& stored) -> Status {
    EXPECT_TRUE(stored.span.attributes.empty());
    return {};
  });
  EXPECT_TRUE(read) << read.error().text();
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
  EXPECT_THAT(answer_of(source_, {.times = {kSpanStoreNow + 6, kSpanStoreNow + 200}}), ElementsAre(later));
  EXPECT_THAT(answer_of(source_, {.times = {kSpanStoreNow - 100, kSpanStoreNow}}), IsEmpty())
      << "without the end";
  EXPECT_THAT(answer_of(source_, {.times = {kSpanStoreNow + 5, kSpanStoreNow + 6}}), ElementsAre(span_of(1)));
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

// Also where no block has anything of it.
TEST_F(SpanStoreTest, AQuestionMayEndBeforeEachBlock) {
  for (uint64_t number = 1; number <= 4; ++number) {
    ASSERT_NO_FATAL_FAILURE(open({.max_age_ns = kSpanSecondNs}));
    add({span_of(number)});
    now_ns_ += 10 * kSpanSecondNs;
  }
  const size_t all = blocks().size();
  ASSERT_GT(all, 1);
  size_t checks = 0;
  size_t last = all;
  const StopCheck check = [&]() -> Status {
    return ++checks > last ? fail(ErrorCode::kUnavailable, "its client is gone") : Status();
  };
  const StopScope scope(check);
  const SpanQuestion nothing{.times = {0, 1}};
  EXPECT_THAT(answer_of(source_, nothing), IsEmpty());
  EXPECT_EQ(checks, all);
  checks = 0;
  last = 1;
  const auto stopped = source_.read(nothing, [](const store::StoredSpan&) { return Status(); });
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().message, "its client is gone");
  EXPECT_EQ(checks, 2);
}

TEST_F(SpanStoreTest, RandomBatchesAnswerAsTheModelDoes) {
  for (const uint64_t seed : {1, 2, 3, 4}) {
    SCOPED_TRACE(seed);
    sink_.reset();
    std::filesystem::remove_all(path_);
    RandomSpans random(seed);
    const SpanBlockLimits limits{.max_bytes = 200'000, .max_age_ns = 500 * kSpanSecondNs, .max_recent = 40};
    ASSERT_NO_FATAL_FAILURE(open(limits));
    SpanModel model;
    for (int round = 0; round < 40; ++round) {
      SCOPED_TRACE(round);
      const std::vector<PlainSpan> spans = random.next(random.below(60));
      const double weight = random.one_in(3) ? 20 : 1;
      ASSERT_EQ(add(spans, weight).spans, spans.size());
      model.add(spans, weight);
      now_ns_ += random.below(60) * kSpanSecondNs;
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
