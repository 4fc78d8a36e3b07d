// Merged blocks are checked, repaired, backed up and copied as others are, and none of their rows is there twice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "store/blocks/block_folder.h"
#include "store/care/backup.h"
#include "store/care/block_repair.h"
#include "store/care/check.h"
#include "store/copy/local_parts.h"
#include "store/copy/part_copy.h"
#include "store/identity/directory_identity.h"
#include "store/objects/manifest.h"
#include "tests/temporary_directory.h"
#include "tests/unit/store/care_answers.h"
#include "tests/unit/store/care_fixture.h"
#include "tests/unit/store/care_objects_fixture.h"
#include "tests/unit/store/merged_blocks.h"
#include "tests/unit/store/segment_fixture.h"
#include "tests/unit/store/shown_part.h"

namespace plimsoll::store::care_merged_test {
namespace {

using plimsoll::testing::answers;
using plimsoll::testing::fill_care_directory;
using plimsoll::testing::merge_blocks;
using plimsoll::testing::shown_part;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> findings(const std::string& path) {
  std::vector<std::string> found;
  const auto report = check_store(path);
  EXPECT_TRUE(report) << report.error().text();
  for (const Finding& finding : report->findings) {
    found.push_back(fmt::format("{}{}: {}", finding.is_damage ? "" : "note ", finding.file, finding.what));
  }
  return found;
}

std::vector<std::string> names_of_blocks(const std::string& path) {
  std::vector<std::string> names;
  const auto blocks = list_blocks(path + "/blocks");
  EXPECT_TRUE(blocks) << blocks.error().text();
  for (const BlockFolder& block : *blocks) {
    names.push_back(block.name());
  }
  return names;
}

// As a server does when it starts.
void remove_replaced_blocks(const std::string& path) {
  const auto ingest = Ingest::open(path);
  ASSERT_TRUE(ingest) << ingest.error().text();
}

// Blocks 1 to 4 of two profiles each, and 5, which takes rows and has one.
class MergedCare : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_NO_FATAL_FAILURE(fill_care_directory(path_, 1, 9, 2)); }

  plimsoll::testing::TemporaryDirectory folder_;
  std::string path_ = folder_ / "data";
  std::string backup_ = folder_ / "backup";
};

TEST_F(MergedCare, ACheckNotesWhatTheyTookThePlaceOf) {
  merge_blocks(path_, 1, 2);
  const char* const kReplaced =
      ": the block has been merged into 000001-000002.1 since: left by a crash, or replaced a moment ago";
  EXPECT_THAT(findings(path_), ElementsAre(std::string("note blocks/000001") + kReplaced,
                                           std::string("note blocks/000002") + kReplaced));
  remove_replaced_blocks(path_);
  EXPECT_THAT(findings(path_), IsEmpty());
  std::filesystem::remove_all(path_ + "/blocks/000003");
  EXPECT_THAT(findings(path_), ::testing::Contains("blocks: blocks between 000002 and 000004 are missing"));
}

// Blocks 1 to 3 become one while block 1 is checked, and 2 and 3 are gone when their turn comes.
TEST_F(MergedCare, ACheckBesideTheWriterLooksAtWhatBlocksBecame) {
  const std::string merged = merge_blocks(path_, 1, 3).path;
  std::filesystem::rename(merged, folder_ / "merged");
  bool is_done = false;
  const auto report = check_store(path_, [&](const CareProgress& progress) {
    if (!is_done && progress.file.starts_with("blocks/000001/")) {
      is_done = true;
      std::filesystem::rename(folder_ / "merged", merged);
      std::filesystem::remove_all(path_ + "/blocks/000002");
      std::filesystem::remove_all(path_ + "/blocks/000003");
    }
  });
  ASSERT_TRUE(report) << report.error().text();
  ASSERT_TRUE(is_done);
  for (const Finding& finding : report->findings) {
    ADD_FAILURE() << finding.file << ": " << finding.what;
  }
  EXPECT_EQ(report->blocks, 4U) << "1, what 1 to 3 became, 4 and 5";
}

