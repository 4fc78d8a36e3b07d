// Write-behind to an object store: what a pass copies, and that it comes back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>

#include "base/file.h"
#include "objects/object_store.h"
#include "server/passes.h"
#include "store/objects/manifest.h"
#include "store/objects/write_behind.h"
#include "tests/objects/s3_server.h"
#include "tests/unit/store/care_answers.h"
#include "tests/unit/store/care_fixture.h"
#include "tests/unit/store/care_objects_fixture.h"
#include "tests/unit/store/segment_fixture.h"

namespace plimsoll::store {
namespace {

using plimsoll::testing::answers;
using plimsoll::testing::fill_care_directory;
using plimsoll::testing::S3Server;
using ::testing::HasSubstr;

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

}  // namespace
}  // namespace plimsoll::store
