// Write-behind to an object store, and directories that come back from it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "objects/object_store.h"
#include "server/passes.h"
#include "store/care/backup.h"
#include "store/care/check.h"
#include "store/care/object_restore.h"
#include "store/directory/data_directory.h"
#include "store/identity/directory_identity.h"
#include "store/objects/manifest.h"
#include "store/objects/object_files.h"
#include "store/objects/profile_pack.h"
#include "store/objects/write_behind.h"
#include "tests/objects/s3_server.h"
#include "tests/temporary_directory.h"
#include "tests/unit/store/care_answers.h"
#include "tests/unit/store/care_fixture.h"
#include "tests/unit/store/segment_fixture.h"

namespace plimsoll::store {
namespace {

using plimsoll::testing::answers;
using plimsoll::testing::fill_care_directory;
using plimsoll::testing::S3Server;
using ::testing::HasSubstr;

constexpr const char* kRowsAddress = "clickhouse://ch.example.com/plimsoll";

// Objects in memory, and requests that fail.
struct KeptObjects {
  std::map<std::string, std::string> objects = {};
  uint64_t requests = 0;
  uint64_t fails_from = UINT64_MAX;  // this request, and all later ones
  bool does_failed = false;          // what fails first is done all the same
  uint64_t puts = 0;
  std::vector<std::string> put_keys = {};
  std::function<void(const std::string& key)> before_get = {};
};

class MemoryStore : public objects::ObjectStore {
 public:
  explicit MemoryStore(std::shared_ptr<KeptObjects> kept) : kept_(std::move(kept)) {}

  Status put(const std::string& key, Bytes content) override {
    if (begin()) {
      kept_->objects[key] = std::string(as_text(content));
      ++kept_->puts;
      kept_->put_keys.push_back(key);
    }
    return end();
  }
  Result<std::string> get(const std::string& key, uint64_t max_bytes) override {
    if (kept_->before_get) {
      kept_->before_get(key);
    }
    begin();
    if (const Status ended = end(); !ended) {
      return propagate(ended);
    }
    const auto object = kept_->objects.find(key);
    if (object == kept_->objects.end()) {
      return fail(ErrorCode::kNotFound, "no object {}", key);
    }
    return object->second.size() <= max_bytes ? Result<std::string>(object->second)
                                              : fail(ErrorCode::kTooLarge, "too large: {}", key);
  }
  Result<std::vector<objects::ObjectInfo>> list(const std::string& prefix) override {
    begin();
    if (const Status ended = end(); !ended) {
      return propagate(ended);
    }
    std::vector<objects::ObjectInfo> listed;
    for (const auto& [key, content] : kept_->objects) {
      if (key.starts_with(prefix)) {
        listed.push_back({key, content.size()});
      }
    }
    return listed;
  }
  Status remove(const std::string& key) override {
    if (begin()) {
      kept_->objects.erase(key);
    }
    return end();
  }

 private:
  // Whether the request is carried out.
  bool begin() {
    const uint64_t number = kept_->requests++;
    return number < kept_->fails_from || (number == kept_->fails_from && kept_->does_failed);
  }
  Status end() const {
    return kept_->requests <= kept_->fails_from ? Status()
                                                : fail(ErrorCode::kUnavailable, "the store does not answer");
  }

  std::shared_ptr<KeptObjects> kept_;
};

class CareObjectsTest : public ::testing::Test {
 protected:
  static void expect_sound(const std::string& path) {
    const auto report = check_store(path);
    ASSERT_TRUE(report) << report.error().text();
    for (const Finding& finding : report->findings) {
      ADD_FAILURE() << finding.file << ": " << finding.what;
    }
  }

  WriteBehind writer(const WriteBehindOptions& options = {}) {
    WriteBehindOptions with_clock = options;
    with_clock.now_ns = [this] { return now_ns_; };
    return WriteBehind(path_, std::make_unique<MemoryStore>(kept_), with_clock);
  }

  // Until nothing is left.
  static Status write_all(WriteBehind& behind) {
    while (true) {
      const auto report = behind.run();
      if (!report || report->is_complete) {
        return report ? Status() : propagate(report);
      }
    }
  }

  Result<ObjectRestoreReport> restored() {
    MemoryStore store(kept_);
    return restore_from_objects(store, "memory", restored_);
  }

