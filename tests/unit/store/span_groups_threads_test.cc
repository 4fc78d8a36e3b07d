// Many senders of spans at once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <random>
#include <thread>
#include <vector>

#include "sqlite/database.h"
#include "tests/eventually.h"
#include "tests/unit/store/span_store_fixture.h"

namespace plimsoll::testing {
namespace {

using store::LocalSpanSink;

TEST_F(SpanStoreTest, RequestsThatComeDuringACommitShareTheNextOne) {
  constexpr size_t kBehind = 7;
  std::atomic<LocalSpanSink*> opened = nullptr;
  std::atomic<bool> is_first = true;
  std::atomic<bool> is_held = false;
  // The sink asks for the time while it stores a group.
  auto sink = LocalSpanSink::open(path_, kSpanDirectoryId, {}, [&] {
    if (is_first.exchange(false)) {
      is_held = true;
      EXPECT_TRUE(eventually([&] { return opened.load()->waiting_calls() == kBehind; }));
    }
    return kSpanStoreNow;
  });
  ASSERT_TRUE(sink) << sink.error().text();
  opened = sink->get();
  {
    std::vector<std::jthread> senders;
    for (uint64_t number = 0; number <= kBehind; ++number) {
      senders.emplace_back([&, number] {
        // Of a weight of their own each.
        const auto kept = (*sink)->add(span_set_of({span_of(number + 1)}), static_cast<double>(number + 1));
        EXPECT_TRUE(kept) << kept.error().text();
      });
      ASSERT_TRUE(eventually([&] { return is_held.load(); }));
    }
  }
  auto database = sqlite::Database::open(catalogue_of("000001"), sqlite::OpenMode::kRead);
  ASSERT_TRUE(database) << database.error().text();
  EXPECT_EQ(database->integer("SELECT count(*) FROM recent", 0), 2);
  const std::vector<PlainSpan> shown = answer_of(source_);
  ASSERT_EQ(shown.size(), kBehind + 1);
  for (const PlainSpan& span : shown) {
    EXPECT_EQ(span.weight, static_cast<double>(span.id));
  }
}

// Files go as soon as they are merged: readers find them gone, and read the list again.
TEST_F(SpanStoreTest, QuestionsBesideMergesAnswerWhole) {
  open({.max_recent = 1, .merging = {.min_inputs = 2, .keep_replaced = std::chrono::seconds(0)}});
  std::atomic<uint64_t> added = 0;
  std::atomic<bool> is_over = false;
  std::jthread merging([&] {
    while (!is_over) {
      const auto merged = sink_->merge_once({});
      EXPECT_TRUE(merged) << merged.error().text();
    }
  });
  std::jthread reading([&] {
    while (!is_over) {
      const uint64_t expected = added;
      EXPECT_GE(answer_of(source_).size(), expected);
    }
  });
  for (uint64_t number = 1; number <= 100; ++number) {
    add({span_of(number)});
    added = number;
  }
  is_over = true;
  merging.join();
  reading.join();
  EXPECT_EQ(answer_of(source_).size(), 100);
}

// A trace whose senders do not know each other, as in a fleet: each span by itself, some twice, in any order, over five minutes.
TEST_F(SpanStoreTest, OneTraceOfFiftySendersIsWhole) {
  constexpr uint64_t kSenders = 50;
  constexpr uint64_t kSpansOfSender = 20;
  open({.max_recent = 300});
  std::vector<PlainSpan> sent;
  for (uint64_t id = 1; id <= kSenders * kSpansOfSender; ++id) {
    PlainSpan span = span_of(1, "service" + std::to_string(id % kSenders));
    span.id = id;
    span.parent = id / 2;
    sent.push_back(span);
  }
  std::vector<PlainSpan> shuffled = sent;
  std::ranges::shuffle(shuffled, std::mt19937_64(5));
  for (int minute = 0; minute < 5; ++minute) {
    {
      std::vector<std::jthread> senders;
      for (uint64_t sender = 0; sender < kSenders; ++sender) {
        senders.emplace_back([&, sender] {
          for (size_t i = sender; i < shuffled.size(); i += kSenders) {
            // The sender was not answered, and sends again.
            const bool is_of_minute = i / kSenders % 5 == static_cast<size_t>(minute);
            if (is_of_minute || i % 7 == static_cast<size_t>(minute)) {
              EXPECT_TRUE(sink_->add(span_set_of({shuffled[i]}), 1));
            }
          }
        });
      }
    }
    now_ns_ += 60 * kSpanSecondNs;
    ASSERT_TRUE(sink_->settle());
  }
  EXPECT_EQ(answer_of(source_, {.trace = sent.front().trace}), sent);
  EXPECT_GT(files().size(), 1);
}

}  // namespace
}  // namespace plimsoll::testing
