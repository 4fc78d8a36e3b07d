// What a sink of spans does where the disk fails it, and where its process ends, at each step: as sink_test.cc for rows of profiles.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "store/spans/local_span_sink.h"
#include "store/spans/local_span_source.h"
#include "tests/eventually.h"
#include "tests/store/file_layer.h"
#include "tests/temporary_directory.h"
#include "tests/traces/span_fixture.h"

namespace plimsoll::testing {
namespace {

using store::LocalSpanSink;
using store::LocalSpanSource;

constexpr int64_t kSpanTestNow = int64_t{1'700'000'000} * 1'000'000'000;
// Batches differ in what becomes of them (a row, a segment, a block): after so many in a row that ended before the step at which they were
// to fail, there is no such step.
constexpr int kBeyondTheEnd = 8;
constexpr uint64_t kMaxSpanSteps = 2000;
// Exit status of a process that was told that its batch is stored.
constexpr int kAdded = 10;
// That wait while another is being stored. Together they have at most as many spans as a group may have (`max_recent`): else there were two.
constexpr size_t kCallsOfGroup = 3;
constexpr uint32_t kMaxSpansOfCall = 3;

struct SpanSinkCase {
  std::string name;
  store::SpanBlockLimits limits;
  FileFault::Kind failure = FileFault::Kind::kNoSpace;
  int min_failing_steps = 1;
  int min_failing_settlings = 3;
  int min_failing_merges = 3;
  // From one step that fails to the next: each answer opens all blocks, and each batch may make one.
  uint64_t stride = 1;
};

void PrintTo(const SpanSinkCase& tested, std::ostream* out) {
  *out << tested.name;
}

// The steps at which an operation is made to fail, until it has none left.
class StepsThatFail {
 public:
  explicit StepsThatFail(uint64_t stride) : stride_(stride) {}

  uint64_t step() const { return step_; }
  bool has_more() const { return beyond_ < kBeyondTheEnd && step_ < kMaxSpanSteps; }
  bool is_tenth() const { return step_ % (10 * stride_) == 9 * stride_; }
  bool were_all() const { return beyond_ == kBeyondTheEnd; }
  void next(bool was_reached) {
    beyond_ = was_reached ? 0 : beyond_ + 1;
    step_ += stride_;
  }

 private:
  const uint64_t stride_;
  uint64_t step_ = 0;
  int beyond_ = 0;  // in a row
};

class SpanSinkTest : public ::testing::TestWithParam<SpanSinkCase> {
 protected:
  void SetUp() override {
    FileLayer::only_skip_syncs();
    reopen();
  }
  void TearDown() override { sink_.reset(); }

  Result<std::unique_ptr<LocalSpanSink>> open() {
    return LocalSpanSink::open(path_, "0123456789abcdef", GetParam().limits, [this] { return now_ns(); });
  }

  void reopen() {
    sink_.reset();
    auto sink = open();
    ASSERT_TRUE(sink) << sink.error().text();
    sink_ = std::move(*sink);
  }

  // Now and then: each answer opens all blocks, and so does who opens the sink.
  void start_over() {
    sink_.reset();
    std::filesystem::remove_all(path_);
    model_ = {};
    reopen();
  }

  void add(const std::vector<PlainSpan>& spans) {
    const auto kept = sink_->add(span_set_of(spans), 1);
    ASSERT_TRUE(kept) << kept.error().text();
    EXPECT_EQ(kept->spans, spans.size());
  }

  // A batch, and what there is once it is kept.
  struct Batch {
    std::vector<PlainSpan> spans;
    SpanModel with_it;
  };

  // For the next step; fails fatally where the sink cannot be opened.
  Batch begin_step(const StepsThatFail& steps, RandomSpans& random) {
    if (steps.is_tenth()) {
      start_over();
    }
    Batch batch{.spans = random.next(1 + random.below(30)), .with_it = model_};
    batch.with_it.add(batch.spans, 1);
    return batch;
  }

  // As its sender does.
  void send_again(const Batch& batch) {
    ASSERT_NO_FATAL_FAILURE(add(batch.spans));
    ASSERT_EQ(answer_of(source_), batch.with_it.answer({}));
    model_ = batch.with_it;
  }

  // A batch that is known to the model, with copies of spans of earlier ones. So small that files of it are of one rank.
  std::vector<PlainSpan> random_batch(RandomSpans& random) {
    std::vector<PlainSpan> spans = random.next(1 + random.below(7));
    model_.add(spans, 1);
    return spans;
  }

  // Small files of one block, which are worth merging.
  void begin_merge(RandomSpans& random) {
    ASSERT_NO_FATAL_FAILURE(start_over());
    for (size_t i = 0; i < GetParam().limits.merging.min_inputs; ++i) {
      ASSERT_NO_FATAL_FAILURE(add(random_batch(random)));
      now_ns_ += GetParam().limits.max_recent_age_ns;
      ASSERT_TRUE(sink_->settle());
    }
  }

  // In threads of their own; the first is being stored until all others wait. Whether each was kept, the first first. Where the first fails
  // before that, the others are not sent.
  std::vector<bool> add_behind(const std::vector<PlainSpan>& first,
                               const std::vector<std::vector<PlainSpan>>& behind) {
    std::vector<std::atomic<bool>> are_kept(behind.size() + 1);
    is_held_ = false;
    calls_to_wait_for_ = behind.size();
    {
      std::atomic<bool> is_first_done = false;
      std::vector<std::jthread> senders;
      senders.emplace_back([&] {
        are_kept[0] = sink_->add(span_set_of(first), 1).has_value();
        is_first_done = true;
      });
      EXPECT_TRUE(eventually([&] { return is_held_ || is_first_done; }));
      for (size_t i = 0; is_held_ && i < behind.size(); ++i) {
        senders.emplace_back([&, i] { are_kept[i + 1] = sink_->add(span_set_of(behind[i]), 1).has_value(); });
      }
    }
    calls_to_wait_for_ = 0;
    return {are_kept.begin(), are_kept.end()};
  }

  // The sink asks for the time while it stores a group.
  int64_t now_ns() {
    if (const size_t calls = calls_to_wait_for_.exchange(0); calls != 0) {
      is_held_ = true;
      EXPECT_TRUE(eventually([&] { return sink_->waiting_calls() == calls; }));
    }
    return now_ns_;
  }

  TemporaryDirectory folder_;
  const std::string path_ = folder_ / "spans";
  std::atomic<size_t> calls_to_wait_for_ = 0;
  std::atomic<bool> is_held_ = false;
  int64_t now_ns_ = kSpanTestNow;
  std::unique_ptr<LocalSpanSink> sink_;
  LocalSpanSource source_{path_};
  SpanModel model_;
};

TEST_P(SpanSinkTest, ABatchThatFailsAtAnyStepIsThereAsAWholeOrNotAtAll) {
  RandomSpans random(11);
  int failures = 0;
  StepsThatFail steps(GetParam().stride);
  while (steps.has_more()) {
    SCOPED_TRACE(steps.step());
    const Batch batch = begin_step(steps, random);
    ASSERT_FALSE(HasFatalFailure());
    FileLayer::fail(folder_.path(), {.kind = GetParam().failure, .first = steps.step()});
    const auto failed = sink_->add(span_set_of(batch.spans), 1);
    steps.next(FileLayer::operations() > steps.step());
    FileLayer::only_skip_syncs();
    if (!failed && random.one_in(3)) {
      ASSERT_NO_FATAL_FAILURE(reopen());
    }
    const std::vector<PlainSpan> shown = answer_of(source_);
    ASSERT_TRUE(shown == batch.with_it.answer({}) || (!failed && shown == model_.answer({})));
    ASSERT_NO_FATAL_FAILURE(send_again(batch));
    failures += failed ? 0 : 1;
  }
  EXPECT_TRUE(steps.were_all());
  EXPECT_GE(failures, GetParam().min_failing_steps);
}

// One batch is being stored while others gather behind it, which share the next transaction.
TEST_P(SpanSinkTest, AGroupThatFailsAtAnyStepIsThereAsAWholeOrNotAtAll) {
  RandomSpans random(14);
  int failed_groups = 0;
  StepsThatFail steps(GetParam().stride);
  while (steps.has_more()) {
    SCOPED_TRACE(steps.step());
    const Batch first = begin_step(steps, random);
    ASSERT_FALSE(HasFatalFailure());
    std::vector<std::vector<PlainSpan>> behind;
    SpanModel with_group = model_;
    SpanModel with_all = first.with_it;
    for (size_t i = 0; i < kCallsOfGroup; ++i) {
      behind.push_back(random.next(1 + random.below(kMaxSpansOfCall)));
      with_group.add(behind.back(), 1);
      with_all.add(behind.back(), 1);
    }
    // Files that were open before are not watched.
    ASSERT_NO_FATAL_FAILURE(reopen());
    FileLayer::fail(folder_.path(), {.kind = GetParam().failure, .first = steps.step()});
    const std::vector<bool> are_kept = add_behind(first.spans, behind);
    steps.next(FileLayer::operations() > steps.step());
    FileLayer::only_skip_syncs();
    const bool is_first_kept = are_kept.front();
    const bool is_group_kept = are_kept.back();
    EXPECT_TRUE(std::all_of(are_kept.begin() + 1, are_kept.end(),
                            [&](bool is_kept) { return is_kept == is_group_kept; }));
    const std::vector<PlainSpan> shown = answer_of(source_);
    // What has failed may be there all the same.
    ASSERT_TRUE(shown == with_all.answer({}) || (!is_group_kept && shown == first.with_it.answer({})) ||
                (!is_first_kept && shown == with_group.answer({})) ||
                (!is_first_kept && !is_group_kept && shown == model_.answer({})));
    for (const std::vector<PlainSpan>& spans : behind) {
      ASSERT_NO_FATAL_FAILURE(add(spans));
    }
    ASSERT_NO_FATAL_FAILURE(send_again({.spans = first.spans, .with_it = with_all}));
    failed_groups += is_group_kept ? 0 : 1;
  }
  EXPECT_TRUE(steps.were_all());
  EXPECT_GE(failed_groups, GetParam().min_failing_steps);
}

TEST_P(SpanSinkTest, AProcessThatEndsAtAnyStepLeavesABatchAsAWholeOrNotAtAll) {
  RandomSpans random(12);
  int ends = 0;
  StepsThatFail steps(GetParam().stride);
  while (steps.has_more()) {
    SCOPED_TRACE(steps.step());
    const Batch batch = begin_step(steps, random);
    ASSERT_FALSE(HasFatalFailure());
    // A connection must not be used on both sides of a fork.
    sink_.reset();
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      FileLayer::fail(folder_.path(), {.kind = FileFault::Kind::kEnd, .first = steps.step()});
      auto sink = open();
      const bool is_added = sink && (*sink)->add(span_set_of(batch.spans), 1);
      // The layer ends it with 0.
      ::_exit(is_added ? kAdded : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    const bool is_acknowledged = WIFEXITED(status) && WEXITSTATUS(status) == kAdded;
    steps.next(!is_acknowledged);
    ASSERT_NO_FATAL_FAILURE(reopen());
    const std::vector<PlainSpan> shown = answer_of(source_);
    ASSERT_TRUE(shown == batch.with_it.answer({}) || (!is_acknowledged && shown == model_.answer({})));
    ASSERT_NO_FATAL_FAILURE(send_again(batch));
    ends += is_acknowledged ? 0 : 1;
  }
  EXPECT_TRUE(steps.were_all());
  EXPECT_GE(ends, 3);
}

TEST_P(SpanSinkTest, WhatIsDueByTimeFailsAtAnyStepWithoutLosingASpan) {
  RandomSpans random(13);
  int failures = 0;
  StepsThatFail steps(GetParam().stride);
  while (steps.has_more()) {
    SCOPED_TRACE(steps.step());
    if (steps.is_tenth()) {
      ASSERT_NO_FATAL_FAILURE(start_over());
    }
    const std::vector<PlainSpan> spans = random.next(1 + random.below(5));
    ASSERT_NO_FATAL_FAILURE(add(spans));
    model_.add(spans, 1);
    now_ns_ += GetParam().limits.max_recent_age_ns;
    FileLayer::fail(folder_.path(), {.kind = GetParam().failure, .first = steps.step()});
    const Status settled = sink_->settle();
    steps.next(FileLayer::operations() > steps.step());
    FileLayer::only_skip_syncs();
    ASSERT_EQ(answer_of(source_), model_.answer({}));
    if (!settled && random.one_in(2)) {
      ASSERT_NO_FATAL_FAILURE(reopen());
      ASSERT_EQ(answer_of(source_), model_.answer({}));
    }
    failures += settled ? 0 : 1;
  }
  EXPECT_TRUE(steps.were_all());
  EXPECT_GE(failures, GetParam().min_failing_settlings);
}

TEST_P(SpanSinkTest, MergingThatFailsAtAnyStepChangesNoAnswer) {
  RandomSpans random(15);
  int failures = 0;
  StepsThatFail steps(GetParam().stride);
  while (steps.has_more()) {
    SCOPED_TRACE(steps.step());
    ASSERT_NO_FATAL_FAILURE(begin_merge(random));
    ASSERT_NO_FATAL_FAILURE(reopen());
    FileLayer::fail(folder_.path(), {.kind = GetParam().failure, .first = steps.step()});
    if (random.one_in(2)) {
      // The newest block is open.
      std::ignore = sink_->settle();
    }
    const auto merged = sink_->merge_once({});
    steps.next(FileLayer::operations() > steps.step());
    FileLayer::only_skip_syncs();
    ASSERT_EQ(answer_of(source_), model_.answer({}));
    // After a commit that failed, what is in doubt has no part in what follows.
    ASSERT_NO_FATAL_FAILURE(add(random_batch(random)));
    ASSERT_EQ(answer_of(source_), model_.answer({}));
    ASSERT_NO_FATAL_FAILURE(reopen());
    ASSERT_EQ(answer_of(source_), model_.answer({}));
    failures += merged ? 0 : 1;
  }
  EXPECT_TRUE(steps.were_all());
  EXPECT_GE(failures, GetParam().min_failing_merges);
}

TEST_P(SpanSinkTest, AProcessThatEndsWhileItMergesChangesNoAnswer) {
  RandomSpans random(16);
  StepsThatFail steps(GetParam().stride);
  while (steps.has_more()) {
    SCOPED_TRACE(steps.step());
    ASSERT_NO_FATAL_FAILURE(begin_merge(random));
    sink_.reset();
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      FileLayer::fail(folder_.path(), {.kind = FileFault::Kind::kEnd, .first = steps.step()});
      auto sink = open();
      ::_exit(sink && (*sink)->merge_once({}) ? kAdded : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    steps.next(!WIFEXITED(status) || WEXITSTATUS(status) != kAdded);
    ASSERT_NO_FATAL_FAILURE(reopen());
    ASSERT_EQ(answer_of(source_), model_.answer({}));
  }
  EXPECT_TRUE(steps.were_all());
}

INSTANTIATE_TEST_SUITE_P(
    Sinks, SpanSinkTest,
    ::testing::Values(SpanSinkCase{"SegmentsOnAFullDisk", {.max_recent = 10}, FileFault::Kind::kNoSpace, 2},
                      SpanSinkCase{"GatheringOnABrokenDisk", {}, FileFault::Kind::kIoError, 1},
                      // Each is sealed as soon as it has a batch: there is nothing left to settle.
                      SpanSinkCase{
                          "SmallBlocksOnAFullDisk", {.max_bytes = 1}, FileFault::Kind::kNoSpace, 3, 0, 0, 3}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace plimsoll::testing
