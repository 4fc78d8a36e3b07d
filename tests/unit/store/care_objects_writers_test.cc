// Write-behind to an object store: one process writes there, of one directory and one history of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "store/objects/manifest.h"
#include "store/objects/write_behind.h"
#include "tests/unit/store/care_answers.h"
#include "tests/unit/store/care_fixture.h"
#include "tests/unit/store/care_objects_fixture.h"

namespace plimsoll::store {
namespace {

using plimsoll::testing::answers;
using plimsoll::testing::fill_care_directory;
using ::testing::HasSubstr;

TEST_F(CareObjectsTest, ADamagedManifestIsAnErrorUntilItIsDeleted) {
  fill_care_directory(path_, 1, 4, 3);
  {
    auto behind = writer();
    ASSERT_TRUE(write_all(behind));
  }
  kept_->objects[kManifestKey].pop_back();
  auto behind = writer();
  const auto failed = behind.run();
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::kCorrupt);
  EXPECT_THAT(failed.error().text(), HasSubstr("delete the object \"manifest\""));
  kept_->objects.erase(kManifestKey);
  ASSERT_TRUE(write_all(behind));
  expect_comes_back();
}

// The second one starts, and its first pass takes long: the first one must not remove what that pass will name.
TEST_F(CareObjectsTest, AServerThatStartsStopsTheOneBefore) {
  fill_care_directory(path_, 1, 4, 3);
  auto first = writer();
  ASSERT_TRUE(write_all(first));
  auto second = writer({.pack_bytes = 100, .pass_bytes = 1});
  std::optional<Result<WriteBehindReport>> late;
  bool is_in_first_pass = true;
  kept_->before_get = [&](const std::string& key) {
    // Before the second one writes its first manifest.
    if (key != kManifestKey || kept_->requests == 0 || !std::exchange(is_in_first_pass, false)) {
      return;
    }
    now_ns_ += 2 * kNsPerHour;
    late = first.run();
  };
  kept_->requests = 0;
  fill_care_directory(path_, 5, 8, 3);
  const auto begun = second.run();
  kept_->before_get = {};
  ASSERT_TRUE(begun) << begun.error().text();
  ASSERT_TRUE(late);
  ASSERT_FALSE(*late);
  EXPECT_EQ(late->error().code, ErrorCode::kConflict);
  expect_comes_back();
  const uint64_t puts = kept_->puts;
  EXPECT_EQ(first.run().error().code, ErrorCode::kConflict);
  EXPECT_EQ(kept_->puts, puts) << "nor puts objects which nothing would remove";
  ASSERT_TRUE(write_all(second));
  expect_comes_back();
}

// It has the same ID, and the numbers of its next profiles are those of others in the store.
TEST_F(CareObjectsTest, ADirectoryFromAnOlderBackupIsNotMixedWithTheStore) {
  const std::string backup = folder_ / "backup";
  fill_care_directory(path_, 1, 4, 3);
  std::filesystem::copy(path_, backup, std::filesystem::copy_options::recursive);
  fill_care_directory(path_, 5, 8, 3);
  const auto expected = answers(path_);
  {
    auto behind = writer();
    ASSERT_TRUE(write_all(behind));
  }
  const auto objects = kept_->objects;
  std::filesystem::remove_all(path_);
  std::filesystem::rename(backup, path_);
  const auto expect_refused = [&] {
    auto behind = writer();
    const auto refused = behind.run();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kConflict);
    EXPECT_THAT(refused.error().text(), HasSubstr("older backup"));
    EXPECT_TRUE(kept_->objects == objects) << "and is as it was";
  };
  expect_refused();
  // As many profiles as the store has, and then more.
  fill_care_directory(path_, 11, 14, 3);
  expect_refused();
  fill_care_directory(path_, 15, 16, 3);
  expect_refused();
  ASSERT_TRUE(restored());
  build_rows(restored_, 3);
  EXPECT_EQ(answers(restored_), expected);
}

TEST_F(CareObjectsTest, OneProcessWritesAndOneDirectory) {
  fill_care_directory(path_, 1, 2, 9);
  auto first = writer();
  ASSERT_TRUE(write_all(first));
  auto second = writer();
  ASSERT_TRUE(write_all(second));
  fill_care_directory(path_, 3, 3, 9);
  const auto late = first.run();
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, ErrorCode::kConflict);
  ASSERT_TRUE(write_all(second));
  std::filesystem::remove_all(path_);
  fill_care_directory(path_, 1, 2, 9);
  auto other = writer();
  const auto refused = other.run();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kConflict);
  EXPECT_THAT(refused.error().text(), HasSubstr("another prefix"));
}

}  // namespace
}  // namespace plimsoll::store
