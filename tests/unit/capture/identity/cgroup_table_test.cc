// From the number of a control group's folder to its path.
#include "capture/identity/cgroup_table.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "tests/temporary_directory.h"

namespace plimsoll::identity {
namespace {

using Beside = CgroupTable::Beside;

class CgroupTableTest : public ::testing::Test {
 protected:
  void file(const std::string& path) const {
    folder(std::filesystem::path(path).parent_path());
    std::ofstream(mounts_ / path) << "";
  }
  void folder(const std::string& path) const { std::filesystem::create_directories(mounts_ / path); }
  uint64_t id(const std::string& path) const {
    struct stat info{};
    EXPECT_EQ(::stat((mounts_ / path).c_str(), &info), 0) << path;
    return info.st_ino;
  }
  // Empty: not known.
  static std::string found(CgroupTable& table, uint64_t id) {
    const CgroupPath path = table.find(id);
    return path == nullptr ? std::string() : *path;
  }

  plimsoll::testing::TemporaryDirectory mounts_;
};

TEST_F(CgroupTableTest, IdsAreThoseOfTheHierarchyThatPerfEventsBelongTo) {
  folder("perf_event/a");
  folder("unified/a");
  folder("a");
  struct Case {
    std::vector<std::string> files;  // besides those of the cases before
    std::string root;                // of the hierarchy
    Beside beside;
  };
  const std::vector<Case> cases{{{"unified/cgroup.controllers"}, "unified/", Beside::kV1},
                                {{"cgroup.controllers"}, "", Beside::kNothing},
                                {{"perf_event/cgroup.procs"}, "perf_event/", Beside::kUnifiedToo}};
  for (const Case& c : cases) {
    SCOPED_TRACE(c.root);
    for (const std::string& path : c.files) {
      file(path);
    }
    CgroupTable table(mounts_.path());
    table.scan();
    EXPECT_EQ(table.beside(), c.beside);
    EXPECT_EQ(found(table, id(c.root)), "/");
    EXPECT_EQ(found(table, id(c.root + "a")), "/a");
  }
}

TEST_F(CgroupTableTest, WithoutAHierarchyOnlyRecordsTell) {
  folder("a");
  for (const std::string& mounts : {mounts_.path(), std::string()}) {
    CgroupTable table(mounts);
    table.scan();
    EXPECT_EQ(table.groups(), 0);
    EXPECT_EQ(found(table, id("a")), "");
    table.add(7, "/told\n");
    EXPECT_EQ(found(table, 7), "/told?");
  }
}

TEST_F(CgroupTableTest, FindsGroupsAtAnyDepthOnceAndFollowsNoLinks) {
  file("cgroup.controllers");
  folder("a/b/c");
  folder("a/d\n");
  std::filesystem::create_directory_symlink("..", mounts_ / "a/up");
  CgroupTable table(mounts_.path());
  table.scan();
  EXPECT_EQ(table.groups(), 5);
  EXPECT_EQ(found(table, id("a/b/c")), "/a/b/c");
  EXPECT_EQ(found(table, id("a/d\n")), "/a/d?");
  EXPECT_EQ(table.find(id("a")), table.path("/a")) << "one string for each path";
}

TEST_F(CgroupTableTest, LooksForUnknownOnesOnceInAWindow) {
  file("cgroup.controllers");
  CgroupTable table(mounts_.path());
  table.scan();
  folder("late");
  EXPECT_EQ(found(table, id("late")), "") << "in the window of a scan records tell";
  table.end_window();
  EXPECT_EQ(found(table, id("late")), "/late");
  folder("later");
  EXPECT_EQ(found(table, id("later")), "");
  EXPECT_EQ(found(table, 0), "") << "no sample tells that";
  table.end_window();
  EXPECT_EQ(found(table, id("later")), "/later");
}

TEST_F(CgroupTableTest, KeepsToItsBounds) {
  file("cgroup.controllers");
  for (int i = 0; i < 20; ++i) {
    folder("g" + std::to_string(i) + "/below/it");
  }
  CgroupTable shallow(mounts_.path(), {.max_depth = 2});
  shallow.scan();
  EXPECT_EQ(shallow.groups(), 1 + 20 + 20);
  EXPECT_EQ(found(shallow, id("g3/below")), "/g3/below");
  EXPECT_EQ(found(shallow, id("g3/below/it")), "");

  CgroupTable small(mounts_.path(), {.max_groups = 10});
  small.scan();
  EXPECT_EQ(small.groups(), 10);
  small.add(1, "/one more");
  EXPECT_EQ(small.groups(), 10);
  const CgroupPath root = small.find(id("."));
  ASSERT_NE(root, nullptr);
  small.end_window();
  EXPECT_EQ(small.groups(), 0) << "those that ended make room";
  EXPECT_EQ(*root, "/") << "lives on with whoever holds it";
  EXPECT_EQ(found(small, id(".")), "/");
}

}  // namespace
}  // namespace plimsoll::identity
