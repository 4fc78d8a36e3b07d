// Which calls share a group, and what becomes of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <new>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "store/spans/span_batch_queue.h"
#include "tests/eventually.h"
#include "tests/traces/span_fixture.h"

namespace plimsoll::testing {
namespace {

using store::SpanBatch;
using store::SpanBatchQueue;
using store::SpansKept;
using ::testing::ElementsAre;

// Notes the groups that it is given; the first waits until so many calls are behind it.
class HeldCommit {
 public:
  HeldCommit(SpanBatchQueue& queue, size_t calls_behind) : queue_(queue), calls_behind_(calls_behind) {}

  Result<std::vector<SpansKept>> operator()(std::span<const SpanBatch> group) {
    EXPECT_FALSE(is_running_.exchange(true)) << "one group at a time";
    std::vector<uint64_t> sizes;
    std::vector<SpansKept> kept;
    for (const SpanBatch& batch : group) {
      sizes.push_back(batch.spans->spans().size());
      kept.push_back({.spans = batch.spans->spans().size()});
    }
    const bool is_first = groups.empty();
    groups.push_back(std::move(sizes));
    if (is_first) {
      is_held = true;
      EXPECT_TRUE(eventually([this] { return queue_.waiting_calls() == calls_behind_; }));
    }
    is_running_ = false;
    if (!is_first && is_failing) {
      return fail(ErrorCode::kIo, "the disk is on fire");
    }
    if (is_first && is_throwing) {
      throw std::bad_alloc();
    }
    return kept;
  }

  std::vector<std::vector<uint64_t>> groups;  // spans of each batch
  std::atomic<bool> is_held = false;
  bool is_failing = false;   // from the second group on
  bool is_throwing = false;  // in the first

 private:
  SpanBatchQueue& queue_;
  const size_t calls_behind_;
  std::atomic<bool> is_running_ = false;
};

traces::SpanSet spans_of(size_t count) {
  std::vector<PlainSpan> spans;
  for (size_t i = 0; i < count; ++i) {
    spans.push_back({.id = i + 1});
  }
  return span_set_of(spans);
}

// A call of so many spans each, in threads of their own, one behind the other; the first is being stored when the second comes.
std::vector<Result<SpansKept>> add_behind_each_other(SpanBatchQueue& queue, HeldCommit& commit,
                                                     const std::vector<size_t>& sizes) {
  std::vector<Result<SpansKept>> results(sizes.size());
  {
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < sizes.size(); ++i) {
      threads.emplace_back([&, i] {
        const traces::SpanSet spans = spans_of(sizes[i]);
        const SpanBatch batch{&spans, 1};
        try {
          results[i] = queue.add(std::span(&batch, 1), std::ref(commit));
        } catch (const std::bad_alloc&) {
          results[i] = fail(ErrorCode::kExhausted, "thrown");
        }
      });
      // Once the last one waits, the first goes on.
      EXPECT_TRUE(eventually(
          [&] { return commit.is_held && (i + 1 == sizes.size() || queue.waiting_calls() == i); }));
    }
  }
  return results;
}

TEST(SpanBatchQueueTest, ACallThatComesAloneIsAGroup) {
  SpanBatchQueue queue({});
  HeldCommit commit(queue, 0);
  const auto results = add_behind_each_other(queue, commit, {3});
  ASSERT_TRUE(results.at(0));
  EXPECT_EQ(results.at(0)->spans, 3);
  EXPECT_THAT(commit.groups, ElementsAre(ElementsAre(3)));
}

TEST(SpanBatchQueueTest, CallsThatComeMeanwhileAreOneGroupInTheirOrder) {
  SpanBatchQueue queue({});
  HeldCommit commit(queue, 3);
  const auto results = add_behind_each_other(queue, commit, {1, 4, 2, 3});
  EXPECT_THAT(commit.groups, ElementsAre(ElementsAre(1), ElementsAre(4, 2, 3)));
  EXPECT_EQ(results.at(1)->spans, 4);
  EXPECT_EQ(results.at(3)->spans, 3);
}

TEST(SpanBatchQueueTest, AGroupEndsBeforeTheCallThatIsTooMuch) {
  SpanBatchQueue queue({.max_group_spans = 5});
  HeldCommit commit(queue, 4);
  add_behind_each_other(queue, commit, {1, 3, 2, 9, 1});
  // What comes behind a large one does not overtake it.
  EXPECT_THAT(commit.groups, ElementsAre(ElementsAre(1), ElementsAre(3, 2), ElementsAre(9), ElementsAre(1)));
}

TEST(SpanBatchQueueTest, AGroupFailsAsAWholeAndTheOthersDoNot) {
  SpanBatchQueue queue({});
  HeldCommit commit(queue, 2);
  commit.is_failing = true;
  const auto results = add_behind_each_other(queue, commit, {1, 2, 3});
  EXPECT_TRUE(results.at(0));
  for (const size_t call : {1, 2}) {
    ASSERT_FALSE(results.at(call));
    EXPECT_EQ(results.at(call).error().code, ErrorCode::kIo);
  }
}

TEST(SpanBatchQueueTest, NoCallWaitsForAThreadThatRanOutOfMemory) {
  SpanBatchQueue queue({});
  HeldCommit commit(queue, 1);
  commit.is_throwing = true;
  const auto results = add_behind_each_other(queue, commit, {1, 2});
  ASSERT_FALSE(results.at(0));
  EXPECT_EQ(results.at(0).error().code, ErrorCode::kExhausted);
  EXPECT_TRUE(results.at(1)) << "the next one takes its turn";
}

TEST(SpanBatchQueueTest, RefusesWhatWouldWaitBehindTooMuch) {
  for (const store::SpanGroupLimits& limits :
       {store::SpanGroupLimits{.max_waiting_spans = 10}, store::SpanGroupLimits{.max_waiting_calls = 1}}) {
    SpanBatchQueue queue(limits);
    HeldCommit commit(queue, 1);
    Result<SpansKept> refused;
    // A call that is too large by itself waits, where it is the only one.
    std::vector<Result<SpansKept>> kept(2);
    {
      const traces::SpanSet large = spans_of(11);
      const SpanBatch batch{&large, 1};
      std::atomic<bool> is_refused = false;
      const SpanBatchQueue::Commit held = [&](std::span<const SpanBatch> group) {
        auto done = commit(group);
        EXPECT_TRUE(eventually([&] { return is_refused.load(); }));
        return done;
      };
      std::vector<std::jthread> threads;  // joined before what they use is gone
      for (size_t i = 0; i < 2; ++i) {
        threads.emplace_back([&, i] { kept[i] = queue.add(std::span(&batch, 1), held); });
        EXPECT_TRUE(eventually([&] { return commit.is_held && queue.waiting_calls() == i; }));
      }
      refused = queue.add(std::span(&batch, 1), held);
      is_refused = true;
    }
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
    EXPECT_TRUE(kept[0]);
    EXPECT_TRUE(kept[1]);
  }
}

}  // namespace
}  // namespace plimsoll::testing