  // Whether what the store has comes back; it is gone afterwards.
  void expect_comes_back() {
    const auto report = restored();
    ASSERT_TRUE(report) << report.error().text();
    expect_sound(restored_);
    std::filesystem::remove_all(restored_);
  }

  static void touch(const std::string& path) {
    std::filesystem::last_write_time(path, std::filesystem::last_write_time(path) + std::chrono::seconds(1));
  }

  Manifest manifest() const { return *parse_manifest(kept_->objects.at(kManifestKey)); }

  // Starts what a server does first: raw profiles become rows.
  static void build_rows(const std::string& path, uint64_t per_block) {
    const auto ingest = Ingest::open(path, {.block_limits = {.max_profiles = per_block}});
    ASSERT_TRUE(ingest) << ingest.error().text();
    while ((*ingest)->build_pending()->profiles > 0) {
    }
  }

  // A directory whose rows are said to be elsewhere, where no test asks for them.
  void make_with_rows_elsewhere() {
    ASSERT_TRUE(DataDirectory::open_for_writing(path_));
    auto identity = read_identity(path_);
    ASSERT_TRUE(identity) << identity.error().text();
    identity->rows = {.address = kRowsAddress, .password_file = "/etc/plimsoll/clickhouse"};
    ASSERT_TRUE(write_identity(path_, *identity));
  }

  std::unique_ptr<Archive> archive() {
    auto opened = Archive::open(path_ + "/archive.db", sqlite::OpenMode::kReadWriteShrinking);
    EXPECT_TRUE(opened) << opened.error().text();
    return opened ? *std::move(opened) : nullptr;
  }

  // Profiles `first` to `last`, of which no rows are made here.
  void accept(uint64_t first, uint64_t last) {
    const auto accepting = archive();
    for (uint64_t seed = first; seed <= last; ++seed) {
      const auto profile = plimsoll::testing::care_profile(seed);
      ASSERT_EQ(accepting->accept(profile.profile_id(), as_bytes(wire::encode(profile)), now_ns_,
                                  Arrival::kUploaded),
                Acceptance::kNew);
    }
  }

