// Blocks that are merged: what their folders are called, which count, what goes when, and what a crash leaves of them.
#include "tests/unit/store/merged_blocks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <initializer_list>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "proto/profile_codec.h"
#include "store/blocks/block_folder.h"
#include "store/catalogue/block_table.h"
#include "store/catalogue/catalogue.h"
#include "store/compaction/compactor.h"
#include "store/ingest.h"
#include "store/store_account.h"
#include "store/store_health.h"
#include "tests/profile_fixture.h"
#include "tests/temporary_directory.h"
#include "tests/unit/store/segment_fixture.h"

namespace plimsoll::store::merged_blocks_test {
namespace {

using plimsoll::testing::make_profile;
using plimsoll::testing::merge_blocks;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// "FIRST-NUMBER.GENERATION" as numbers; "none": no block is called so.
std::string parsed(const std::string& name) {
  const BlockFolder block = block_at("blocks/" + name);
  return block.number == 0 ? "none" : fmt::format("{}-{}.{}", block.first, block.number, block.generation);
}

TEST(BlockNames, SayWhichBlocksOneTookThePlaceOf) {
  EXPECT_EQ(parsed("000007"), "7-7.0");
  EXPECT_EQ(parsed("000007.1"), "7-7.1");
  EXPECT_EQ(parsed("000001-000008.2"), "1-8.2");
  EXPECT_EQ(parsed("000009-000016"), "9-16.0") << "copied from a store where they were merged";
  EXPECT_EQ(parsed("000001-1000000.2"), "1-1000000.2");
}

TEST(BlockNames, AreThoseThatThisProgramWritesAndNoOthers) {
  for (const char* name : {"000008-000008.2",
                           "000008-000001.2",
                           "000000-000008.2",
                           "1-8.2",
                           "000001-8.2",
                           "000001-000008.0",
                           "000001-000008.02",
                           "000001-000008.",
                           "000001-000008.-2",
                           "000001-",
                           "-000008",
                           "000001--000008.2",
                           "000001-000004-000008.2",
                           "000001+000008",
                           "000001-000008.2.tmp",
                           "000001-000008.2.dropped",
                           "000001-000008.rebuilt",
                           "000001-99999999999999999999.1",
                           "7",
                           "000007.0",
                           "000000",
                           ""}) {
    EXPECT_EQ(parsed(name), "none") << name;
  }
}

TEST(BlockNames, OfWhatTakesThePlaceOfSeveralHaveTheFirstAndTheLast) {
  const std::vector<BlockFolder> row{block_at("b/000001-000004.2"), block_at("b/000005"),
                                     block_at("b/000006.1")};
  const BlockFolder made = replacement_of(row);
  EXPECT_EQ(made.path, "b/000001-000006.2.tmp");
  EXPECT_EQ(made.first, 1);
  EXPECT_EQ(made.number, 6);
  EXPECT_EQ(made.generation, 2);
  const BlockFolder merged = block_at("b/000001-000006.2");
  EXPECT_TRUE(merged.is_merged());
  EXPECT_EQ(merged.numbers(), "000001-000006");
  EXPECT_EQ(replacement_of(merged).path, "b/000001-000006.3.tmp") << "rolled up later";
  EXPECT_EQ(beside(merged).path, "b/000001-000006.rebuilt");
  EXPECT_EQ(replacement_of(row[2]).path, "b/000006.2.tmp");
  EXPECT_FALSE(row[2].is_merged());
  EXPECT_EQ(row[2].numbers(), "000006");
}

// Folders without anything in them.
class BlockRow : public ::testing::Test {
 protected:
  void make(std::initializer_list<const char*> names) const {
    std::filesystem::remove_all(blocks_path_);
    for (const char* name : names) {
      std::filesystem::create_directories(blocks_path_ + "/" + name);
    }
  }

  // Names of what counts; or why there is no row.
  std::string listed() const {
    const auto blocks = list_blocks(blocks_path_);
    if (!blocks) {
      return blocks.error().message;
    }
    std::string names;
    for (const BlockFolder& block : *blocks) {
      names += (names.empty() ? "" : " ") + block.name();
    }
    return names;
  }
  std::string listed(std::initializer_list<const char*> names) const {
    make(names);
    return listed();
  }

