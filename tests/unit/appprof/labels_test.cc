#include "appprof/labels.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <thread>

#include "appprof/appprof.h"

namespace plimsoll::appprof {
namespace {

using Set = std::set<std::pair<std::string, std::string>>;

Set now() {
  const Labels labels = labels_of(current_labels());
  return {labels.begin(), labels.end()};
}

TEST(AppprofLabels, ScopesNestAndHide) {
  ASSERT_TRUE(allocate_label_table());
  EXPECT_EQ(current_labels(), 0);
  {
    const Label tenant("tenant", "gold");
    const Label request("request", "list");
    EXPECT_EQ(now(), (Set{{"tenant", "gold"}, {"request", "list"}}));
    {
      const Label inner("request", "get");
      EXPECT_EQ(now(), (Set{{"tenant", "gold"}, {"request", "get"}}));
    }
    EXPECT_EQ(now(), (Set{{"tenant", "gold"}, {"request", "list"}}));
  }
  EXPECT_EQ(now(), Set{});
}

TEST(AppprofLabels, ANoteIsAFrameAndBack) {
  for (const uint32_t number : {uint32_t{0}, uint32_t{1}, uint32_t{1024}, kManyLabels}) {
    for (const uint8_t doublings : {uint8_t{0}, uint8_t{1}, uint8_t{16}}) {
      const StackNote note{number, doublings};
      EXPECT_EQ(note_of_frame(frame_of_note(note)), note) << number << " " << int{doublings};
    }
  }
  EXPECT_EQ(frame_of_note({}), 0U) << "nothing to note";
  for (const uintptr_t address : {uintptr_t{0}, uintptr_t{1}, uintptr_t{0x7fff'ffff'f000}, ~uintptr_t{0}}) {
    EXPECT_EQ(note_of_frame(address), StackNote{});
  }
}

TEST(AppprofLabels, TheSameLabelsHaveOneNumber) {
  ASSERT_TRUE(allocate_label_table());
  const auto number = [] {
    const Label label("request", "the same");
    return current_labels();
  };
  const uint32_t here = number();
  uint32_t there = 0;
  std::thread([&] { there = number(); }).join();
  EXPECT_EQ(here, there);
}

TEST(AppprofLabels, AnExceptionEndsItsScopes) {
  try {
    const Label label("request", "failing");
    throw std::runtime_error("");
  } catch (const std::exception&) {
  }
  EXPECT_EQ(now(), Set{});
}

TEST(AppprofLabels, LongTextsAreCutAndManyKeysLeftOut) {
  ASSERT_TRUE(allocate_label_table());
  const Label label(std::string(100, 'k'), std::string(100, 'v'));
  EXPECT_EQ(now(), (Set{{std::string(23, 'k'), std::string(47, 'v')}}));
  std::vector<std::unique_ptr<Label>> many;
  for (int i = 0; i < 20; ++i) {
    many.push_back(std::make_unique<Label>("key" + std::to_string(i), "value"));
  }
  const Set labels = now();
  EXPECT_EQ(labels.size(), 8);
  EXPECT_TRUE(labels.contains({"key19", "value"}));
  while (!many.empty()) {
    many.pop_back();
  }
}

TEST(AppprofLabels, ScopesThatEndInAnotherOrderLeaveTheOthers) {
  ASSERT_TRUE(allocate_label_table());
  auto outer = std::make_unique<Label>("outer", "1");
  auto inner = std::make_unique<Label>("inner", "2");
  outer.reset();
  EXPECT_EQ(now(), (Set{{"inner", "2"}}));
  inner.reset();
  EXPECT_EQ(now(), Set{});
  plimsoll_appprof_label never_pushed{};
  plimsoll_appprof_label_pop(&never_pushed);
  EXPECT_EQ(now(), Set{});
}

// As a loop pushes it that goes on without the pop, which is a mistake of the program.
TEST(AppprofLabels, AScopeThatIsPushedTwiceIsThereOnce) {
  ASSERT_TRUE(allocate_label_table());
  plimsoll_appprof_label label{};
  plimsoll_appprof_label_push(&label, "request", 7, "get", 3);
  plimsoll_appprof_label_push(&label, "request", 7, "list", 4);
  EXPECT_EQ(now(), (Set{{"request", "list"}}));
  plimsoll_appprof_label_pop(&label);
  EXPECT_EQ(now(), Set{});
}

// In a thread of its own, since the ring stays.
TEST(AppprofLabels, ARingOfScopesEnds) {
  ASSERT_TRUE(allocate_label_table());
  std::thread([] {
    plimsoll_appprof_label label{}, inner{}, another{};
    plimsoll_appprof_label_push(&label, "request", 7, "get", 3);
    plimsoll_appprof_label_push(&inner, "part", 4, "head", 4);
    plimsoll_appprof_label_push(&label, "request", 7, "list", 4);
    EXPECT_EQ(now(), (Set{{"request", "list"}, {"part", "head"}}));
    plimsoll_appprof_label_pop(&another);
    EXPECT_EQ(now(), (Set{{"request", "list"}, {"part", "head"}}));
  }).join();
}

// As one that was popped in another thread leaves it, which is a mistake of the program.
TEST(AppprofLabels, AScopeWhoseMemoryIsUsedOtherwiseIsReadWithinItself) {
  ASSERT_TRUE(allocate_label_table());
  plimsoll_appprof_label label{};
  plimsoll_appprof_label_push(&label, "request", 7, "get", 3);
  std::memset(label.key, 'x', sizeof(label.key));
  std::memset(label.value, 'y', sizeof(label.value));
  EXPECT_EQ(now(), (Set{{std::string(23, 'x'), std::string(47, 'y')}}));
  plimsoll_appprof_label_pop(&label);
  EXPECT_EQ(now(), Set{});
}

TEST(AppprofLabels, SetsBeyondTheTableAreSaid) {
  ASSERT_TRUE(allocate_label_table());
  uint32_t last = 0;
  for (int i = 0; i < 3000; ++i) {
    const Label label("request", std::to_string(i));
    last = std::max(last, current_labels());
  }
  EXPECT_EQ(last, kManyLabels);
  EXPECT_EQ(labels_of(kManyLabels), (Labels{{"labels", "[too many]"}}));
}

}  // namespace
}  // namespace plimsoll::appprof
