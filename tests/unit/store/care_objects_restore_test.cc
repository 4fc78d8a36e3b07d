// Directories that come back from an object store: after failures, of damaged objects, and while a server writes there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "store/objects/manifest.h"
#include "store/objects/object_files.h"
#include "store/objects/write_behind.h"
#include "tests/unit/store/care_answers.h"
#include "tests/unit/store/care_fixture.h"
#include "tests/unit/store/care_objects_fixture.h"

namespace plimsoll::store {
namespace {

using plimsoll::testing::answers;
using plimsoll::testing::fill_care_directory;
using ::testing::HasSubstr;

TEST_F(CareObjectsTest, ARestoreThatFailedGoesOn) {
  fill_care_directory(path_, 1, 8, 3);
  auto behind = writer({.pack_bytes = 100});
  ASSERT_TRUE(write_all(behind));
  kept_->requests = 0;
  std::optional<Result<ObjectRestoreReport>> report;
  // The manifest, once more when the folder is there, and one object each time.
  for (int attempt = 0; attempt < 100 && !(report && *report); ++attempt) {
    kept_->fails_from = kept_->requests + 3;
    report = restored();
    ASSERT_TRUE(*report || !std::filesystem::exists(restored_));
    if (!*report && std::filesystem::exists(restored_ + ".tmp")) {
      EXPECT_THAT(report->error().text(), HasSubstr("run the command again"));
    }
  }
  ASSERT_TRUE(*report) << report->error().text();
  build_rows(restored_, 3);
  EXPECT_EQ(answers(restored_), answers(path_));
}

TEST_F(CareObjectsTest, ARestoreGoesOnWithNothingOfAnotherHistory) {
  const std::string other = folder_ / "other";
  fill_care_directory(path_, 1, 4, 99);
  std::filesystem::copy(path_, other, std::filesystem::copy_options::recursive);
  fill_care_directory(path_, 5, 8, 99);
  fill_care_directory(other, 11, 16, 99);
  {
    auto behind = writer({.pack_bytes = 100});
    ASSERT_TRUE(write_all(behind));
  }
  const std::string last_pack = pack_path({8, 8});
  for (const std::string& key : object_keys(last_pack, manifest().files.at(last_pack))) {
    kept_->objects.erase(key);
  }
  const auto first = kept_;
  // The newest profile of the first attempt, number 7, is the last of a pack, or in the middle of one.
  for (const uint64_t pack_bytes : {uint64_t{100}, uint64_t{16} << 20}) {
    kept_ = first;
    ASSERT_FALSE(restored());
    kept_ = std::make_shared<KeptObjects>();
    WriteBehind behind(other, std::make_unique<MemoryStore>(kept_), {.pack_bytes = pack_bytes});
    ASSERT_TRUE(write_all(behind));
    const auto report = restored();
    ASSERT_TRUE(report) << report.error().text();
    EXPECT_EQ(report->check.raw_profiles, 10);
    build_rows(restored_, 99);
    EXPECT_EQ(answers(restored_), answers(other)) << pack_bytes;
    std::filesystem::remove_all(restored_);
  }
}

TEST_F(CareObjectsTest, AfterARestoreSegmentsAreReadAgainAndNotPut) {
  fill_care_directory(path_, 1, 8, 2);
  {
    auto behind = writer();
    ASSERT_TRUE(write_all(behind));
  }
  ASSERT_TRUE(restored());
  std::filesystem::remove_all(path_);
  std::filesystem::rename(restored_, path_);
  kept_->put_keys.clear();
  auto behind = writer({.pass_bytes = 4096});
  ASSERT_TRUE(write_all(behind));
  for (const std::string& key : kept_->put_keys) {
    EXPECT_THAT(key, ::testing::Not(HasSubstr("/segments/")));
  }
  EXPECT_EQ(manifest().blocks.size(), 4);
  expect_comes_back();
}

TEST_F(CareObjectsTest, DamagedObjectsAreNoDirectory) {
  fill_care_directory(path_, 1, 4, 3);
  auto behind = writer();
  ASSERT_TRUE(write_all(behind));
  const auto sound = kept_->objects;
  for (const auto& [key, content] : sound) {
    kept_->objects = sound;
    ASSERT_FALSE(content.empty()) << key;
    char& byte = kept_->objects[key][content.size() / 2];
    byte = static_cast<char>(byte ^ 1);
    const auto report = restored();
    ASSERT_FALSE(report) << key;
    EXPECT_EQ(report.error().code, ErrorCode::kCorrupt) << key;
    EXPECT_FALSE(std::filesystem::exists(restored_)) << key;
    std::filesystem::remove_all(restored_ + ".tmp");
    kept_->objects[key] = content + "x";
    EXPECT_EQ(restored().error().code, ErrorCode::kCorrupt) << key << " is longer";
    std::filesystem::remove_all(restored_ + ".tmp");
  }
  for (const auto& object : sound) {
    if (object.first == kManifestKey) {
      continue;
    }
    kept_->objects = sound;
    kept_->objects.erase(object.first);
    const auto report = restored();
    ASSERT_FALSE(report) << object.first;
    EXPECT_EQ(report.error().code, ErrorCode::kCorrupt) << object.first;
    EXPECT_THAT(report.error().text(), HasSubstr("find out what removes objects")) << object.first;
    std::filesystem::remove_all(restored_ + ".tmp");
  }
  kept_->objects.clear();
  EXPECT_EQ(restored().error().code, ErrorCode::kNotFound);
}

// A large directory takes hours to fetch, and the server that writes it goes on.
TEST_F(CareObjectsTest, ARestoreTakesTheNextManifestWhereObjectsGo) {
  fill_care_directory(path_, 1, 4, 3);
  auto behind = writer();
  ASSERT_TRUE(write_all(behind));
  const auto before = kept_->objects;
  fill_care_directory(path_, 5, 8, 3);
  ASSERT_TRUE(write_all(behind));
  now_ns_ += 2 * kNsPerHour;
  ASSERT_TRUE(write_all(behind));
  const auto after = kept_->objects;
  for (const char* const prefix : {"files/packs/", "files/blocks/", "files/live.db"}) {
    kept_->objects = before;
    kept_->before_get = [&](const std::string& key) {
      kept_->objects = key.starts_with(prefix) ? after : kept_->objects;
    };
    const auto report = restored();
    kept_->before_get = {};
    ASSERT_TRUE(report) << prefix << ": " << report.error().text();
    build_rows(restored_, 3);
    EXPECT_EQ(answers(restored_), answers(path_)) << prefix;
    std::filesystem::remove_all(restored_);
  }
}

}  // namespace
}  // namespace plimsoll::store
