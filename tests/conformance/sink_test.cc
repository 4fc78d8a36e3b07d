// What every implementation of Sink does. memory_sink.h is the definition; the other implementations must agree with it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "store/building/batch_builder.h"
#include "tests/conformance/random_profiles.h"
#include "tests/conformance/sinks.h"
#include "tests/profile_fixture.h"
#include "tests/temporary_directory.h"

namespace plimsoll::testing {
namespace {

using store::Batch;
using store::BatchBuilder;
using store::Sink;

// A batch that does not borrow its entries.
class OwnBatch {
 public:
  explicit OwnBatch(const Batch& batch)
      : batch_(batch),
        machines_(own(batch_.entries.machines)),
        events_(own(batch_.entries.events)),
        origins_(own(batch_.entries.origins)),
        workloads_(own(batch_.entries.workloads)),
        threads_(own(batch_.entries.threads)),
        label_sets_(own(batch_.entries.label_sets)),
        binaries_(own(batch_.entries.binaries)),
        locations_(own(batch_.entries.locations)),
        stacks_(own(batch_.entries.stacks)) {}

  const Batch& operator*() const { return batch_; }
  Batch* operator->() { return &batch_; }
  const Batch* operator->() const { return &batch_; }

 private:
  template <typename Entry>
  static std::shared_ptr<const std::vector<Entry>> own(std::span<const Entry>& entries) {
    auto copy = std::make_shared<const std::vector<Entry>>(entries.begin(), entries.end());
    entries = *copy;
    return copy;
  }

  Batch batch_;
  std::shared_ptr<const std::vector<store::MachineEntry>> machines_;
  std::shared_ptr<const std::vector<store::EventEntry>> events_;
  std::shared_ptr<const std::vector<store::OriginEntry>> origins_;
  std::shared_ptr<const std::vector<store::WorkloadEntry>> workloads_;
  std::shared_ptr<const std::vector<std::string>> threads_;
  std::shared_ptr<const std::vector<std::string>> label_sets_;
  std::shared_ptr<const std::vector<store::BinaryEntry>> binaries_;
  std::shared_ptr<const std::vector<store::LocationEntry>> locations_;
  std::shared_ptr<const std::vector<store::StackNode>> stacks_;
};

class SinkTest : public ::testing::TestWithParam<SinkImplementation> {
 protected:
  void SetUp() override {
    if (const std::string missing = GetParam().why_missing(); !missing.empty()) {
      GTEST_SKIP() << missing;
    }
    tested_ = GetParam().make(folder_.path());
    FileLayer::only_skip_syncs();
    reopen();
  }
  // The tested sink goes first: it has files open in the folder.
  void TearDown() override {
    builder_.reset();
    tested_.reset();
  }

  void reopen() {
    builder_.reset();
    const Status opened = tested_->reopen();
    ASSERT_TRUE(opened) << opened.error().text();
    builder_ = std::make_unique<BatchBuilder>(tested_->sink());
  }

  // Up to `count` profiles, as many as the tested sink takes at once.
  std::vector<Arrived> random_arrivals(Random& random, uint64_t count) {
    const auto place = tested_->sink().begin(true);
    EXPECT_TRUE(place) << place.error().text();
    std::vector<Arrived> arrived;
    for (uint64_t left = place ? std::min(count, place->max_profiles) : 0; left > 0; --left) {
      arrived.push_back(random_arrival(random, ++sequence_));
    }
    return arrived;
  }

  // Of all of them, for the builder's sink.
  static OwnBatch batch_of(BatchBuilder& builder, const std::vector<Arrived>& arrived) {
    const auto place = builder.begin(true);
    EXPECT_TRUE(place) << place.error().text();
    for (const Arrived& one : arrived) {
      const Status added = one.why_set_aside.empty() ? builder.add(one.profile, one.sequence)
                                                     : fail(ErrorCode::kConflict, "{}", one.why_set_aside);
      if (!added) {
        EXPECT_EQ(added.error().code, ErrorCode::kConflict) << added.error().text();
        builder.set_aside(one.sequence, added.error().message);
      }
    }
    return OwnBatch(builder.take());
  }

  void commit_to_model(const std::vector<Arrived>& arrived) {
    const Status committed = model_.commit(*batch_of(model_builder_, arrived));
    ASSERT_TRUE(committed) << committed.error().text();
  }