  BlockFolder block(const std::string& name) const { return block_at(blocks_path_ + "/" + name); }
  bool has(const std::string& name) const { return std::filesystem::exists(blocks_path_ + "/" + name); }

  plimsoll::testing::TemporaryDirectory folder_;
  std::string blocks_path_ = folder_ / "blocks";
};

TEST_F(BlockRow, HasTheMergedBlockInPlaceOfItsMembers) {
  EXPECT_EQ(listed({"000001", "000002", "000003.1"}), "000001 000002 000003.1");
  EXPECT_EQ(listed({"000001", "000002.1", "000003", "000001-000003.1", "000004"}), "000001-000003.1 000004");
  EXPECT_EQ(listed({"000002", "000001-000003.1", "000004"}), "000001-000003.1 000004")
      << "some of them are gone already";
  EXPECT_EQ(listed({"000004-000006.1", "000007"}), "000004-000006.1 000007") << "the first were dropped";
  EXPECT_EQ(listed({"000001", "000002", "000001-000002.1.tmp"}), "000001 000002") << "it is being made";
  EXPECT_EQ(listed({"000001", "000002", "000001-000002.1.dropped"}), "000001 000002");
}

TEST_F(BlockRow, HasTheLastOfWhatWasMergedAndWrittenAgain) {
  EXPECT_EQ(listed({"000001-000003.1", "000001-000003.2", "000003"}), "000001-000003.2");
  EXPECT_EQ(listed({"000001", "000001-000003.1", "000004.1", "000003", "000001-000004.2", "000005"}),
            "000001-000004.2 000005");
  EXPECT_EQ(listed({"000001-000002.1", "000003-000004.1", "000001-000004.2"}), "000001-000004.2");
}

TEST_F(BlockRow, HasNoGap) {
  EXPECT_THAT(listed({"000001", "000003-000005.1"}), HasSubstr("lacks a block between 000001 and 000005"));
  EXPECT_THAT(listed({"000001-000003.1", "000005"}), HasSubstr("lacks a block between 000001 and 000005"));
  EXPECT_THAT(listed({"000001-000003.1.tmp"}), HasSubstr("has no block"));
}

TEST_F(BlockRow, PartsAllFoldersByOneRule) {
  const BlockFolders parted = part_folders({block("000004"), block("000002"), block("000001-000003.2"),
                                            block("000003.1"), block("000001"), block("000003")});
  EXPECT_THAT(parted.current, ElementsAre(block("000001-000003.2"), block("000004")));
  EXPECT_THAT(parted.replaced,
              ElementsAre(block("000001"), block("000002"), block("000003"), block("000003.1")));
  EXPECT_TRUE(replaces(block("000001-000003.2"), block("000003.1")));
  EXPECT_FALSE(replaces(block("000003.1"), block("000001-000003.2")));
  EXPECT_FALSE(replaces(block("000001-000003.2"), block("000004")));
  EXPECT_FALSE(replaces(block("000004"), block("000004")));
}

TEST_F(BlockRow, OneIsReplacedWhereAnyOtherHasItsRows) {
  make({"000001", "000002", "000001-000002.1", "000003"});
  EXPECT_TRUE(*is_replaced(block("000001")));
  EXPECT_TRUE(*is_replaced(block("000002")));
  EXPECT_FALSE(*is_replaced(block("000001-000002.1")));
  EXPECT_FALSE(*is_replaced(block("000003")));
}

TEST_F(BlockRow, AReplacedOneIsDroppedAlone) {
  make({"000001", "000002", "000003", "000003.1", "000003.rebuilt", "000001-000003.2", "000004"});
  ASSERT_TRUE(drop_block(blocks_path_, block("000003.1")));
  EXPECT_FALSE(has("000003.1"));
  EXPECT_FALSE(has("000003")) << "it took the place of that one, which would come back otherwise";
  EXPECT_TRUE(has("000001"));
  EXPECT_TRUE(has("000002"));
  EXPECT_TRUE(has("000003.rebuilt"));
  EXPECT_EQ(listed(), "000001-000003.2 000004");
  ASSERT_TRUE(drop_block(blocks_path_, block("000001")));
  EXPECT_EQ(listed(), "000001-000003.2 000004");
}

TEST_F(BlockRow, AMergedOneIsDroppedWithAllThatItTookThePlaceOf) {
  make({"000001", "000002", "000003", "000003.1", "000001-000003.rebuilt", "000001-000003.2", "000004"});
  ASSERT_TRUE(drop_block(blocks_path_, block("000001-000003.2")));
  EXPECT_EQ(listed(), "000004");
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(blocks_path_)) {
    names.insert(entry.path().filename().string());
  }
  EXPECT_THAT(names, ElementsAre("000004"));
}

// As drop_block() goes: whatever is left when the process ends, no member comes back.
TEST_F(BlockRow, HasNoMemberBackWhileTheMergedOneIsDropped) {
  make({"000001", "000002.1", "000002", "000003", "000001-000003.1", "000004"});
  for (const char* gone : {"000002.1", "000001", "000003", "000002"}) {
    std::filesystem::remove_all(blocks_path_ + "/" + gone);
    EXPECT_EQ(listed(), "000001-000003.1 000004") << gone;
  }
  std::filesystem::remove_all(blocks_path_ + "/000001-000003.1");
  EXPECT_EQ(listed(), "000004");
}

// Blocks 1 to 3 of two profiles each, and 4, which takes rows and has one.
class MergedBlocks : public ::testing::Test {
 protected:
  void SetUp() override {
    open();
    add(1, 7);
  }

