// Write-behind, backups and restores of directories whose rows are elsewhere.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "store/archive/archive.h"
#include "store/care/backup.h"
#include "store/identity/directory_identity.h"
#include "store/objects/manifest.h"
#include "tests/unit/store/care_fixture.h"
#include "tests/unit/store/care_objects_fixture.h"

namespace plimsoll::store {
namespace {

TEST_F(CareObjectsTest, ADirectoryComesBackWithThePlaceOfItsRows) {
  make_with_rows_elsewhere();
  accept(1, 5);
  const DirectoryIdentity identity = *read_identity(path_);
  auto behind = writer();
  ASSERT_TRUE(write_all(behind));
  EXPECT_EQ(manifest().rows, kRowsAddress);
  EXPECT_TRUE(manifest().blocks.empty());
  const auto report = restored();
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_EQ(report->rows, kRowsAddress);
  EXPECT_EQ(report->check.raw_profiles, 5);
  EXPECT_EQ(report->profiles_to_rebuild, 0) << "the rows know";
  const auto found = read_identity(restored_);
  ASSERT_TRUE(found) << found.error().text();
  EXPECT_EQ(found->id, identity.id);
  EXPECT_EQ(found->rows, identity.rows);
  EXPECT_TRUE(found->is_restored) << "its archive may be older than the rows";
  expect_sound(restored_);
}

TEST_F(CareObjectsTest, PacksGoWithTheirProfilesWhereRowsAreElsewhere) {
  make_with_rows_elsewhere();
  accept(1, 6);
  auto behind = writer({.keep_dropped_ns = 24 * kNsPerHour, .pack_bytes = 100});
  ASSERT_TRUE(write_all(behind));
  // Retention drops those alone that have rows.
  ASSERT_EQ(archive()->drop_profiles(4, INT64_MAX, 100), 4);
  ASSERT_TRUE(write_all(behind));
  EXPECT_THAT(manifest().paths_below("packs/"), ::testing::ElementsAre(pack_path({5, 5}), pack_path({6, 6})));
  now_ns_ += 25 * kNsPerHour;
  ASSERT_TRUE(write_all(behind));
  const auto report = restored();
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_EQ(report->check.raw_profiles, 2);
}

// After a restore numbers go on behind those of the rows. What the store has of before stays.
TEST_F(CareObjectsTest, LostProfilesWithRowsElsewhereAreAGapBetweenPacks) {
  make_with_rows_elsewhere();
  accept(1, 4);
  for (const uint64_t pack_bytes : {uint64_t{100}, uint64_t{16} << 20}) {
    auto behind = writer({.pack_bytes = pack_bytes});
    ASSERT_TRUE(write_all(behind));
    const int64_t last = *archive()->last_sequence();
    ASSERT_TRUE(archive()->go_on_after(last + 3));
    accept(static_cast<uint64_t>(last + 4), static_cast<uint64_t>(last + 5));
    kept_->put_keys.clear();
    ASSERT_TRUE(write_all(behind));
    EXPECT_TRUE(std::ranges::none_of(kept_->put_keys, [](const std::string& key) {
      return key.contains(pack_path({1, 1}));
    })) << "they are there already";
    const auto report = restored();
    ASSERT_TRUE(report) << report.error().text();
    auto copy = Archive::open(restored_ + "/archive.db", sqlite::OpenMode::kRead);
    ASSERT_TRUE(copy) << copy.error().text();
    EXPECT_EQ((*copy)->count().value(), archive()->count().value());
    EXPECT_EQ((*copy)->last_sequence().value(), last + 5);
    expect_sound(restored_);
    std::filesystem::remove_all(restored_);
  }
}

TEST_F(CareObjectsTest, ARestoreThatFailedGoesOnWithThePlaceOfTheRows) {
  make_with_rows_elsewhere();
  accept(1, 8);
  auto behind = writer({.pack_bytes = 100});
  ASSERT_TRUE(write_all(behind));
  kept_->requests = 0;
  std::optional<Result<ObjectRestoreReport>> report;
  for (int attempt = 0; attempt < 100 && !(report && *report); ++attempt) {
    kept_->fails_from = kept_->requests + 3;
    report = restored();
  }
  ASSERT_TRUE(*report) << report->error().text();
  EXPECT_EQ(report->value().check.raw_profiles, 8);
  EXPECT_TRUE(read_identity(restored_)->is_restored);
}

// A backup, too, is older than rows that are elsewhere: once it is restored, and no sooner.
TEST_F(CareObjectsTest, ABackupThatIsRestoredIsACopyBesideItsRows) {
  make_with_rows_elsewhere();
  accept(1, 3);
  const std::string backup = folder_ / "backup";
  ASSERT_TRUE(back_up(path_, backup));
  EXPECT_FALSE(read_identity(backup)->is_restored);
  ASSERT_TRUE(restore(backup, restored_));
  EXPECT_TRUE(read_identity(restored_)->is_restored);
  expect_sound(restored_);
}

// The rows have the IDs of all profiles, and the store their content: a copy of this directory would take its place.
TEST_F(CareObjectsTest, ADirectoryThatKnowsProfilesByTheirIdsAloneIsNotMixedWithTheStore) {
  make_with_rows_elsewhere();
  accept(1, 3);
  const std::string backup = folder_ / "backup";
  ASSERT_TRUE(back_up(path_, backup));
  accept(4, 6);
  {
    auto behind = writer();
    ASSERT_TRUE(write_all(behind));
  }
  const auto objects = kept_->objects;
  std::filesystem::remove_all(path_);
  ASSERT_TRUE(restore(backup, path_));
  // As the first server on it does (store/known_profiles.h).
  std::vector<ArchivedProfile> known;
  for (uint64_t seed = 4; seed <= 6; ++seed) {
    known.push_back({.sequence = static_cast<int64_t>(seed),
                     .id = plimsoll::testing::care_profile(seed).profile_id(),
                     .encoded = {},
                     .received_ns = now_ns_});
  }
  ASSERT_TRUE(archive()->add_known(known));
  accept(7, 8);
  auto behind = writer();
  const auto refused = behind.run();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kConflict);
  EXPECT_THAT(refused.error().text(), ::testing::HasSubstr("older backup"));
  EXPECT_TRUE(kept_->objects == objects) << "and is as it was";
  std::filesystem::remove_all(path_);
  const auto report = restored();
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_EQ(report->check.raw_profiles, 6);
}

// IDs that were taken from the rows have no content, and retention drops the content of what has rows: neither is damage.
TEST_F(CareObjectsTest, ACheckTakesWhatHasRowsElsewhereForWhole) {
  make_with_rows_elsewhere();
  accept(1, 3);
  const std::vector<ArchivedProfile> lost{
      {.sequence = 5, .id = std::string(16, 'x'), .encoded = {}, .received_ns = now_ns_}};
  ASSERT_TRUE(archive()->add_known(lost));
  ASSERT_EQ(archive()->drop_profiles(2, INT64_MAX, 100), 2);
  expect_sound(path_);
  accept(6, 7);
  expect_sound(path_);
}

}  // namespace
}  // namespace plimsoll::store
