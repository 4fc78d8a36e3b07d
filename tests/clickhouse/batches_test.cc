// Which batches are committed, whatever attempts left behind and whenever it arrived.
#include "store/clickhouse/batches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <random>
#include <vector>

namespace plimsoll::store::clickhouse {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

BatchMark mark(uint64_t batch, uint64_t follows, uint32_t epoch, uint64_t place) {
  return {.epoch = epoch,
          .batch = batch,
          .place = place,
          .follows = follows,
          .last_sequence = static_cast<int64_t>(batch),
          .written_ns = static_cast<int64_t>(batch) * 1000};
}

TEST(Batches, NoMarksAreNoEpochs) {
  const auto epochs = committed_among({});
  ASSERT_TRUE(epochs);
  EXPECT_TRUE(epochs->empty());
}

TEST(Batches, AreOfEpochsInRangesWithoutGaps) {
  const auto epochs = committed_among({mark(12, 11, 1, 2), mark(10, 0, 1, 0), mark(11, 10, 1, 1),
                                       mark(15, 12, 1, 3), mark(16, 15, 2, 0), mark(17, 16, 2, 1)});
  ASSERT_TRUE(epochs) << epochs.error().text();
  ASSERT_EQ(epochs->size(), 2);
  const EpochBatches& first = epochs->at(1);
  EXPECT_THAT(first.ranges, ElementsAre(Pair(10, 12), Pair(15, 15)));
  EXPECT_EQ(first.newest, mark(15, 12, 1, 3));
  EXPECT_EQ(first.first_written_ns, 10'000);
  EXPECT_EQ(first.condition(), "epoch = 1 AND (batch BETWEEN 10 AND 12 OR batch BETWEEN 15 AND 15)");
  EXPECT_THAT(epochs->at(2).ranges, ElementsAre(Pair(16, 17)));
}

TEST(Batches, AnEpochWithoutBatchesSelectsNothing) {
  EXPECT_EQ(EpochBatches{.epoch = 3}.condition(), "epoch = 3 AND (0)");
}

// Attempt 11 was given up and repeated as 12; its mark arrives when 12 is committed.
TEST(Batches, AMarkThatComesLateCountsForNothing) {
  const auto epochs = committed_among({mark(10, 0, 1, 0), mark(12, 10, 1, 1), mark(11, 10, 1, 1)});
  ASSERT_TRUE(epochs);
  EXPECT_THAT(epochs->at(1).ranges, ElementsAre(Pair(10, 10), Pair(12, 12)));
}

TEST(Batches, EpochsThatWereDroppedAreNotMissed) {
  const auto epochs = committed_among({mark(16, 15, 2, 0), mark(17, 16, 2, 1)});
  ASSERT_TRUE(epochs) << epochs.error().text();
  EXPECT_THAT(epochs->at(2).ranges, ElementsAre(Pair(16, 17)));
}

TEST(Batches, AMarkThatIsMissingWithinAnEpochIsDamage) {
  const auto epochs = committed_among({mark(10, 0, 1, 0), mark(12, 11, 1, 2)});
  ASSERT_FALSE(epochs);
  EXPECT_EQ(epochs.error().code, ErrorCode::kCorrupt);
}

TEST(Batches, MarksThatFollowEachOtherInACircleAreDamage) {
  EXPECT_FALSE(committed_among({mark(10, 11, 1, 1), mark(11, 10, 1, 2)}));
  EXPECT_FALSE(committed_among({mark(10, 10, 1, 1)}));
}

TEST(Batches, DictionariesThatCannotBeAreDamage) {
  for (const size_t stacks : {size_t{0}, size_t{UINT32_MAX} + 1}) {
    BatchMark impossible = mark(10, 0, 1, 0);
    impossible.entries.stacks = stacks;
    const auto epochs = committed_among({impossible});
    ASSERT_FALSE(epochs);
    EXPECT_EQ(epochs.error().code, ErrorCode::kCorrupt);
  }
}

// A writer and a server that loses requests, loses answers, and stores marks long after the writer has given them up.
TEST(Batches, WhatWasAcknowledgedStaysCommittedWhateverArrivesLate) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    std::vector<BatchMark> stored;
    std::vector<BatchMark> on_the_way;
    std::vector<uint64_t> acknowledged;  // as the writer knows them
    BatchMark newest;
    bool is_known = true;
    for (uint64_t attempt = 1; attempt <= 60; ++attempt) {
      if (!is_known) {
        const auto epochs = committed_among(stored);
        ASSERT_TRUE(epochs) << epochs.error().text();
        newest = epochs->empty() ? BatchMark() : epochs->rbegin()->second.newest;
        is_known = true;
      }
      const uint64_t place = newest.batch == 0 ? 0 : newest.place + 1;
      const BatchMark next = mark(attempt, newest.batch, 1, place);
      switch (random() % 4) {
        case 0:  // it arrives at some time, or never
          on_the_way.push_back(next);
          is_known = false;
          break;
        case 1:  // it is stored, and the answer lost
          stored.push_back(next);
          is_known = false;
          break;
        default:
          stored.push_back(next);
          newest = next;
          acknowledged.push_back(next.batch);
      }
      if (!on_the_way.empty() && random() % 3 == 0) {
        const size_t one = random() % on_the_way.size();
        stored.push_back(on_the_way[one]);
        on_the_way.erase(on_the_way.begin() + static_cast<std::ptrdiff_t>(one));
      }
    }
    const BatchMark last = mark(100, newest.batch, 1, newest.batch == 0 ? 0 : newest.place + 1);
    if (!is_known) {
      continue;
    }
    stored.push_back(last);
    const auto epochs = committed_among(stored);
    ASSERT_TRUE(epochs) << epochs.error().text();
    for (const uint64_t batch : acknowledged) {
      EXPECT_TRUE(std::ranges::any_of(epochs->at(1).ranges, [&](const auto& range) {
        return range.first <= batch && batch <= range.second;
      })) << batch;
    }
  }
}

}  // namespace
}  // namespace plimsoll::store::clickhouse