  plimsoll::testing::TemporaryDirectory folder_;
  std::string path_ = folder_ / "data";
  std::string restored_ = folder_ / "restored";
  int64_t now_ns_ = 1'700'000'000'000'000'000;
  std::shared_ptr<KeptObjects> kept_ = std::make_shared<KeptObjects>();
};

TEST_F(CareObjectsTest, ADirectoryComesBackAfterItsDiskIsLost) {
  fill_care_directory(path_, 1, 8, 3);
  const auto expected = answers(path_);
  ASSERT_FALSE(expected.empty());
  auto behind = writer();
  ASSERT_TRUE(write_all(behind));
  std::filesystem::remove_all(path_);
  const auto report = restored();
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_EQ(report->check.raw_profiles, 8);
  EXPECT_EQ(report->check.blocks, 3) << "two that were sealed, and a new one";
  EXPECT_EQ(report->profiles_to_rebuild, 2);
  EXPECT_EQ(report->written_ns, now_ns_);
  EXPECT_GT(report->newest_received_ns, 0);
  EXPECT_FALSE(std::filesystem::exists(restored_ + ".tmp"));
  build_rows(restored_, 3);
  EXPECT_EQ(answers(restored_), expected);
  expect_sound(restored_);
  auto accounts = *AccessStore::open_if_there(restored_ + "/access.db");
  EXPECT_EQ(accounts->machines()->at(0).revoked_ns, 4) << "a revoked machine is so still";
  // It takes the same profiles for known, and goes on.
  fill_care_directory(restored_, 1, 10, 3);
  expect_sound(restored_);
  fill_care_directory(path_, 1, 10, 3);
  EXPECT_EQ(answers(restored_), answers(path_));
}

TEST_F(CareObjectsTest, ADirectoryWithoutASealedBlockComesBack) {
  fill_care_directory(path_, 1, 2, 9);
  auto behind = writer();
  ASSERT_TRUE(write_all(behind));
  const auto report = restored();
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_EQ(report->profiles_to_rebuild, 2);
  build_rows(restored_, 9);
  EXPECT_EQ(answers(restored_), answers(path_));
  expect_sound(restored_);
}

TEST_F(CareObjectsTest, APassPutsWhatIsNewAndNothingElse) {
  fill_care_directory(path_, 1, 4, 3);
  auto behind = writer();
  ASSERT_TRUE(write_all(behind));
  const uint64_t puts = kept_->puts;
  const auto idle = behind.run();
  ASSERT_TRUE(idle) << idle.error().text();
  EXPECT_EQ(idle->files, 0);
  EXPECT_EQ(kept_->puts, puts) << "nor a manifest";
  fill_care_directory(path_, 5, 5, 3);
  const auto one = behind.run();
  ASSERT_TRUE(one) << one.error().text();
  EXPECT_TRUE(manifest().files.contains(pack_path({1, 5})));
  EXPECT_FALSE(manifest().files.contains(pack_path({1, 4})));
}

// On a full disk no database can be copied, and raw profiles need no room.
TEST_F(CareObjectsTest, RawProfilesAreCopiedWhereADatabaseCannotBe) {
  fill_care_directory(path_, 1, 2, 9);
  auto behind = writer();
  ASSERT_TRUE(write_all(behind));
  const StoredFile before = manifest().files.at("live.db");
  fill_care_directory(path_, 3, 4, 9);
  write_bytes(path_ + "/live.db", std::string(8192, 'x'));
  now_ns_ += kNsPerHour;
  const auto failed = behind.run();
  ASSERT_FALSE(failed);
  EXPECT_THAT(failed.error().text(), HasSubstr("live.db"));
  EXPECT_TRUE(manifest().files.contains(pack_path({1, 4})));
  EXPECT_EQ(manifest().files.at("live.db"), before);
  expect_comes_back();
}

TEST_F(CareObjectsTest, AClockThatWasAheadDelaysNoDatabase) {
  fill_care_directory(path_, 1, 2, 9);
  auto behind = writer();
  now_ns_ += 1000 * kNsPerHour;
  ASSERT_TRUE(write_all(behind));
  const int64_t before = manifest().files.at("access.db").version;
  now_ns_ -= 1000 * kNsPerHour;
  touch(path_ + "/access.db");
  ASSERT_TRUE(write_all(behind));
  EXPECT_NE(manifest().files.at("access.db").version, before);
}

TEST_F(CareObjectsTest, APackThatIsLargeEnoughIsPutOnce) {
  fill_care_directory(path_, 1, 4, 9);
  auto behind = writer({.pack_bytes = 100});
  ASSERT_TRUE(write_all(behind));
  EXPECT_EQ(manifest().paths_below("packs/").size(), 4);
  fill_care_directory(path_, 5, 5, 9);
  ASSERT_TRUE(write_all(behind));
  EXPECT_EQ(manifest().paths_below("packs/").size(), 5);
  EXPECT_TRUE(manifest().files.contains(pack_path({4, 4})));
}

TEST_F(CareObjectsTest, ASmallBudgetLeadsToSeveralPassesWhichEachFitTogether) {
  fill_care_directory(path_, 1, 8, 2);
  auto behind = writer({.pack_bytes = 100, .pass_bytes = 1});
  int passes = 0;
  while (true) {
    const auto report = behind.run();
    ASSERT_TRUE(report) << report.error().text();
    ++passes;
    const auto back = restored();
    ASSERT_TRUE(back) << back.error().text();
    expect_sound(restored_);
    std::filesystem::remove_all(restored_);
    if (report->is_complete) {
      break;
    }
    ASSERT_LT(passes, 100);
  }
  EXPECT_GT(passes, 5);
  EXPECT_EQ(manifest().blocks.size(), 4);
}

// At each request of a pass the store stops answering, or the process ends.
TEST_F(CareObjectsTest, AfterAFailureAtAnyRequestTheStoreHasAWholeDirectoryAndTheNextPassCompletes) {
  fill_care_directory(path_, 1, 4, 3);
  {
    auto behind = writer();
    ASSERT_TRUE(write_all(behind));
  }
  fill_care_directory(path_, 5, 8, 3);
  const auto expected = answers(path_);
  const KeptObjects before = *kept_;
  for (const bool does_failed : {false, true}) {
    uint64_t fails_from = 0;
    for (bool has_failed = true; has_failed; ++fails_from) {
      *kept_ = before;
      now_ns_ += 2 * kNsPerHour;
      auto behind = writer();
      kept_->requests = 0;
      kept_->fails_from = fails_from;
      kept_->does_failed = does_failed;
      has_failed = !write_all(behind);
      kept_->fails_from = UINT64_MAX;
      const auto between = restored();
      ASSERT_TRUE(between) << fails_from << ": " << between.error().text();
      expect_sound(restored_);
      std::filesystem::remove_all(restored_);
      // The same process goes on, or another one.
      auto next = writer();
      ASSERT_TRUE(write_all(fails_from % 2 == 0 ? behind : next)) << fails_from;
      const auto after = restored();
      ASSERT_TRUE(after) << fails_from << ": " << after.error().text();
      build_rows(restored_, 3);
      EXPECT_EQ(answers(restored_), expected) << fails_from;
      std::filesystem::remove_all(restored_);
    }
    EXPECT_GT(fails_from, 8);
  }
}

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

// "plimsoll store repair" gives a rebuilt segment the name and the size of the one that was copied.
TEST_F(CareObjectsTest, ASegmentThatWasRepairedIsCopiedAgain) {
  fill_care_directory(path_, 1, 4, 3);
  const std::string block = path_ + "/blocks/000001";
  std::map<std::string, std::string> sound;
  for (const auto& entry : std::filesystem::directory_iterator(block + "/segments")) {
    std::string content = *read_file(entry.path().string(), 1 << 20);
    sound[entry.path().string()] = content;
    content[content.size() / 2] = static_cast<char>(content[content.size() / 2] ^ 1);
    write_bytes(entry.path().string(), content);
  }
  auto behind = writer();
  ASSERT_TRUE(write_all(behind));
  const auto of_damaged = restored();
  ASSERT_FALSE(of_damaged);
  EXPECT_EQ(of_damaged.error().code, ErrorCode::kCorrupt);
  for (const auto& [path, content] : sound) {
    write_bytes(path, content);
    touch(path);
  }
  touch(block + "/catalogue.db");
  ASSERT_TRUE(write_all(behind));
  expect_comes_back();
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

TEST_F(CareObjectsTest, SymbolTablesAreCopiedAndLeave) {
  fill_care_directory(path_, 1, 1, 9);
  std::filesystem::create_directories(path_ + "/symtab/ab");
  write_bytes(path_ + "/symtab/ab/abcd.symtab", "a table");
  auto behind = writer();
  ASSERT_TRUE(write_all(behind));
  EXPECT_EQ(manifest().files.at("symtab/ab/abcd.symtab").bytes, 7);
  std::filesystem::remove(path_ + "/symtab/ab/abcd.symtab");
  ASSERT_TRUE(write_all(behind));
  EXPECT_FALSE(manifest().files.contains("symtab/ab/abcd.symtab"));
}

TEST_F(CareObjectsTest, AnS3ServerBringsADirectoryBack) {
  const S3Server server;
  ASSERT_TRUE(S3Server::write_credentials(folder_ / "credentials"));
  const objects::StoreAddress address{.address = "s3://profiles/fleet",
                                      .endpoint = server.endpoint(),
                                      .region = S3Server::kRegion,
                                      .credentials_file = folder_ / "credentials"};
  fill_care_directory(path_, 1, 8, 3);
  auto store = objects::open_object_store(address);
  ASSERT_TRUE(store) << store.error().text();
  WriteBehind behind(path_, *std::move(store));
  ASSERT_TRUE(write_all(behind));
  auto again = objects::open_object_store(address);
  ASSERT_TRUE(again) << again.error().text();
  const auto report = restore_from_objects(**again, address.address, restored_);
  ASSERT_TRUE(report) << report.error().text();
  build_rows(restored_, 3);
  EXPECT_EQ(answers(restored_), answers(path_));
}

TEST_F(CareObjectsTest, ThePassOfAServerComesAgainAtOnceWhereSomethingIsLeft) {
  fill_care_directory(path_, 1, 2, 9);
  auto pass = server::objects_pass(std::make_unique<WriteBehind>(path_, std::make_unique<MemoryStore>(kept_),
                                                                 WriteBehindOptions{.pass_bytes = 1}),
                                   std::chrono::minutes(1));
  const auto first = pass(std::stop_token());
  ASSERT_TRUE(first) << first.error().text();
  EXPECT_EQ(first->after, std::chrono::nanoseconds(0));
  auto last = first;
  for (int i = 0; i < 10 && last && last->after == std::chrono::nanoseconds(0); ++i) {
    last = pass(std::stop_token());
  }
  ASSERT_TRUE(last) << last.error().text();
  EXPECT_EQ(last->after, std::chrono::nanoseconds(std::chrono::minutes(1)));
  kept_->fails_from = 0;
  fill_care_directory(path_, 3, 3, 9);
  EXPECT_FALSE(pass(std::stop_token())) << "which readiness tells";
}

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
    EXPECT_EQ((*copy)->count(), archive()->count());
    EXPECT_EQ((*copy)->last_sequence(), last + 5);
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

TEST(ObjectManifestTest, SaysWhereRowsAreAndIsOfALaterVersionThen) {
  Manifest manifest{.directory_id = std::string(16, '\1'), .writer = std::string(16, '\2')};
  EXPECT_TRUE(to_text(manifest).starts_with("plimsoll-objects 1\n"));
  manifest.rows = "clickhouse://a,b/p";
  EXPECT_TRUE(to_text(manifest).starts_with("plimsoll-objects 2\n"))
      << "a program that does not know of them would lose them";
  const auto read = parse_manifest(to_text(manifest));
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(*read, manifest);
  EXPECT_EQ(parse_manifest("plimsoll-objects 3\n").error().code, ErrorCode::kUnsupported);
}

TEST(ObjectManifestTest, IsWhatWasWritten) {
  Manifest manifest{.directory_id = std::string(16, '\1'), .writer = std::string(16, '\2'), .written_ns = 3};
  manifest.set("FORMAT", {.bytes = 2, .hash = std::string(32, 'a'), .version = -7}, 0);
  manifest.set("FORMAT", {.bytes = 3, .hash = std::string(32, 'b'), .version = 8}, 0);
  manifest.blocks[7] = {.name = "000007.1", .version = -5, .built_up_to = 90};
  const auto read = parse_manifest(to_text(manifest));
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(*read, manifest);
  EXPECT_EQ(manifest.leaving.size(), 1);
}

TEST(ObjectManifestTest, PathsThatLeadOutOfADirectoryAreRefused) {
  Manifest manifest{.directory_id = std::string(16, '\1'), .writer = std::string(16, '\2')};
  for (const char* const path : {"../a", "/etc/passwd", "a/../../b", "a//b"}) {
    Manifest wrong = manifest;
    wrong.set(path, {.bytes = 2, .hash = std::string(32, 'a')}, 0);
    EXPECT_EQ(parse_manifest(to_text(wrong)).error().code, ErrorCode::kCorrupt) << path;
  }
  for (const uint64_t bytes : {kMaxStoredBytes + 1, UINT64_MAX}) {
    Manifest wrong = manifest;
    wrong.set("a", {.bytes = bytes, .hash = std::string(32, 'a')}, 0);
    EXPECT_EQ(parse_manifest(to_text(wrong)).error().code, ErrorCode::kCorrupt)
        << "its parts fill the memory";
  }
  manifest.blocks[7] = {.name = "000007"};
  manifest.blocks[9] = {.name = "000009"};
  EXPECT_EQ(parse_manifest(to_text(manifest)).error().code, ErrorCode::kCorrupt) << "a block is missing";
}

TEST(ProfilePackTest, EachCutIsCorrupt) {
  ProfilePack pack;
  EXPECT_TRUE(pack.is_empty());
  pack.add({3, std::string(16, 'a'), "first", 5, Arrival::kImported});
  pack.add({4, std::string(16, 'b'), "second", 6, Arrival::kUploaded});
  const std::string& content = pack.content();
  const auto profiles = parse_pack(as_bytes(content));
  ASSERT_TRUE(profiles) << profiles.error().text();
  ASSERT_EQ(profiles->size(), 2);
  EXPECT_EQ(profiles->at(0).encoded, "first");
  EXPECT_EQ(profiles->at(0).arrival, Arrival::kImported);
  EXPECT_EQ(profiles->at(1).received_ns, 6);
  EXPECT_EQ(pack_at(pack_path(pack.range()))->last, 4);
  for (size_t size = 0; size < content.size(); ++size) {
    const auto cut = parse_pack(as_bytes(content.substr(0, size)));
    EXPECT_TRUE(!cut || cut->size() < 2) << size;
  }
}

}  // namespace
}  // namespace plimsoll::store