TEST_F(MergedCare, AreRebuiltAsAWhole) {
  merge_blocks(path_, 1, 3);
  remove_replaced_blocks(path_);
  const auto before = answers(path_);
  write_bytes(path_ + "/blocks/000001-000003.1/catalogue.db", std::string(8192, 'x'));
  const auto refused = rebuild_block(path_, 2);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(refused.error().text(), HasSubstr("was merged into block 000001-000003; give blocks/3"));
  const auto report = rebuild_block(path_, 3);
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_EQ(report->profiles, 6);
  EXPECT_THAT(findings(path_), IsEmpty());
  EXPECT_THAT(names_of_blocks(path_), ElementsAre("000001-000003.1", "000004", "000005"));
  EXPECT_EQ(answers(path_), before);
}

TEST_F(MergedCare, AreRebuiltWhereEarlierBlocksWereDropped) {
  merge_blocks(path_, 2, 4);
  {
    const auto ingest = *Ingest::open(path_);
    ASSERT_TRUE(ingest->drop_block(ingest->blocks()->front()));
  }
  std::filesystem::remove(path_ + "/blocks/000002-000004.1/catalogue.db");
  const auto unknown = rebuild_block(path_, 4);
  ASSERT_FALSE(unknown) << "it is not the first block, and nothing says where it begins";
  EXPECT_THAT(unknown.error().text(), HasSubstr("with which profile block 000002-000004 begins"));
}

TEST_F(MergedCare, AreBackedUpAndRestored) {
  merge_blocks(path_, 1, 3);
  const auto report = back_up(path_, backup_);
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_THAT(names_of_blocks(backup_), ElementsAre("000001-000003.1", "000004", "000005"));
  EXPECT_FALSE(std::filesystem::exists(backup_ + "/blocks/000002"));
  EXPECT_THAT(findings(backup_), IsEmpty());
  ASSERT_TRUE(restore(backup_, folder_ / "restored"));
  EXPECT_EQ(answers(folder_ / "restored"), answers(path_));
}

// Blocks 2 to 4 become one when block 3 is about to be copied; block 2 is in the copy by then.
TEST_F(MergedCare, ThatAreMergedWhileTheyAreBackedUpAreInTheCopyOnce) {
  const auto expected = answers(path_);
  const std::string merged = merge_blocks(path_, 2, 4).path;
  std::filesystem::rename(merged, folder_ / "merged");
  bool is_done = false;
  const auto report = back_up(path_, backup_, [&](const CareProgress& progress) {
    if (!is_done && progress.file == "blocks/000003/catalogue.db") {
      is_done = true;
      std::filesystem::rename(folder_ / "merged", merged);
      for (const char* member : {"000002", "000003", "000004"}) {
        std::filesystem::remove_all(path_ + "/blocks/" + member);
      }
    }
  });
  ASSERT_TRUE(report) << report.error().text();
  ASSERT_TRUE(is_done);
  EXPECT_THAT(names_of_blocks(backup_), ElementsAre("000001", "000002-000004.1", "000005"));
  EXPECT_FALSE(std::filesystem::exists(backup_ + "/blocks/000002"));
  EXPECT_FALSE(std::filesystem::exists(backup_ + "/blocks/000003"));
  EXPECT_THAT(findings(backup_), IsEmpty());
  EXPECT_EQ(answers(backup_), expected);
}

// The same, and then the oldest blocks are dropped.
TEST_F(MergedCare, ThatAreDroppedWhileTheyAreBackedUpAreNotInTheCopy) {
  bool is_done = false;
  merge_blocks(path_, 1, 2);
  remove_replaced_blocks(path_);
  const auto report = back_up(path_, backup_, [&](const CareProgress& progress) {
    if (!is_done && progress.file == "blocks/000003/catalogue.db") {
      is_done = true;
      std::filesystem::remove_all(path_ + "/blocks/000001-000002.1");
      std::filesystem::remove_all(path_ + "/blocks/000003");
    }
  });
  ASSERT_TRUE(report) << report.error().text();
  ASSERT_TRUE(is_done);
  EXPECT_THAT(names_of_blocks(backup_), ElementsAre("000004", "000005"));
  EXPECT_FALSE(std::filesystem::exists(backup_ + "/blocks/000001-000002.1"));
}

class MergedParts : public MergedCare {
 protected:
  LocalParts parts_in(const std::string& folder) const { return {folder, read_identity(path_)->id}; }

