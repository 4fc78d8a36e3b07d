// Labels of processes and samples as dimensions: label:KEY.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "query/export/export.h"
#include "query/registry/label_notes.h"
#include "query/selection/selection.h"
#include "store/model/label_values.h"
#include "tests/unit/query/fleet_fixture.h"

namespace plimsoll::query {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class LabelsTest : public ::testing::Test {
 protected:
  std::string ask(const Parameters& parameters) const { return brief(fleet_.top(parameters)); }

  std::vector<std::string> notes(const Parameters& parameters) const {
    return label_notes(parameters, **Snapshot::load(fleet_.path()));
  }

  Fleet fleet_;
};

TEST_F(LabelsTest, OfSamplesStandBeforeThoseOfTheirProcess) {
  fleet_.add({.labels = "pod:p1,tier:free",
              .stacks = "main;read 1\n"
                        "labels=tier:gold main;read 10\n"
                        "labels=request:get,tier:gold main;write 100\n"});
  EXPECT_EQ(ask({{"by", "label:tier"}}), "gold 110 110\nfree 1 1\n");
  EXPECT_EQ(ask({{"by", "label:pod"}}), "p1 111 111\n");
  EXPECT_EQ(ask({{"by", "label:request,function"}}),
            "get write 100 100\n- read 11 11\nget main 0 100\n- main 0 11\n");
  EXPECT_EQ(ask({{"by", "function"}, {"where", "label:tier=gold"}}),
            "write 100 100\nread 10 10\nmain 0 110\n");
  EXPECT_EQ(ask({{"by", "function"}, {"where", "label:request="}}), "read 11 11\nmain 0 11\n");
  EXPECT_EQ(ask({{"by", "function"}, {"where", "label:request!=get"}}), "read 11 11\nmain 0 11\n");
}

TEST_F(LabelsTest, TellProfilesOfOneProcessApart) {
  fleet_.add({.seed = 1, .machine = "m1", .stacks = "labels=color:red main 5\n"});
  fleet_.add(
      {.seed = 2, .machine = "m2", .stacks = "labels=color:red main 2\nlabels=color:blue main 3\nmain 4\n"});
  EXPECT_EQ(ask({{"by", "label:color,machine"}}), "red m1 5 5\n- m2 4 4\nblue m2 3 3\nred m2 2 2\n");
}

TEST_F(LabelsTest, AQuestionAboutOneThatThereIsNotSaysWhichThereAre) {
  fleet_.add({.labels = "pod:p1,tier:free", .stacks = "main 1\n"});
  EXPECT_THAT(notes({{"by", "label:por"}}),
              ElementsAre("no sample carries the label por; labels are pod, tier"));
  EXPECT_THAT(notes({{"where", "label:x=1"}, {"by", "label:pod"}}),
              ElementsAre("no sample carries the label x; labels are pod, tier"));
  EXPECT_THAT(notes({{"control", "label:x=1"}, {"test", "label:tier=free"}}),
              ElementsAre("no sample carries the label x; labels are pod, tier"));
  EXPECT_THAT(notes({{"control", "label:pod=p1"}, {"test", "label:y=1"}}),
              ElementsAre("no sample carries the label y; labels are pod, tier"));
  EXPECT_THAT(notes({{"by", "function"}}), IsEmpty());
}

TEST_F(LabelsTest, OfAKeyWithTooManyValuesTheMostFrequentAreKept) {
  std::string stacks;
  for (size_t i = 0; i < store::kMaxLabelValues + 200; ++i) {
    stacks += fmt::format("labels=id:{} main {}\n", i, i + 1);
  }
  fleet_.add({.seed = 1, .stacks = stacks});
  // 1 + 2 + ... + 200, and the 1,000 others.
  EXPECT_THAT(ask({{"by", "label:id"}}), StartsWith("[other] 20100 20100\n1199 1200 1200\n"));
  EXPECT_THAT(ask({{"by", "label:id"}, {"where", "label:id=199"}}), "") << "the most frequent of the others";
  EXPECT_THAT(
      notes({{"by", "label:id"}}),
      ElementsAre(
          "the label id has more values than are kept apart; [other] stands for the less frequent ones"));
  // The block stays full: known values go on, new ones do not come.
  fleet_.add({.seed = 2, .stacks = "labels=id:1199 main 7\nlabels=id:new main 5\nlabels=size:3 main 1\n"});
  EXPECT_THAT(ask({{"by", "label:id"}}), StartsWith("[other] 20105 20105\n1199 1207 1207\n"));
  EXPECT_EQ(ask({{"by", "label:size"}, {"where", "label:size=3"}}), "3 1 1\n") << "another key has room";
}

TEST_F(LabelsTest, BeyondTheLastKeyLabelsAreLeftOut) {
  std::string labels;
  for (size_t i = 0; i < store::kMaxLabelKeys + 1; ++i) {
    labels += fmt::format("{}k{:03}:v", i == 0 ? "" : ",", i);
  }
  fleet_.add({.labels = labels, .stacks = "main 1\n"});
  EXPECT_EQ(ask({{"by", "label:k000"}}), "v 1 1\n");
  EXPECT_EQ(ask({{"by", "label:k063"}}), "v 1 1\n");
  EXPECT_EQ(ask({{"by", "label:k064"}}), "- 1 1\n");
}

TEST_F(LabelsTest, BeyondTheLastSetOnesThatAreNewAreOne) {
  // 250,000 sets of few keys and values, in parts.
  const auto part = [](uint64_t seed, size_t first, size_t end) {
    std::string stacks;
    for (size_t i = first; i < end; ++i) {
      stacks += fmt::format("labels=a:{},b:{} main 1\n", i / 500, i % 500);
    }
    return ProfileSpec{.seed = seed, .stacks = stacks};
  };
  fleet_.add(part(1, 0, 60'000));
  fleet_.add(part(2, 60'000, 120'000));
  fleet_.add({.seed = 3, .stacks = "labels=a:0,b:0 main 7\nlabels=new:1 main 5\n"});
  EXPECT_THAT(ask({{"by", "label:a"}, {"where", "label:b=0"}, {"limit", "1"}}), "0 8 8\n")
      << "a set that is known";
  EXPECT_THAT(ask({{"by", "label:a"}, {"limit", "1"}}), "[other] 20005 20005\n");
  EXPECT_THAT(ask({{"by", "label:new"}, {"where", "label:new=[other]"}}), "[other] 20005 20005\n");
  EXPECT_THAT(notes({{"by", "label:a"}}), ::testing::SizeIs(1));
}

TEST(Labels, OfSeveralBlocksAreOne) {
  Fleet fleet({.max_profiles = 1});
  fleet.add({.seed = 1, .stacks = "labels=a:1 main 1\nlabels=b:1 main 2\n"});
  fleet.add({.seed = 2, .stacks = "labels=b:1 main 4\nlabels=a:1 main 8\n"});
  fleet.add({.seed = 3, .stacks = "main 16\n"});
  EXPECT_EQ(brief(fleet.top({{"by", "label:a"}})), "- 22 22\n1 9 9\n");
  EXPECT_EQ(brief(fleet.top({{"by", "label:b"}, {"where", "label:b=1"}})), "1 6 6\n");
}

TEST(Labels, AnEmptyKeyIsNoDimension) {
  EXPECT_THAT(find_dimension("label:").error().message,
              ::testing::HasSubstr("no such dimension: \"label:\""));
  EXPECT_EQ(find_dimension("label:a b")->label_key(), "a b");
}

}  // namespace
}  // namespace plimsoll::query
