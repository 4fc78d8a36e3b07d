#include "base/append_only_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace plimsoll {
namespace {

using ::testing::ElementsAre;

TEST(AppendOnlyList, ACopyKeepsWhatItWas) {
  AppendOnlyList<std::string> list{"a", "b"};
  const AppendOnlyList<std::string> before = list;
  list.push_back("c");
  EXPECT_THAT(before, ElementsAre("a", "b"));
  EXPECT_THAT(list, ElementsAre("a", "b", "c"));
}

TEST(AppendOnlyList, CopiesGrowApart) {
  AppendOnlyList<std::string> list{"a"};
  list.reserve(10);
  AppendOnlyList<std::string> other = list;
  list.push_back("b");
  other.push_back("c");
  EXPECT_THAT(list, ElementsAre("a", "b"));
  EXPECT_THAT(other, ElementsAre("a", "c"));
}

TEST(AppendOnlyList, WhatWasTakenBackStaysInCopies) {
  AppendOnlyList<std::string> list{"a", "b", "c"};
  const AppendOnlyList<std::string> before = list;
  list.truncate(1);
  list.push_back("d");
  EXPECT_THAT(list, ElementsAre("a", "d"));
  EXPECT_THAT(before, ElementsAre("a", "b", "c"));
}

TEST(AppendOnlyList, ElementsStayWhereTheyAreWhileThereIsRoom) {
  AppendOnlyList<int> list;
  list.reserve(100);
  const int* const first = list.data();
  const AppendOnlyList<int> copy = list;
  for (int i = 0; i < 100; ++i) {
    list.push_back(i);
  }
  EXPECT_EQ(list.data(), first);
  EXPECT_EQ(copy.data(), first);
}

TEST(AppendOnlyList, IsEmptyOnceItWasMovedFrom) {
  AppendOnlyList<std::string> list{"a"};
  const AppendOnlyList<std::string> moved = std::move(list);
  EXPECT_THAT(moved, ElementsAre("a"));
  EXPECT_TRUE(list.empty());  // NOLINT(bugprone-use-after-move,clang-analyzer-cplusplus.Move): as documented
}

// Copies of copies, added to and taken back from at random, against vectors.
TEST(AppendOnlyList, HoldsWhatAVectorHoldsWhateverIsDone) {
  std::mt19937_64 random(7);
  std::vector<AppendOnlyList<std::string>> lists(4);
  std::vector<std::vector<std::string>> expected(4);
  for (int step = 0; step < 20'000; ++step) {
    const size_t i = random() % 4;
    switch (random() % 8) {
      case 0: {
        const size_t from = random() % 4;
        lists[i] = lists[from];
        expected[i] = std::vector(expected[from]);
        break;
      }
      case 1: {
        const size_t size = random() % (expected[i].size() + 1);
        lists[i].truncate(size);
        expected[i].resize(size);
        break;
      }
      case 2: {
        const std::vector<std::string> more(random() % 20, "more " + std::to_string(step));
        lists[i].append(more);
        expected[i].insert(expected[i].end(), more.begin(), more.end());
        break;
      }
      default:
        lists[i].push_back("an element that is too long to be stored inside " + std::to_string(step));
        expected[i].push_back(lists[i].back());
    }
    ASSERT_TRUE(std::ranges::equal(lists[i], expected[i])) << "step " << step;
  }
}

TEST(AppendOnlyList, IsReadWhileAnotherCopyGrows) {
  AppendOnlyList<std::string> list;
  std::atomic<bool> stops = false;
  std::vector<std::thread> readers;
  for (int i = 0; i < 1000; ++i) {
    list.push_back(std::to_string(i));
    if (i % 250 == 0) {
      readers.emplace_back([copy = list, size = list.size(), &stops] {
        do {
          for (size_t element = 0; element < size; ++element) {
            ASSERT_EQ(copy[element], std::to_string(element));
          }
        } while (!stops);
      });
    }
  }
  stops = true;
  for (std::thread& reader : readers) {
    reader.join();
  }
}

// The only thing that orders the reader's reads and the destruction is the list itself: a build with -fsanitize=thread sees where it does not.
TEST(AppendOnlyList, DestroysElementsOnceTheLastReaderHasReadThem) {
  const std::string element = "an element that is too long to be stored inside";
  for (int round = 0; round < 100; ++round) {
    AppendOnlyList<std::string> list;
    list.append(std::vector<std::string>(16, element));
    std::atomic<bool> is_given_up = false;
    std::thread reader([copy = list, &element, &is_given_up]() mutable {
      EXPECT_EQ(copy.back(), element);
      copy = AppendOnlyList<std::string>();
      is_given_up.store(true, std::memory_order_relaxed);
    });
    while (!is_given_up.load(std::memory_order_relaxed)) {
      std::this_thread::yield();
    }
    list.truncate(0);
    EXPECT_TRUE(list.empty());
    reader.join();
  }
}

}  // namespace
}  // namespace plimsoll
