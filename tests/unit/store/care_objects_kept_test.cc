// Write-behind to an object store: what stays there, for how long, and what is removed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "store/objects/manifest.h"
#include "store/objects/object_files.h"
#include "tests/unit/store/care_fixture.h"
#include "tests/unit/store/care_objects_fixture.h"
#include "tests/unit/store/segment_fixture.h"

namespace plimsoll::store {
namespace {

using plimsoll::testing::fill_care_directory;
using ::testing::HasSubstr;

TEST_F(CareObjectsTest, WhatNoManifestNamesIsRemoved) {
  fill_care_directory(path_, 1, 4, 3);
  const std::string hash(32, 'a');
  kept_->objects[fmt::format("files/packs/none.{}.0", hash)] = "of a process that ended";
  kept_->objects[fmt::format("files/live.db.{}.11.4711.tmp", hash)] = "of a process that ended, in a folder";
  // These are not of this directory: the bucket has other things, and a server with the prefix "files".
  const std::vector<std::string> foreign = {"files/",
                                            "files/a b",
                                            "files/photos/1.jpg",
                                            "files/packs/none.0",
                                            "files/manifest",
                                            fmt::format("files/files/FORMAT.{}.0", hash)};
  for (const std::string& key : foreign) {
    kept_->objects[key] = "another's";
  }
  auto behind = writer();
  ASSERT_TRUE(write_all(behind));
  fill_care_directory(path_, 5, 5, 3);
  now_ns_ += 2 * kNsPerHour;
  ASSERT_TRUE(write_all(behind));
  now_ns_ += 2 * kNsPerHour;
  ASSERT_TRUE(write_all(behind));
  size_t named = 1 + foreign.size();
  for (const std::string& key : foreign) {
    EXPECT_TRUE(kept_->objects.contains(key)) << key;
  }
  const Manifest last = manifest();
  for (const auto& [path, file] : last.files) {
    for (const std::string& key : object_keys(path, file)) {
      EXPECT_TRUE(kept_->objects.contains(key)) << key;
      ++named;
    }
  }
  EXPECT_EQ(kept_->objects.size(), named);
  EXPECT_TRUE(last.leaving.empty());
}

TEST_F(CareObjectsTest, WhatCouldNotBeRemovedGoesLater) {
  fill_care_directory(path_, 1, 4, 3);
  auto behind = writer();
  ASSERT_TRUE(write_all(behind));
  fill_care_directory(path_, 5, 5, 3);
  now_ns_ += 10 * kNsPerMinute;  // databases are copied again
  ASSERT_TRUE(write_all(behind));
  ASSERT_FALSE(manifest().leaving.empty());
  now_ns_ += 2 * kNsPerHour;
  // Of a pass without anything new these requests are the last: get and put of the manifest, and the removals.
  kept_->requests = 0;
  kept_->fails_from = 2;
  ASSERT_FALSE(behind.run());
  kept_->fails_from = UINT64_MAX;
  ASSERT_TRUE(manifest().leaving.empty());
  ASSERT_TRUE(write_all(behind));
  size_t named = 1;
  const Manifest last = manifest();
  for (const auto& [path, file] : last.files) {
    named += object_keys(path, file).size();
  }
  EXPECT_EQ(kept_->objects.size(), named);
}

// The manifest was put, its answer was lost, and then the directory is as it was before.
TEST_F(CareObjectsTest, AManifestWhoseAnswerWasLostIsReplaced) {
  fill_care_directory(path_, 1, 1, 9);
  auto behind = writer();
  ASSERT_TRUE(write_all(behind));
  std::filesystem::create_directories(path_ + "/symtab/ab");
  write_bytes(path_ + "/symtab/ab/abcd.symtab", "a table");
  // After the table, and the get of the manifest.
  kept_->requests = 0;
  kept_->fails_from = 2;
  kept_->does_failed = true;
  ASSERT_FALSE(behind.run());
  kept_->fails_from = UINT64_MAX;
  ASSERT_TRUE(manifest().files.contains("symtab/ab/abcd.symtab"));
  std::filesystem::remove_all(path_ + "/symtab");
  ASSERT_TRUE(write_all(behind));
  for (const auto& object : kept_->objects) {
    EXPECT_THAT(object.first, ::testing::Not(HasSubstr("symtab")));
  }
  const auto report = restored();
  ASSERT_TRUE(report) << report.error().text();
}

// A bucket that was emptied, or a folder whose file system was replaced.
TEST_F(CareObjectsTest, AStoreThatWasEmptiedIsFilledAgain) {
  fill_care_directory(path_, 1, 4, 3);
  auto behind = writer();
  ASSERT_TRUE(write_all(behind));
  kept_->objects.clear();
  fill_care_directory(path_, 5, 5, 3);
  const auto lost = behind.run();
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(lost.error().text(), HasSubstr("everything is copied again"));
  EXPECT_FALSE(kept_->objects.contains(kManifestKey)) << "it would name objects that are gone";
  ASSERT_TRUE(write_all(behind));
  expect_comes_back();
}

TEST_F(CareObjectsTest, WhatRetentionDroppedStaysForItsTime) {
  fill_care_directory(path_, 1, 7, 2);
  auto behind = writer({.keep_dropped_ns = 24 * kNsPerHour});
  ASSERT_TRUE(write_all(behind));
  {
    const auto ingest = *Ingest::open(path_);
    ASSERT_TRUE(ingest->drop_block(ingest->blocks()->front()));
  }
  const auto has_first_block = [&] {
    return std::ranges::any_of(
        kept_->objects, [](const auto& object) { return object.first.starts_with("files/blocks/000001/"); });
  };
  ASSERT_TRUE(write_all(behind));
  EXPECT_EQ(manifest().blocks.begin()->first, 2);
  EXPECT_TRUE(has_first_block());
  now_ns_ += 25 * kNsPerHour;
  ASSERT_TRUE(write_all(behind));
  EXPECT_FALSE(has_first_block());
  ASSERT_TRUE(restored());
  expect_sound(restored_);
}

TEST_F(CareObjectsTest, AShorterTimeCountsForWhatHasLeft) {
  fill_care_directory(path_, 1, 1, 9);
  std::filesystem::create_directories(path_ + "/symtab/ab");
  write_bytes(path_ + "/symtab/ab/abcd.symtab", "a table");
  {
    auto behind = writer({.keep_dropped_ns = 1000 * kNsPerHour});
    ASSERT_TRUE(write_all(behind));
    std::filesystem::remove_all(path_ + "/symtab");
    ASSERT_TRUE(write_all(behind));
  }
  const auto has_table = [&] {
    return std::ranges::any_of(kept_->objects,
                               [](const auto& object) { return object.first.contains("symtab"); });
  };
  auto behind = writer({.keep_dropped_ns = 24 * kNsPerHour});
  ASSERT_TRUE(write_all(behind));
  EXPECT_TRUE(has_table());
  now_ns_ += 25 * kNsPerHour;
  ASSERT_TRUE(write_all(behind));
  EXPECT_FALSE(has_table());
}

// A backup has blocks that retention dropped since, here and in the store.
TEST_F(CareObjectsTest, OlderBlocksThatCameBackLeaveNoGap) {
  fill_care_directory(path_, 1, 9, 2);
  const std::string backup = folder_ / "backup";
  std::filesystem::copy(path_, backup, std::filesystem::copy_options::recursive);
  {
    const auto ingest = *Ingest::open(path_);
    ASSERT_TRUE(ingest->drop_block(ingest->blocks()->front()));
    ASSERT_TRUE(ingest->drop_block(ingest->blocks()->front()));
  }
  {
    auto behind = writer();
    ASSERT_TRUE(write_all(behind));
  }
  ASSERT_EQ(manifest().blocks.begin()->first, 3);
  std::filesystem::remove_all(path_);
  std::filesystem::rename(backup, path_);
  auto behind = writer({.pass_bytes = 1});
  for (int passes = 0; passes < 100; ++passes) {
    const auto report = behind.run();
    ASSERT_TRUE(report) << report.error().text();
    expect_comes_back();
    if (report->is_complete) {
      break;
    }
  }
  EXPECT_EQ(manifest().blocks.begin()->first, 1);
  EXPECT_EQ(manifest().blocks.size(), 4);
}

}  // namespace
}  // namespace plimsoll::store
