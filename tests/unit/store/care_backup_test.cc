// Backups: whole and consistent, also of a directory that is being written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <map>
#include <thread>

#include "base/file.h"
#include "base/lock_file.h"
#include "store/care/backup.h"
#include "store/spans/local_span_sink.h"
#include "store/store.h"
#include "tests/temporary_directory.h"
#include "tests/traces/span_fixture.h"
#include "tests/unit/store/care_answers.h"
#include "tests/unit/store/care_fixture.h"
#include "tests/unit/store/segment_fixture.h"

namespace plimsoll::store {
namespace {

using plimsoll::testing::answers;
using plimsoll::testing::care_profile;
using plimsoll::testing::fill_care_directory;
using ::testing::HasSubstr;

// What a directory made of the same profiles answers, in the order of the archive.
std::map<std::string, double> rebuilt_answers(const std::string& data_dir, const std::string& scratch) {
  std::filesystem::remove_all(scratch);
  {
    const auto archive = *Archive::open(data_dir + "/archive.db", sqlite::OpenMode::kRead);
    const auto ingest = *Ingest::open(scratch);
    for (int64_t after = 0;;) {
      const auto next = *archive->next_after(after);
      if (!next) {
        break;
      }
      after = next->sequence;
      EXPECT_TRUE(ingest->accept(as_bytes(next->encoded), {}));
    }
    while (ingest->build_pending()->profiles > 0) {
    }
  }
  return answers(scratch);
}

class CareBackupTest : public ::testing::Test {
 protected:
  static void expect_whole(const std::string& path) {
    const auto report = check_store(path);
    ASSERT_TRUE(report) << report.error().text();
    for (const Finding& finding : report->findings) {
      ADD_FAILURE() << finding.file << ": " << finding.what;
    }
  }

