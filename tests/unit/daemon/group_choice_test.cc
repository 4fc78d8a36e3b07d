#include "daemon/group_counts/group_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <random>
#include <set>

#include "tests/unit/daemon/fake_groups.h"

namespace plimsoll {
namespace {

using ::testing::ElementsAre;
using testing::FakeGroupTree;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

GroupPatterns patterns_of(const std::vector<std::string>& expressions) {
  auto patterns = GroupPatterns::compile(expressions);
  EXPECT_TRUE(patterns.has_value()) << patterns.error().text();
  return patterns ? std::move(*patterns) : GroupPatterns();
}

// "PATH PID" of each chosen group, in order.
std::vector<std::string> chosen(const FakeGroupTree& tree, const std::vector<std::string>& expressions) {
  std::vector<std::string> lines;
  for (const ChosenGroup& group : choose_groups(tree.root(), patterns_of(expressions)).groups) {
    lines.push_back(fmt::format("{} {}", group.path, group.pid));
  }
  return lines;
}

TEST(GroupChoice, IsByPartsOfPathsInTheOrderOfThePatterns) {
  const FakeGroupTree tree({{"/web.slice", {}},
                            {"/web.slice/b.service", {12, 11}},
                            {"/web.slice/a.service", {13}},
                            {"/db.slice", {20}},
                            {"/else", {30}}});
  EXPECT_THAT(chosen(tree, {"db", "[.]service$"}),
              ElementsAre("/db.slice 20", "/web.slice/a.service 13", "/web.slice/b.service 11"));
  EXPECT_THAT(chosen(tree, {"^/db[.]slice$"}), ElementsAre("/db.slice 20"));
  EXPECT_THAT(chosen(tree, {"nothing"}), IsEmpty());
  EXPECT_THAT(chosen(tree, {}), IsEmpty());
}

TEST(GroupChoice, LeavesOutTheMachineAndGroupsWithoutProcesses) {
  const FakeGroupTree tree({{"", {1}}, {"/empty", {}}, {"/outside", {0}}, {"/busy", {7}}});
  EXPECT_THAT(chosen(tree, {"/"}), ElementsAre("/busy 7"));
}

// "docker" matches the folder above the containers, too.
TEST(GroupChoice, LeavesOutFoldersThatHoldNothingButChosenGroups) {
  const FakeGroupTree tree({{"/docker", {}}, {"/docker/one", {1}}, {"/docker/two", {2}}});
  EXPECT_THAT(chosen(tree, {"docker"}), ElementsAre("/docker/one 1", "/docker/two 2"));
}

TEST(GroupChoice, TakesAFolderForTheProcessesBelowThatNobodyElseHas) {
  const FakeGroupTree tree(
      {{"/pod", {}}, {"/pod/one", {1}}, {"/pod/two", {}}, {"/pod/two/deep", {3, 2}}, {"/pod/two/own", {4}}});
  EXPECT_THAT(chosen(tree, {"^/pod$"}), ElementsAre("/pod 1"));
  EXPECT_THAT(chosen(tree, {"/one$", "/own$", "^/pod$"}),
              ElementsAre("/pod/one 1", "/pod/two/own 4", "/pod 2"));
}

// Root reads everything: as long as this lives, it is somebody else.
class OrdinaryUser {
 public:
  OrdinaryUser() : was_(::geteuid()) { EXPECT_TRUE(was_ != 0 || ::seteuid(kNobody) == 0); }
  OrdinaryUser(const OrdinaryUser&) = delete;
  OrdinaryUser& operator=(const OrdinaryUser&) = delete;
  ~OrdinaryUser() { EXPECT_EQ(::seteuid(was_), 0); }

 private:
  static constexpr uid_t kNobody = 65'534;
  const uid_t was_;
};

TEST(GroupChoice, TellsWhatItMayNotRead) {
  const FakeGroupTree tree({{"/closed", {1}}, {"/open", {2}}});
  std::filesystem::permissions(tree.root(), std::filesystem::perms(0755));
  std::filesystem::permissions(tree.root() + "/closed", std::filesystem::perms::none);
  GroupChoice choice;
  {
    const OrdinaryUser user;
    choice = choose_groups(tree.root(), patterns_of({"/"}));
  }
  std::filesystem::permissions(tree.root() + "/closed", std::filesystem::perms::owner_all);
  EXPECT_EQ(choice.groups.size(), 1);
  EXPECT_THAT(choice.unread, ElementsAre("/closed"));
}

TEST(GroupChoice, LooksAtNoMoreThanItMay) {
  const FakeGroupTree tree({{"/a", {1}}, {"/b", {2}}, {"/b/c", {3}}, {"/d", {4}}});
  const GroupChoice few = choose_groups(tree.root(), patterns_of({"/"}), {.max_groups = 3});
  EXPECT_EQ(few.groups.size(), 3);
  EXPECT_TRUE(few.is_cut);
  const GroupChoice all = choose_groups(tree.root(), patterns_of({"/"}), {.max_groups = 4});
  EXPECT_EQ(all.groups.size(), 4);
  EXPECT_FALSE(all.is_cut);
  const GroupChoice shallow = choose_groups(tree.root(), patterns_of({"/c"}), {.max_depth = 1});
  EXPECT_THAT(shallow.groups, IsEmpty());
}

TEST(GroupChoice, RefusesWhatIsNoRegularExpression) {
  const auto wrong = GroupPatterns::compile({"/a", "(b"});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, ErrorCode::kInvalid);
  EXPECT_THAT(wrong.error().message, HasSubstr("\"(b\" is not a regular expression"));
  EXPECT_FALSE(GroupPatterns::compile(std::vector<std::string>(101, "a")));
}

// Each process belongs to the nearest group at or above its own that matches. Chosen are those that some process belongs to.
TEST(GroupChoice, AgreesWithASimpleModelOnRandomTrees) {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    std::vector<std::string> paths{""};
    std::map<std::string, std::vector<uint32_t>> groups;
    std::set<std::string> expected;
    for (uint32_t pid = 1; pid <= 12; ++pid) {
      // A group whose name ends in x is chosen.
      const std::string path =
          fmt::format("{}/{}{}", paths[random() % paths.size()], pid, random() % 3 == 0 ? "x" : "");
      paths.push_back(path);
      const bool has_process = random() % 2 == 0;
      groups[path] = has_process ? std::vector{pid} : std::vector<uint32_t>();
      std::string owner = has_process ? path : "";
      while (!owner.empty() && !owner.ends_with('x')) {
        owner.resize(owner.rfind('/'));
      }
      if (!owner.empty()) {
        expected.insert(owner);
      }
    }
    std::set<std::string> found;
    const FakeGroupTree tree(groups);
    for (const ChosenGroup& group : choose_groups(tree.root(), patterns_of({"x$"})).groups) {
      found.insert(group.path);
    }
    EXPECT_EQ(found, expected) << "round " << round;
  }
}

}  // namespace
}  // namespace plimsoll