  void open() {
    ingest_.reset();
    auto ingest = Ingest::open(path_, {.block_limits = {.max_profiles = 2}});
    ASSERT_TRUE(ingest) << ingest.error().text();
    ingest_ = std::move(*ingest);
  }
  void close() { ingest_.reset(); }

  // One by one, so that there are segments to merge.
  void add(uint64_t first, uint64_t last) {
    for (uint64_t seed = first; seed <= last; ++seed) {
      const auto profile = make_profile({.seed = seed, .stacks = "main 1\n"});
      ASSERT_TRUE(ingest_->accept(as_bytes(wire::encode(profile)), {}));
      ASSERT_EQ(ingest_->build_pending()->profiles, 1);
    }
  }

  // "NAME: its profiles' sequence numbers", by block.
  std::vector<std::string> blocks() const {
    std::vector<std::string> lines;
    const auto folders = list_blocks(blocks_path_);
    EXPECT_TRUE(folders) << folders.error().text();
    for (const BlockFolder& folder : *folders) {
      std::string line = folder.name() + ":";
      auto catalogue = Catalogue::open(folder.catalogue_path(), sqlite::OpenMode::kRead);
      const Status listed =
          catalogue ? sqlite::for_each_row(
                          catalogue->database().query("SELECT archive_sequence FROM origin ORDER BY id"),
                          [&](const sqlite::Statement& row) { line += fmt::format(" {}", row.integer(0)); })
                    : propagate(catalogue);
      lines.push_back(listed ? line : line + " damaged");
    }
    return lines;
  }

  std::set<std::string> folders() const {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(blocks_path_)) {
      names.insert(entry.path().filename().string());
    }
    return names;
  }

  void damage(const std::string& name) const {
    write_bytes(blocks_path_ + "/" + name + "/catalogue.db", std::string(8192, 'x'));
  }

  // What the last of several has, in place of all: without their rows, for tests that do not look at these.
  Result<BlockFolder> replace(std::span<const BlockFolder> blocks) {
    return ingest_->replace_blocks(blocks, [&](const BlockFolder& made) -> Status {
      ++completed_;
      std::filesystem::copy(blocks.back().path, made.path, std::filesystem::copy_options::recursive);
      return {};
    });
  }

  plimsoll::testing::TemporaryDirectory folder_;
  std::string path_ = folder_ / "data";
  std::string blocks_path_ = path_ + "/blocks";
  std::unique_ptr<Ingest> ingest_;
  int completed_ = 0;
};