  Result<PartCopyReport> copy(const std::string& from_folder, const std::string& to_folder, CopyNote& note) {
    LocalParts from = parts_in(from_folder);
    LocalParts to = parts_in(to_folder);
    const auto keep = [](const CopyNote&) { return Status(); };
    const auto copied = copy_parts(from, to, note, keep);
    const auto sums = copied ? verify_parts(from, to, note, keep) : propagate(copied);
    return sums ? copied : propagate(sums);
  }

  std::vector<int64_t> numbers_in(const std::string& folder) const {
    LocalParts parts = parts_in(folder);
    const auto all = parts.parts();
    EXPECT_TRUE(all) << all.error().text();
    std::vector<int64_t> numbers;
    for (const PartState& part : *all) {
      numbers.push_back(part.number);
    }
    return numbers;
  }

  static std::vector<std::string> names_in(const std::string& folder) {
    std::vector<std::string> names;
    const auto blocks = list_blocks(folder);
    EXPECT_TRUE(blocks) << blocks.error().text();
    for (const BlockFolder& block : *blocks) {
      names.push_back(block.name());
    }
    return names;
  }

  const std::string there_ = folder_ / "there";
  const std::string back_ = folder_ / "back";
};

TEST_F(MergedParts, AreCopiedThereAndBackWithTheirNumbers) {
  merge_blocks(path_, 2, 4);
  CopyNote there_note = make_copy_note({}, {.address = "clickhouse://host/rows"});
  const auto there = copy(path_ + "/blocks", there_, there_note);
  ASSERT_TRUE(there) << there.error().text();
  EXPECT_EQ(there->copied, 3U);
  EXPECT_THAT(numbers_in(there_), ElementsAre(1, 4, 5));
  EXPECT_THAT(names_in(there_), ElementsAre("000001", "000002-000004", "000005"));
  CopyNote back_note = make_copy_note({.address = "clickhouse://host/rows"}, {});
  const auto back = copy(there_, back_, back_note);
  ASSERT_TRUE(back) << back.error().text();
  EXPECT_THAT(numbers_in(back_), ElementsAre(1, 4, 5));
  LocalParts from = parts_in(path_ + "/blocks");
  LocalParts to = parts_in(back_);
  for (const int64_t number : {1, 4, 5}) {
    EXPECT_EQ(shown_part(to, number), shown_part(from, number)) << number;
  }
  // It is sound as a directory's blocks.
  std::filesystem::remove_all(path_ + "/blocks");
  std::filesystem::rename(back_, path_ + "/blocks");
  EXPECT_THAT(findings(path_), IsEmpty());
}

// Of a store that begins with a merged part nothing says which blocks it was.
TEST_F(MergedParts, BeginWithAnyNumber) {
  merge_blocks(path_, 1, 3);
  CopyNote note = make_copy_note({}, {.address = "clickhouse://host/rows"});
  ASSERT_TRUE(copy(path_ + "/blocks", there_, note));
  EXPECT_THAT(names_in(there_), ElementsAre("000003", "000004", "000005"));
}

TEST_F(MergedParts, ThatAreMergedBetweenTwoCopiesAreCopiedAgainFromThereOn) {
  CopyNote note = make_copy_note({}, {.address = "clickhouse://host/rows"});
  ASSERT_EQ(copy(path_ + "/blocks", there_, note)->copied, 5U);
  merge_blocks(path_, 2, 3);
  const auto again = copy(path_ + "/blocks", there_, note);
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(again->copied, 3U) << "all but the first";
  EXPECT_THAT(names_in(there_), ElementsAre("000001", "000002-000003", "000004", "000005"));
  EXPECT_EQ(copy(path_ + "/blocks", there_, note)->copied, 0U);
  std::vector<int64_t> noted;
  for (const auto& [number, version] : note.parts) {
    noted.push_back(number);
  }
  EXPECT_THAT(noted, ElementsAre(1, 3, 4, 5));
}

TEST_F(MergedParts, ComeBehindTheNewestOne) {
  CopyNote note = make_copy_note({}, {.address = "clickhouse://host/rows"});
  ASSERT_TRUE(copy(path_ + "/blocks", there_, note));
  LocalParts from = parts_in(path_ + "/blocks");
  LocalParts to = parts_in(there_);
  auto part = *from.read(2);
  const auto rows = part.rows;
  const auto cursor = rows->scan({});
  const Status refused =
      to.write(std::move(part), *cursor, [&](const UseNames& use) { return from.read_names(2, use); });
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kConflict);
}