  void commit_to_both(const std::vector<Arrived>& arrived) {
    const OwnBatch batch = batch_of(*builder_, arrived);
    const Status committed = tested_->sink().commit(*batch);
    ASSERT_TRUE(committed) << committed.error().text();
    EXPECT_EQ(tested_->sink().committed_up_to(), arrived.back().sequence);
    commit_to_model(arrived);
  }

  void expect_shows_what_the_model_shows() {
    const auto shown = tested_->shown();
    ASSERT_TRUE(shown) << shown.error().text();
    const auto expected = model_.shown();
    ASSERT_EQ(shown->rows, expected->rows);
    ASSERT_EQ(shown->origins, expected->origins);
    ASSERT_EQ(shown->entries, expected->entries);
    ASSERT_EQ(shown->facts, expected->facts);
  }

  // Whether a batch that failed was committed all the same.
  bool is_committed(int64_t last) {
    const auto place = tested_->sink().begin(true);
    EXPECT_TRUE(place) << place.error().text();
    return place && place->after >= last;
  }

  TemporaryDirectory folder_;
  std::unique_ptr<TestedSink> tested_;
  std::unique_ptr<BatchBuilder> builder_;
  MemorySink model_{GetParam().max_profiles};
  BatchBuilder model_builder_{model_};
  int64_t sequence_ = 0;
};

TEST_P(SinkTest, ShowsNothingAtFirst) {
  expect_shows_what_the_model_shows();
  const auto place = tested_->sink().begin(false);
  ASSERT_TRUE(place) << place.error().text();
  EXPECT_EQ(place->after, 0);
  EXPECT_EQ(place->entries, store::DictionarySizes());
  EXPECT_GE(place->max_profiles, 1);
}

// With batches that fail on their way, that come again, and processes that end in between.
TEST_P(SinkTest, RandomBatchesShowWhatTheModelShows) {
  for (const uint64_t seed : {1, 2, 3}) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Random random(seed);
    std::vector<OwnBatch> earlier;
    for (int round = 0; round < 25; ++round) {
      SCOPED_TRACE(fmt::format("round {}", round));
      const std::vector<Arrived> arrived = random_arrivals(random, 1 + random.below(5));
      OwnBatch batch = batch_of(*builder_, arrived);
      for (uint32_t failures = random.one_in(2) ? random.below(4) : 0; failures > 0; --failures) {
        tested_->fail_at(random.below(40));
        const Status committed = tested_->sink().commit(*batch);
        tested_->stop_failing();
        if (!committed && random.one_in(3)) {
          ASSERT_NO_FATAL_FAILURE(reopen());
        }
        if (is_committed(batch->last)) {
          break;
        }
        ASSERT_FALSE(committed) << "it said that the batch was committed";
        ASSERT_NO_FATAL_FAILURE(expect_shows_what_the_model_shows());
        if (random.one_in(2)) {
          batch = batch_of(*builder_, arrived);
        }
      }
      const Status committed = tested_->sink().commit(*batch);
      ASSERT_TRUE(committed) << committed.error().text();
      commit_to_model(arrived);
      ASSERT_NO_FATAL_FAILURE(expect_shows_what_the_model_shows());
      earlier.push_back(std::move(batch));
      if (random.one_in(4)) {
        ASSERT_NO_FATAL_FAILURE(reopen());
      }
      const auto count = static_cast<uint32_t>(earlier.size());
      const OwnBatch& again = earlier[random.one_in(2) ? count - 1 : random.below(count)];
      const Status repeated = tested_->sink().commit(*again);
      ASSERT_TRUE(repeated) << repeated.error().text();
      ASSERT_NO_FATAL_FAILURE(expect_shows_what_the_model_shows());
    }
  }
}

TEST_P(SinkTest, ABatchThatFailsAtAnyStepShowsNothingAndIsCommittedThen) {
  Random random(7);
  commit_to_both(random_arrivals(random, 3));
  // More than a commit has. A failure at some of them is none of the commit's, as that of a checkpoint.
  constexpr uint64_t kSteps = 40;
  int failures = 0;
  for (uint64_t step = 0; step < kSteps; ++step) {
    SCOPED_TRACE(fmt::format("step {}", step));
    const std::vector<Arrived> arrived = random_arrivals(random, 2);
    const OwnBatch batch = batch_of(*builder_, arrived);
    tested_->fail_at(step);
    const Status failed = tested_->sink().commit(*batch);
    tested_->stop_failing();
    if (!failed && !is_committed(batch->last)) {
      ASSERT_NO_FATAL_FAILURE(expect_shows_what_the_model_shows());
    }
    const Status committed = tested_->sink().commit(*batch);
    ASSERT_TRUE(committed) << committed.error().text();
    commit_to_model(arrived);
    ASSERT_NO_FATAL_FAILURE(expect_shows_what_the_model_shows());
    failures += failed ? 0 : 1;
  }
  EXPECT_GE(failures, tested_->min_failing_steps());
}

// As at the end of an epoch, where the next one is made.
TEST_P(SinkTest, ABeginningThatFailsAtAnyStepDoesNotHinderTheNext) {
  Random random(10);
  for (uint64_t step = 0; step < 40; ++step) {
    SCOPED_TRACE(fmt::format("step {}", step));
    tested_->fail_at(step);
    const auto failed = tested_->sink().begin(true);
    tested_->stop_failing();
    if (!failed && random.one_in(3)) {
      ASSERT_NO_FATAL_FAILURE(reopen());
    }
    ASSERT_NO_FATAL_FAILURE(commit_to_both(random_arrivals(random, 2)));
    ASSERT_NO_FATAL_FAILURE(expect_shows_what_the_model_shows());
  }
}

TEST_P(SinkTest, ACommittedBatchChangesNothingHoweverOftenItComes) {
  Random random(8);
  const std::vector<Arrived> arrived = random_arrivals(random, 4);
  const OwnBatch batch = batch_of(*builder_, arrived);
  commit_to_model(arrived);
  for (int time = 0; time < 3; ++time) {
    const Status committed = tested_->sink().commit(*batch);
    ASSERT_TRUE(committed) << committed.error().text();
    ASSERT_NO_FATAL_FAILURE(expect_shows_what_the_model_shows());
    ASSERT_NO_FATAL_FAILURE(reopen());
    EXPECT_EQ(tested_->sink().committed_up_to(), arrived.back().sequence);
  }
}

TEST_P(SinkTest, ABatchForAnotherPlaceIsAConflict) {
  Random random(9);
  const std::vector<Arrived> two = random_arrivals(random, 2);
  BatchBuilder other(tested_->sink());
  const OwnBatch first = batch_of(*builder_, {two[0]});
  const OwnBatch both = batch_of(other, two);
  ASSERT_TRUE(tested_->sink().commit(*first));
  commit_to_model({two[0]});
  const Status refused = tested_->sink().commit(*both);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kConflict) << refused.error().text();
  expect_shows_what_the_model_shows();
  // Built for the place that there is now it is committed.
  ASSERT_TRUE(tested_->sink().commit(*batch_of(other, {two[1]})));
  commit_to_model({two[1]});
  expect_shows_what_the_model_shows();
}