TEST_F(MergedBlocks, HaveTheProfilesOfAllAndTheirPlace) {
  close();
  EXPECT_EQ(merge_blocks(path_, 1, 3).name(), "000001-000003.1");
  EXPECT_THAT(blocks(), ElementsAre("000001-000003.1: 1 2 3 4 5 6", "000004: 7"));
  EXPECT_THAT(folders(), ElementsAre("000001", "000001-000003.1", "000002", "000003", "000004"));
  open();
  EXPECT_THAT(folders(), ElementsAre("000001-000003.1", "000004")) << "a start removes what counts no more";
  EXPECT_EQ(ingest_->built_up_to(), 7);
  add(8, 9);
  close();
  merge_blocks(path_, 1, 4);
  EXPECT_THAT(blocks(), ElementsAre("000001-000004.1: 1 2 3 4 5 6 7 8", "000005: 9"));
  open();
  EXPECT_THAT(folders(), ElementsAre("000001-000004.1", "000005"));
}

TEST_F(MergedBlocks, AreRemovedWhereTheyHaveNoNameYet) {
  close();
  merge_blocks(path_, 1, 3);
  std::filesystem::rename(blocks_path_ + "/000001-000003.1", blocks_path_ + "/000001-000003.1.tmp");
  open();
  EXPECT_THAT(folders(), ElementsAre("000001", "000002", "000003", "000004"));
  EXPECT_THAT(blocks(), ElementsAre("000001: 1 2", "000002: 3 4", "000003: 5 6", "000004: 7"));
}

TEST_F(MergedBlocks, GiveTheirPlaceBackWhereTheyAreDamagedAndAllMembersAreThere) {
  close();
  merge_blocks(path_, 1, 3);
  damage("000001-000003.1");
  open();
  EXPECT_THAT(blocks(), ElementsAre("000001: 1 2", "000002: 3 4", "000003: 5 6", "000004: 7"));
  EXPECT_TRUE(std::filesystem::exists(path_ + "/quarantine/block-000001-000003.1"));
  // They are merged again.
  close();
  merge_blocks(path_, 1, 3);
  open();
  EXPECT_THAT(folders(), ElementsAre("000001-000003.1", "000004"));
}

TEST_F(MergedBlocks, StayWhereTheyAreDamagedAndAMemberIsGone) {
  close();
  merge_blocks(path_, 1, 3);
  damage("000001-000003.1");
  std::filesystem::remove_all(blocks_path_ + "/000002");
  open();
  EXPECT_THAT(folders(), ElementsAre("000001", "000001-000003.1", "000003", "000004"));
  EXPECT_THAT(blocks(), ElementsAre("000001-000003.1: damaged", "000004: 7"));
}

TEST_F(MergedBlocks, StayWhereTheyAreDamagedAndAMemberIsTooOrTheFirstOrLastIsGone) {
  close();
  merge_blocks(path_, 1, 3);
  damage("000001-000003.1");
  damage("000002");
  open();
  EXPECT_THAT(folders(), ElementsAre("000001", "000001-000003.1", "000002", "000003", "000004"));
  close();
  for (const char* gone : {"000003", "000001"}) {
    std::filesystem::remove_all(blocks_path_ + "/" + gone);
    open();
    EXPECT_THAT(blocks(), ElementsAre("000001-000003.1: damaged", "000004: 7")) << gone;
    close();
  }
}

TEST_F(MergedBlocks, GiveTheirPlaceBackToMergedOnes) {
  close();
  merge_blocks(path_, 1, 2);
  merge_blocks(path_, 1, 3);
  damage("000001-000003.1");
  open();
  EXPECT_THAT(folders(), ElementsAre("000001-000002.1", "000003", "000004"));
  EXPECT_THAT(blocks(), ElementsAre("000001-000002.1: 1 2 3 4", "000003: 5 6", "000004: 7"));
}