  plimsoll::testing::TemporaryDirectory folder_;
  std::string path_ = folder_ / "data";
  std::string backup_ = folder_ / "backup";
  std::string restored_ = folder_ / "restored";
};

TEST_F(CareBackupTest, OfADirectoryAtRestHasAllOfIt) {
  fill_care_directory(path_, 1, 7, 3);
  std::filesystem::create_directories(path_ + "/quarantine");
  const auto report = back_up(path_, backup_);
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_EQ(report->raw_profiles, 7);
  EXPECT_EQ(report->blocks, 3);
  expect_whole(backup_);
  EXPECT_EQ(answers(backup_), answers(path_));
  EXPECT_EQ(std::filesystem::status(backup_).permissions(), std::filesystem::perms::owner_all);
  ASSERT_TRUE(restore(backup_ + "/", restored_ + "/"));
  EXPECT_EQ(answers(restored_), answers(path_));
  auto accounts = *AccessStore::open_if_there(restored_ + "/access.db");
  EXPECT_EQ(accounts->machines()->at(0).revoked_ns, 4) << "a revoked machine is so still";
  // It goes on.
  fill_care_directory(restored_, 8, 9, 3);
  fill_care_directory(path_, 8, 9, 3);
  expect_whole(restored_);
  EXPECT_EQ(answers(restored_), answers(path_));
}

TEST_F(CareBackupTest, HasTheSpansOfRequestTraces) {
  using plimsoll::testing::answer_of;
  const std::string data = folder_ / "traced";
  plimsoll::testing::RandomSpans random(1);
  const auto ingest = *Ingest::open(data);
  const auto sink = LocalSpanSink::open(ingest->directory().spans_path(), read_identity(data)->id,
                                        {.max_bytes = 100'000, .max_recent = 20}, wall_now_ns);
  ASSERT_TRUE(sink) << sink.error().text();
  for (int batch = 0; batch < 30; ++batch) {
    ASSERT_TRUE((*sink)->add(plimsoll::testing::span_set_of(random.next(1 + random.below(40))), 1));
  }
  const std::string copy = folder_ / "copy-of-traced";
  const auto made = back_up(data, copy);
  ASSERT_TRUE(made) << made.error().text();
  const auto expected = answer_of(*open_span_source(data));
  EXPECT_FALSE(expected.empty());
  EXPECT_EQ(answer_of(*open_span_source(copy)), expected);
}

TEST_F(CareBackupTest, OfADirectoryThatIsBeingWrittenHasTheProfilesOfOneMoment) {
  constexpr int kBackups = 4;
  fill_care_directory(path_, 1, 2, 9);
  const auto ingest = *Ingest::open(path_, {.block_limits = {.max_profiles = 9}});
  std::atomic<uint64_t> accepted{2};
  std::jthread writer([&](const std::stop_token& stop) {
    const auto compactor = *Compactor::open(*ingest, {.min_inputs = 2, .max_inputs = 3});
    for (uint64_t seed = 3; !stop.stop_requested(); ++seed) {
      ASSERT_TRUE(ingest->accept(as_bytes(wire::encode(care_profile(seed))), {}));
      accepted = seed;
      if (seed % 3 != 0) {
        ASSERT_TRUE(ingest->build_pending());
        ASSERT_TRUE(compactor->merge_all());
      }
    }
  });
  for (int i = 0; i < kBackups && !HasFailure(); ++i) {
    SCOPED_TRACE(i);
    const uint64_t before = accepted;
    const std::string backup = fmt::format("{}{}", backup_, i);
    const std::string restored = fmt::format("{}{}", restored_, i);
    const auto report = back_up(path_, backup);
    ASSERT_TRUE(report) << report.error().text();
    EXPECT_GE(report->raw_profiles, before) << "what was acknowledged before is in it";
    ASSERT_TRUE(restore(backup, restored));
    {
      const auto opened = Ingest::open(restored, {.block_limits = {.max_profiles = 9}});
      ASSERT_TRUE(opened) << opened.error().text();
      while ((*opened)->build_pending()->profiles > 0) {
      }
    }
    expect_whole(restored);
    EXPECT_EQ(answers(restored), rebuilt_answers(restored, folder_ / "rebuilt"));
    // So that the next one has to do with more.
    while (accepted < before + 15) {
      std::this_thread::yield();
    }
  }
  writer.request_stop();
  writer.join();
  EXPECT_GE(list_blocks(path_ + "/blocks")->size(), 5) << "blocks were sealed meanwhile";
}

// As retention does it: under a name that is no block's, then for good.
TEST_F(CareBackupTest, ABlockThatIsDroppedMeanwhileIsNotInIt) {
  fill_care_directory(path_, 1, 7, 2);
  bool is_dropped = false;
  const auto report = back_up(path_, backup_, [&](const CareProgress& progress) {
    if (!is_dropped && progress.file == "blocks/000001/catalogue.db") {
      std::filesystem::rename(path_ + "/blocks/000002", path_ + "/blocks/000002.dropped");
      std::filesystem::rename(path_ + "/blocks/000001", path_ + "/blocks/000001.dropped");
      is_dropped = true;
    }
  });
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_EQ(list_blocks(backup_ + "/blocks")->front().number, 3);
  expect_whole(backup_);
}

TEST_F(CareBackupTest, NeverWritesOverWhatIsThere) {
  fill_care_directory(path_, 1, 2, 9);
  std::filesystem::create_directories(backup_);
  write_bytes(backup_ + "/letter", "of mine");
  const auto refused = back_up(path_, backup_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kConflict);
  EXPECT_THAT(refused.error().text(), HasSubstr(backup_ + " exists"));
  EXPECT_EQ(restore(path_, backup_).error().code, ErrorCode::kConflict);
  EXPECT_EQ(back_up(path_, path_ + "/backup").error().code, ErrorCode::kInvalid);
  std::filesystem::remove(backup_ + "/letter");
  EXPECT_TRUE(back_up(path_, backup_)) << "an empty folder will do";
}

TEST_F(CareBackupTest, WhatAnAttemptHasLeftIsMadeAgainAndOneUnderWayIsNot) {
  fill_care_directory(path_, 1, 2, 9);
  std::filesystem::create_directories(backup_ + ".tmp/blocks/000001");
  write_bytes(backup_ + ".tmp/blocks/000001/catalogue.db", "half");
  const auto refused = back_up(path_, backup_);
  ASSERT_FALSE(refused) << "it may be anything";
  EXPECT_THAT(refused.error().text(), HasSubstr("not left by an unfinished copy"));
  EXPECT_TRUE(std::filesystem::exists(backup_ + ".tmp/blocks/000001/catalogue.db"));
  write_bytes(backup_ + ".tmp/unfinished", "");
  {
    const auto lock = take_lock_file(backup_ + ".tmp/lock", "it is written by", "wait");
    ASSERT_TRUE(lock);
    EXPECT_EQ(back_up(path_, backup_).error().code, ErrorCode::kConflict);
  }
  ASSERT_TRUE(back_up(path_, backup_));
  EXPECT_FALSE(std::filesystem::exists(backup_ + ".tmp"));
  expect_whole(backup_);
}

// What an interrupted backup left is not restored to the name that it would have had, which would remove it first.
TEST_F(CareBackupTest, TheSourceIsNotTheTemporaryFolder) {
  const std::string source = folder_ / "copy.tmp";
  fill_care_directory(source, 1, 2, 9);
  write_bytes(source + "/unfinished", "");
  const auto refused = restore(source, folder_ / "copy");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalid);
  EXPECT_TRUE(std::filesystem::exists(source + "/archive.db"));
}

TEST_F(CareBackupTest, ADamagedOneIsNotRestoredAndADamagedDirectoryNotBackedUp) {
  fill_care_directory(path_, 1, 4, 9);
  ASSERT_TRUE(back_up(path_, backup_));
  std::string segment;
  for (const auto& entry : std::filesystem::directory_iterator(backup_ + "/blocks/000001/segments")) {
    segment = entry.path().string();
  }
  std::string bytes = *read_file(segment, 1 << 20);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  write_bytes(segment, bytes);
  const auto refused = restore(backup_, restored_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kCorrupt);
  EXPECT_THAT(refused.error().text(), HasSubstr(backup_ + " is damaged: blocks/000001/segments/"));
  EXPECT_FALSE(std::filesystem::exists(restored_));
  EXPECT_FALSE(std::filesystem::exists(restored_ + ".tmp"));
  for (const char* name : {"archive.db", "access.db"}) {
    const std::string kept = *read_file(path_ + "/" + name, 1 << 24);
    std::filesystem::remove(path_ + "/" + name);
    const auto missing = back_up(path_, folder_ / "second");
    ASSERT_FALSE(missing) << name;
    EXPECT_THAT(missing.error().text(), HasSubstr(std::string(name) + " is missing"));
    write_bytes(path_ + "/" + name, kept);
  }
  EXPECT_EQ(back_up(folder_ / "nothing", folder_ / "second").error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace plimsoll::store