class MergedObjects : public CareObjectsTest {
 protected:
  void SetUp() override { ASSERT_NO_FATAL_FAILURE(fill_care_directory(path_, 1, 9, 2)); }

  std::vector<std::string> stored_blocks() const {
    std::vector<std::string> names;
    const Manifest last = manifest();
    for (const auto& [number, block] : last.blocks) {
      names.push_back(block.name);
    }
    return names;
  }
  bool has_files_of(const std::string& block) const {
    return !manifest().paths_below("blocks/" + block + "/").empty();
  }
  bool has_objects_of(const std::string& block) const {
    const std::string prefix = "files/blocks/" + block + "/";
    const auto at = kept_->objects.lower_bound(prefix);
    return at != kept_->objects.end() && at->first.starts_with(prefix);
  }
};

TEST_F(MergedObjects, TheMembersLeaveWithTheManifestThatHasTheMergedBlock) {
  auto behind = writer();
  ASSERT_TRUE(write_all(behind));
  ASSERT_THAT(stored_blocks(), ElementsAre("000001", "000002", "000003", "000004"));
  merge_blocks(path_, 1, 3);
  remove_replaced_blocks(path_);
  // A pass whose first put fails.
  kept_->requests = 0;
  kept_->fails_from = 0;
  EXPECT_FALSE(behind.run());
  kept_->fails_from = UINT64_MAX;
  EXPECT_THAT(stored_blocks(), ElementsAre("000001", "000002", "000003", "000004"));
  expect_comes_back();
  ASSERT_TRUE(write_all(behind));
  EXPECT_THAT(stored_blocks(), ElementsAre("000001-000003.1", "000004"));
  EXPECT_FALSE(has_files_of("000001"));
  EXPECT_FALSE(has_files_of("000003"));
  EXPECT_TRUE(has_files_of("000001-000003.1"));
  EXPECT_TRUE(has_objects_of("000001")) << "a restore may be reading them";
  expect_comes_back();
  now_ns_ += 2 * kNsPerHour;
  ASSERT_TRUE(write_all(behind));
  EXPECT_FALSE(has_objects_of("000001"));
  EXPECT_TRUE(has_objects_of("000001-000003.1"));
  expect_comes_back();
}

TEST_F(MergedObjects, OneThatIsDroppedLeavesTheStore) {
  auto behind = writer({.keep_dropped_ns = 24 * kNsPerHour});
  ASSERT_TRUE(write_all(behind));
  merge_blocks(path_, 1, 3);
  ASSERT_TRUE(write_all(behind));
  {
    const auto ingest = *Ingest::open(path_);
    ASSERT_TRUE(ingest->drop_block(ingest->blocks()->front()));
  }
  ASSERT_TRUE(write_all(behind));
  EXPECT_THAT(stored_blocks(), ElementsAre("000004"));
  EXPECT_TRUE(has_objects_of("000001-000003.1"))
      << "for as long as retention is told to keep what it dropped";
  expect_comes_back();
}

// The merged block was copied, and is damaged before its members are removed.
TEST_F(MergedObjects, MembersThatCountAgainComeBackTogether) {
  merge_blocks(path_, 1, 3);
  {
    auto behind = writer();
    ASSERT_TRUE(write_all(behind));
  }
  ASSERT_THAT(stored_blocks(), ElementsAre("000001-000003.1", "000004"));
  write_bytes(path_ + "/blocks/000001-000003.1/catalogue.db", std::string(8192, 'x'));
  remove_replaced_blocks(path_);
  ASSERT_THAT(names_of_blocks(path_), ElementsAre("000001", "000002", "000003", "000004", "000005"));
  auto behind = writer({.pass_bytes = 1});
  for (int passes = 0; passes < 100; ++passes) {
    const auto report = behind.run();
    ASSERT_TRUE(report) << report.error().text();
    expect_comes_back();
    if (report->is_complete) {
      break;
    }
  }
  EXPECT_THAT(stored_blocks(), ElementsAre("000001", "000002", "000003", "000004"));
  EXPECT_FALSE(has_files_of("000001-000003.1"));
}

}  // namespace
}  // namespace plimsoll::store::care_merged_test