TEST_F(MergedBlocks, TakeThePlaceOfNeighboursThatCountAndTakeNoRows) {
  const auto row = *ingest_->blocks();
  const std::span<const BlockFolder> all(row);
  EXPECT_EQ(replace({}).error().code, ErrorCode::kInvalid);
  EXPECT_EQ(replace(all.subspan(2)).error().code, ErrorCode::kInvalid) << "the last takes rows";
  const std::vector<BlockFolder> apart{row[0], row[2]};
  EXPECT_EQ(replace(apart).error().code, ErrorCode::kInvalid);
  EXPECT_EQ(completed_, 0);
  const auto merged = replace(all.first(2));
  ASSERT_TRUE(merged) << merged.error().text();
  EXPECT_EQ(merged->name(), "000001-000002.1");
  EXPECT_EQ(completed_, 1);
  for (const BlockFolder& member : all.first(2)) {
    EXPECT_TRUE(ingest_->is_dropped(member));
    EXPECT_TRUE(std::filesystem::exists(member.path)) << "who has just listed it finds it";
    EXPECT_EQ(replace(std::span(&member, 1)).error().code, ErrorCode::kNotFound);
    EXPECT_EQ(ingest_->write_catalogue(member, [](sqlite::Database&) { return Status(); }).error().code,
              ErrorCode::kNotFound);
    EXPECT_EQ(ingest_->drop_block(member).error().code, ErrorCode::kNotFound);
  }
  EXPECT_EQ(replace(all.subspan(1, 2)).error().code, ErrorCode::kNotFound) << "one of them is merged";
  EXPECT_TRUE(ingest_->write_catalogue(*merged, [](sqlite::Database&) { return Status(); }));
  const std::vector<BlockFolder> next{*merged, row[2]};
  ASSERT_TRUE(replace(next));
  EXPECT_EQ(ingest_->blocks()->front().name(), "000001-000003.1");
}

TEST_F(MergedBlocks, AreNotMadeOfOneWhoseRepairWasInterrupted) {
  const auto row = *ingest_->blocks();
  std::filesystem::create_directories(blocks_path_ + "/000002.rebuilt");
  const auto refused = replace(std::span<const BlockFolder>(row).first(2));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kConflict);
  EXPECT_THAT(refused.error().text(), HasSubstr("repair of block 000002"));
  EXPECT_EQ(completed_, 0);
}

TEST_F(MergedBlocks, AreNotThereWhereTheLastStepFails) {
  const auto row = *ingest_->blocks();
  const auto failed =
      ingest_->replace_blocks(std::span<const BlockFolder>(row).first(2),
                              [](const BlockFolder&) -> Status { return fail(ErrorCode::kIo, "no answer"); });
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::kIo);
  EXPECT_EQ(*ingest_->blocks(), row);
}

TEST_F(MergedBlocks, GoAsAWholeWhereTheyAreTheOldest) {
  const auto row = *ingest_->blocks();
  ASSERT_TRUE(replace(std::span<const BlockFolder>(row).first(2)));
  ASSERT_TRUE(ingest_->drop_block(ingest_->blocks()->front()));
  EXPECT_THAT(folders(), ElementsAre("000003", "000004"));
}

TEST_F(MergedBlocks, AreLookedAtAgainByTheCompactor) {
  const std::string loose = folder_ / "loose";
  std::filesystem::copy(blocks_path_ + "/000002", loose, std::filesystem::copy_options::recursive);
  const auto compactor = *Compactor::open(*ingest_, CompactionLimits::thorough(1'000'000));
  ASSERT_TRUE(compactor->merge_all());
  ASSERT_THAT(*compactor->pending(), IsEmpty());
  const auto row = *ingest_->blocks();
  ASSERT_TRUE(ingest_->replace_blocks(
      std::span<const BlockFolder>(row).first(2), [&](const BlockFolder& made) -> Status {
        std::filesystem::copy(loose, made.path, std::filesystem::copy_options::recursive);
        return {};
      }));
  EXPECT_EQ(compactor->pending()->size(), 2U) << "block 2 had nothing left to merge, and has other segments";
}

TEST_F(MergedBlocks, AreCountedAsOneBlock) {
  auto meter = *StoreHealthMeter::open(path_);
  ASSERT_EQ(meter.measure()->profiles_pending, 0);
  close();
  merge_blocks(path_, 1, 3);
  const auto account = *account_store(path_, wall_now_ns());
  ASSERT_EQ(account.blocks.size(), 2U);
  EXPECT_EQ(account.blocks[0].first, 1);
  EXPECT_EQ(account.blocks[0].number, 3);
  EXPECT_EQ(account.blocks[0].profiles, 6);
  EXPECT_EQ(account.blocks[1].first, 4);
  EXPECT_EQ(meter.measure()->profiles_accepted, 7);
  EXPECT_EQ(meter.measure()->profiles_pending, 0);
}

}  // namespace
}  // namespace plimsoll::store::merged_blocks_test