TEST_P(SinkTest, ARowOfAnOriginThatIsNotInTheBatchIsRefused) {
  OwnBatch batch = batch_of(*builder_, {{.sequence = 1, .profile = make_profile({.seed = 1})}});
  ASSERT_FALSE(batch->rows.empty());
  ++batch->rows.back()[store::Column::kOrigin];
  const Status refused = tested_->sink().commit(*batch);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalid) << refused.error().text();
  expect_shows_what_the_model_shows();
}

TEST_P(SinkTest, ProfilesThatAreAllSetAsideCountAsCommitted) {
  const std::vector<Arrived> arrived = {{.sequence = 1, .profile = {}, .why_set_aside = "no reason"},
                                        {.sequence = 2, .profile = {}, .why_set_aside = "another"}};
  commit_to_both(arrived);
  expect_shows_what_the_model_shows();
  ASSERT_NO_FATAL_FAILURE(reopen());
  EXPECT_EQ(tested_->sink().committed_up_to(), 2);
  EXPECT_EQ(tested_->sink().begin(false)->after, 2);
}

TEST_P(SinkTest, HandsBackTheEntriesThatTheNextBatchExtends) {
  Random random(11);
  for (int round = 0; round < 8; ++round) {
    commit_to_both(random_arrivals(random, 3));
    const auto place = tested_->sink().begin(true);
    const auto entries = tested_->sink().dictionaries();
    ASSERT_TRUE(place && entries);
    ASSERT_EQ(sizes_of(*entries), place->entries);
    ASSERT_GT(entries->events.size(), 1) << "which keep their meaning in every epoch";
  }
}

INSTANTIATE_TEST_SUITE_P(Sinks, SinkTest, ::testing::ValuesIn(sink_implementations()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace plimsoll::testing
