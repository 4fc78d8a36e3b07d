// A block that cannot be read: what goes on without it, how it is built again, and how it is given up.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "base/file.h"
#include "query/snapshot/snapshot.h"
#include "store/blocks/block_damage.h"
#include "store/care/block_repair.h"
#include "store/care/check.h"
#include "store/retention/retention.h"
#include "store/rollup/roll_up.h"
#include "store/store_account.h"
#include "store/store_health.h"
#include "tests/temporary_directory.h"
#include "tests/unit/store/care_fixture.h"

namespace plimsoll::store::care_repair_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr uint64_t kProfiles = 11;
constexpr uint64_t kPerBlock = 3;  // so that blocks 1 to 3 are sealed, and 4 is the newest

void write_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

std::set<std::string> files_below(const std::string& path) {
  std::set<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(path)) {
    files.insert(entry.path().filename().string());
  }
  return files;
}

class Repair : public ::testing::Test {
 protected:
  Repair() { plimsoll::testing::fill_care_directory(path_, 1, kProfiles, kPerBlock); }

  std::string block(int number) const { return fmt::format("{}/blocks/{:06}", path_, number); }
  std::string catalogue(int number) const { return block(number) + "/catalogue.db"; }
  std::string segment(int number) const {
    return std::filesystem::directory_iterator(block(number) + "/segments")->path().string();
  }
  void remove_catalogue(int number) const {
    for (const char* const suffix : {"", "-wal", "-shm"}) {
      std::filesystem::remove(catalogue(number) + suffix);
    }
  }
  void damage_segment(int number) const {
    std::string bytes = *read_file(segment(number), 1 << 20);
    bytes.back() = static_cast<char>(bytes.back() ^ 1);
    write_bytes(segment(number), bytes);
  }
  // Of the profiles up to this one; as retention does.
  void drop_raw_profiles(int64_t up_to) const {
    const auto archive = *Archive::open(path_ + "/archive.db", sqlite::OpenMode::kReadWriteShrinking);
    ASSERT_EQ(archive->drop_profiles(up_to, INT64_MAX, 1000).value_or(-1), up_to);
  }

  // The first block becomes blocks/000001.1.
  void roll_up_first_block() const {
    const auto ingest = *Ingest::open(path_);
    const auto report = RollUp(*ingest, {}).run_once_before(INT64_MAX);
    ASSERT_TRUE(report) << report.error().text();
    ASSERT_EQ(report->block, 1);
  }
  std::string first_block() const { return list_blocks(path_ + "/blocks")->front().name(); }

  // What a check of everything finds: hits of each profile, and profiles that have rows twice, among it.
  std::vector<std::string> damage() const {
    std::vector<std::string> found;
    const auto report = check_store(path_);
    EXPECT_TRUE(report) << report.error().text();
    for (const Finding& finding : report->findings) {
      if (finding.is_damage) {
        found.push_back(finding.file + ": " + finding.what);
      }
    }
    return found;
  }
  // Rows by block; what cannot be read has none.
  std::map<int64_t, int64_t> rows() const {
    std::map<int64_t, int64_t> rows;
    const auto account = account_store(path_, wall_now_ns());
    EXPECT_TRUE(account) << account.error().text();
    for (const BlockAccount& of : account->blocks) {
      rows[of.number] = of.rows;
    }
    return rows;
  }

  plimsoll::testing::TemporaryDirectory folder_;
  const std::string path_ = folder_ / "data";
};

// Names what is done to the catalogue of block 2.
const std::map<std::string, void (*)(const std::string& path)> kDamages{
    {"missing", [](const std::string& path) { std::filesystem::remove(path); }},
    {"empty", [](const std::string& path) { write_bytes(path, ""); }},
    {"no database", [](const std::string& path) { write_bytes(path, std::string(8192, 'x')); }},
    {"cut off", [](const std::string& path) { std::filesystem::resize_file(path, 4096); }},
    {"of another byte", [](const std::string& path) {
       std::string bytes = *read_file(path, 8 << 20);
       bytes[200] = static_cast<char>(bytes[200] ^ 1);
       write_bytes(path, bytes);
     }}};

TEST_F(Repair, ASealedBlockThatCannotBeReadIsLeftOutAndLeftAsItIs) {
  const std::string sound = *read_file(catalogue(2), 8 << 20);
  for (const auto& [name, damage] : kDamages) {
    SCOPED_TRACE(name);
    write_bytes(catalogue(2), sound);
    damage(catalogue(2));
    const auto files = files_below(block(2));
    {
      auto ingest = Ingest::open(path_);
      ASSERT_TRUE(ingest) << ingest.error().text();
      ASSERT_TRUE((*ingest)->build_pending());
      EXPECT_TRUE((*Compactor::open(**ingest, CompactionLimits()))->merge_all());
      Retention retention(**ingest, {.raw_max_age_ns = INT64_MAX / 2,
                                     .raw_max_bytes = INT64_MAX / 2,
                                     .rows_max_age_ns = INT64_MAX / 2,
                                     .rows_max_bytes = INT64_MAX / 2,
                                     .symbols_max_bytes = INT64_MAX / 2,
                                     .min_free_bytes = 0,
                                     .max_upload_age_ns = INT64_MAX / 2});
      const auto retained = retention.enforce();
      EXPECT_TRUE(retained) << retained.error().text();
      EXPECT_FALSE(
          (*ingest)->write_catalogue(BlockFolder{2, block(2)}, [](sqlite::Database&) { return Status(); }));
    }
    EXPECT_EQ(files_below(block(2)), files);
    const auto health = StoreHealthMeter::open(path_)->measure();
    ASSERT_TRUE(health) << health.error().text();
    EXPECT_EQ(health->blocks_unreadable, 1);
    EXPECT_THAT(health->why_unreadable, HasSubstr("000002/catalogue.db"));
    const auto account = account_store(path_, wall_now_ns());
    ASSERT_TRUE(account) << account.error().text();
    EXPECT_THAT(account->blocks.at(1).damage, HasSubstr("000002/catalogue.db"));
    EXPECT_GT(account->blocks.at(1).bytes, 0);
    const auto snapshot = query::Snapshot::load(path_);
    ASSERT_TRUE(snapshot) << snapshot.error().text();
    EXPECT_THAT((*snapshot)->damaged_blocks, ElementsAre(::testing::Field(&DamagedPart::path, block(2))));
    EXPECT_EQ((*snapshot)->dictionaries.origins.size() - 1, kProfiles - kPerBlock);
  }
}

// A catalogue has no checksums: such an entry stands for others that are not what was written.
TEST_F(Repair, ABlockWithAnEntryThatRefersToNoneIsLeftOut) {
  for (const char* change :
       {"UPDATE location SET owner = 1000000 WHERE id = 1", "UPDATE origin SET machine = 9 WHERE id = 1",
        "UPDATE origin_event SET event = event + 99 WHERE origin = 1"}) {
    SCOPED_TRACE(change);
    const std::string sound = *read_file(catalogue(2), 8 << 20);
    {
      auto opened = *sqlite::Database::open(catalogue(2), sqlite::OpenMode::kReadWrite);
      ASSERT_TRUE(opened.run("PRAGMA foreign_keys = OFF"));
      ASSERT_TRUE(opened.run(change));
    }
    const auto snapshot = query::Snapshot::load(path_);
    ASSERT_TRUE(snapshot) << snapshot.error().text();
    EXPECT_THAT((*snapshot)->damaged_blocks, ElementsAre(::testing::Field(&DamagedPart::path, block(2))));
    EXPECT_EQ((*snapshot)->dictionaries.origins.size() - 1, kProfiles - kPerBlock);
    write_bytes(catalogue(2), sound);
  }
}

TEST_F(Repair, TheNewestBlockIsNeeded) {
  remove_catalogue(4);
  EXPECT_FALSE(Ingest::open(path_));
}

TEST_F(Repair, ABlockIsBuiltAgainFromItsRawProfiles) {
  const auto before = rows();
  const std::string sound = *read_file(catalogue(2), 8 << 20);
  for (const auto& [name, damage_it] : kDamages) {
    SCOPED_TRACE(name);
    write_bytes(catalogue(2), sound);
    damage_it(catalogue(2));
    ASSERT_THAT(damage(), ::testing::Not(IsEmpty()));
    const auto report = rebuild_block(path_, 2);
    ASSERT_TRUE(report) << report.error().text();
    EXPECT_EQ(report->profiles, kPerBlock);
    EXPECT_EQ(report->rows, before.at(2));
    EXPECT_EQ(report->lost, 0);
    EXPECT_THAT(damage(), IsEmpty());
    EXPECT_EQ(rows(), before);
    EXPECT_FALSE(std::filesystem::exists(block(2) + ".rebuilt"));
    EXPECT_THAT(files_below(path_ + "/blocks"), ::testing::Not(::testing::Contains("000002.dropped")));
  }
  EXPECT_EQ(rebuild_block(path_, 2).error().code, ErrorCode::kConflict) << "it is sound now";
}

TEST_F(Repair, TheFirstBlockIsBuiltAgainToo) {
  const auto before = rows();
  remove_catalogue(1);
  ASSERT_TRUE(rebuild_block(path_, 1));
  EXPECT_THAT(damage(), IsEmpty());
  EXPECT_EQ(rows(), before);
}

TEST_F(Repair, ADamagedSegmentIsBuiltAgainWithItsBlock) {
  const auto before = rows();
  damage_segment(3);
  const auto report = rebuild_block(path_, 3);
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_THAT(damage(), IsEmpty());
  EXPECT_EQ(rows(), before);
}

TEST_F(Repair, GoesOnWithWhatWasBuiltBeforeACrash) {
  const auto before = rows();
  remove_catalogue(2);
  {
    const auto directory = *DataDirectory::open_for_writing(path_);
    const std::string id = read_identity(path_)->id;
    auto first = *sqlite::Database::open(catalogue(1), sqlite::OpenMode::kRead);
    const auto made =
        make_replacement(directory.blocks_path(), BlockFolder{2, block(2)}, &first, kPerBlock, id);
    ASSERT_TRUE(made) << made.error().text();
    const auto part = Ingest::open_for_rebuilding(directory, *made, kPerBlock + 1);
    ASSERT_TRUE(part) << part.error().text();
    EXPECT_EQ((*part)->build_pending()->profiles, 1);
    EXPECT_EQ((*part)->build_pending()->profiles, 0);
  }
  // What a transaction that was not committed has left.
  write_bytes(block(2) + ".rebuilt/segments/000000000006.rows", "half of a seg");
  const auto report = rebuild_block(path_, 2);
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_EQ(report->profiles, kPerBlock);
  EXPECT_THAT(damage(), IsEmpty());
  EXPECT_EQ(rows(), before);
}

TEST_F(Repair, TakesTheDamagedBlockAwayAfterACrash) {
  const auto before = rows();
  remove_catalogue(2);
  std::filesystem::copy(block(2), folder_ / "damaged", std::filesystem::copy_options::recursive);
  ASSERT_TRUE(rebuild_block(path_, 2));
  std::filesystem::copy(folder_ / "damaged", block(2) + ".rebuilt", std::filesystem::copy_options::recursive);
  ASSERT_TRUE(Ingest::open(path_)) << "a server passes it over";
  const auto finished = rebuild_block(path_, 2);
  ASSERT_TRUE(finished) << finished.error().text();
  EXPECT_EQ(finished->profiles, kPerBlock);
  EXPECT_FALSE(std::filesystem::exists(block(2) + ".rebuilt"));
  EXPECT_EQ(rows(), before);
}

TEST_F(Repair, ProfilesWhoseRawOnesAreGoneAreLostAndNamed) {
  remove_catalogue(2);
  drop_raw_profiles(5);
  const auto report = rebuild_block(path_, 2);
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_EQ(report->profiles, 1);
  EXPECT_EQ(report->lost, 2);
  EXPECT_THAT(report->kept_at, HasSubstr("quarantine/block-000002"));
  EXPECT_TRUE(std::filesystem::exists(report->kept_at + "/segments"));
  EXPECT_THAT(damage(), IsEmpty());
  EXPECT_EQ(StoreHealthMeter::open(path_)->measure()->profiles_set_aside, 2);
}

TEST_F(Repair, SoundSegmentsAreNotGivenUpForADamagedOne) {
  const auto before = rows();
  damage_segment(2);
  drop_raw_profiles(4);
  const auto refused = rebuild_block(path_, 2);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().text(), AllOf(HasSubstr("1 of the 3 raw profiles"), HasSubstr("backup")));
  EXPECT_EQ(rows(), before);
}

TEST_F(Repair, WithoutRawProfilesABlockIsGivenUp) {
  remove_catalogue(2);
  drop_raw_profiles(6);
  const auto refused = rebuild_block(path_, 2);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(refused.error().text(), HasSubstr("--forget"));
  EXPECT_EQ(forget_block(path_, 2).value_or(-1), 3);
  EXPECT_THAT(damage(), IsEmpty());
  EXPECT_EQ(rows().at(2), 0);
  EXPECT_THAT((*query::Snapshot::load(path_))->damaged_blocks, IsEmpty());
  // The same profiles, sent again, are known.
  const auto ingest = *Ingest::open(path_);
  const auto again = ingest->accept(as_bytes(wire::encode(plimsoll::testing::care_profile(5))), {});
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(again->acceptance, Acceptance::kKnown);
  EXPECT_EQ(ingest->build_pending()->profiles, 0);
}

TEST_F(Repair, OfTwoBlocksInARowTheSecondGetsTheRowsOfBoth) {
  const auto before = rows();
  remove_catalogue(2);
  remove_catalogue(3);
  ASSERT_TRUE(Ingest::open(path_));
  const auto refused = rebuild_block(path_, 2);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().text(), HasSubstr("--forget blocks/2"));
  EXPECT_FALSE(rebuild_block(path_, 3));
  EXPECT_EQ(forget_block(path_, 2).value_or(-1), 0);
  const auto report = rebuild_block(path_, 3);
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_EQ(report->profiles, 2 * kPerBlock);
  EXPECT_EQ(report->rows, before.at(2) + before.at(3));
  EXPECT_THAT(damage(), IsEmpty());
}

TEST_F(Repair, ARolledUpBlockIsBuiltAgainWithFullRowsAndRolledUpAgain) {
  const auto before = rows();
  roll_up_first_block();
  const auto rolled_up = rows();
  std::filesystem::resize_file(block(1) + ".1/catalogue.db", 0);
  const auto report = rebuild_block(path_, 1);
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_EQ(report->profiles, kPerBlock);
  EXPECT_THAT(damage(), IsEmpty());
  EXPECT_EQ(rows(), before);
  EXPECT_FALSE(std::filesystem::exists(block(1) + ".rebuilt"));
  const auto snapshot = query::Snapshot::load(path_);
  ASSERT_TRUE(snapshot) << snapshot.error().text();
  EXPECT_GT((*snapshot)->rolled_up_from_ns, (*snapshot)->rolled_up_to_ns);
  roll_up_first_block();
  EXPECT_EQ(first_block(), "000001.2");
  EXPECT_EQ(rows(), rolled_up);
}

TEST_F(Repair, DamageInTheCatalogueOfARolledUpBlockIsFoundAsSuch) {
  roll_up_first_block();
  {
    auto own = *sqlite::Database::open(block(1) + ".1/catalogue.db", sqlite::OpenMode::kReadWrite);
    ASSERT_TRUE(own.run("DELETE FROM stack WHERE id = 1"));
  }
  drop_raw_profiles(1);
  const auto report = rebuild_block(path_, 1);
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_EQ(report->lost, 1);
}

TEST_F(Repair, ARolledUpBlockIsGivenUp) {
  roll_up_first_block();
  std::filesystem::resize_file(block(1) + ".1/catalogue.db", 0);
  EXPECT_EQ(forget_block(path_, 1).value_or(-1), 3);
  EXPECT_THAT(damage(), IsEmpty());
  EXPECT_EQ(rows().at(1), 0);
}

TEST_F(Repair, ProfilesThatTheArchiveHasForgottenAreLostToo) {
  remove_catalogue(2);
  drop_raw_profiles(5);
  {
    auto archive = *sqlite::Database::open(path_ + "/archive.db", sqlite::OpenMode::kReadWrite);
    ASSERT_TRUE(archive.run("DELETE FROM ledger WHERE sequence <= 5"));
  }
  const auto report = rebuild_block(path_, 2);
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_EQ(report->profiles, 1);
  EXPECT_EQ(report->lost, 2);
  EXPECT_TRUE(std::filesystem::exists(report->kept_at + "/segments"));
  EXPECT_THAT(damage(), IsEmpty());
}

TEST_F(Repair, WhatStandsSealedBesideABlockIsKeptAndNotGoneOnWith) {
  const auto before = rows();
  const std::string beside_it = block(2) + ".rebuilt";
  std::filesystem::copy(block(2), folder_ / "full", std::filesystem::copy_options::recursive);
  std::filesystem::copy(block(2), folder_ / "damaged", std::filesystem::copy_options::recursive);
  std::filesystem::resize_file(std::string(folder_ / "damaged") + "/catalogue.db", 0);
  remove_catalogue(2);
  ASSERT_EQ(forget_block(path_, 2).value_or(-1), 3);
  // Killed just before it takes its place.
  std::filesystem::rename(block(2), folder_ / "given up");
  int kept = 0;
  for (const char* const left : {"given up", "damaged"}) {
    SCOPED_TRACE(left);
    std::filesystem::remove_all(block(2));
    std::filesystem::copy(folder_ / "full", block(2), std::filesystem::copy_options::recursive);
    std::filesystem::copy(folder_ / left, beside_it, std::filesystem::copy_options::recursive);
    remove_catalogue(2);
    const auto report = rebuild_block(path_, 2);
    ASSERT_TRUE(report) << report.error().text();
    EXPECT_EQ(report->profiles, kPerBlock);
    EXPECT_EQ(rows(), before);
    EXPECT_FALSE(std::filesystem::exists(beside_it));
    const std::string suffix = kept++ == 0 ? "" : ".1";
    EXPECT_TRUE(std::filesystem::exists(path_ + "/quarantine/block-000002" + suffix));
  }
}

TEST_F(Repair, WhatARebuildHasLeftStaysWhileItsBlockDoes) {
  const std::string left = block(1) + ".rebuilt";
  std::filesystem::copy(block(1), left, std::filesystem::copy_options::recursive);
  std::filesystem::resize_file(left + "/catalogue.db", 0);
  for (const char* const unfinished :
       {"/000001.1.tmp", "/000003.rebuilt.tmp", "/000077.tmp", "/000077.rebuilt"}) {
    std::filesystem::create_directories(path_ + "/blocks" + unfinished);
  }
  const auto ingest = *Ingest::open(path_);
  EXPECT_THAT(files_below(path_ + "/blocks"),
              ::testing::Not(::testing::Contains(::testing::AnyOf(HasSubstr(".tmp"), HasSubstr("000077")))));
  const auto report = RollUp(*ingest, {}).run_once_before(INT64_MAX);
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_EQ(report->block, 2) << "the first is left alone";
  EXPECT_TRUE(std::filesystem::exists(left));
  ASSERT_TRUE(ingest->drop_block(ingest->blocks()->front()));
  EXPECT_FALSE(std::filesystem::exists(left));
}

TEST_F(Repair, TakesTheDamagedRolledUpBlockAwayAfterACrash) {
  roll_up_first_block();
  std::filesystem::copy(block(1) + ".1", block(1) + ".rebuilt", std::filesystem::copy_options::recursive);
  std::filesystem::resize_file(block(1) + ".rebuilt/catalogue.db", 0);
  const auto finished = rebuild_block(path_, 1);
  ASSERT_TRUE(finished) << finished.error().text();
  EXPECT_FALSE(std::filesystem::exists(block(1) + ".rebuilt"));
}

TEST_F(Repair, TheFullBlockIsUsedWhereTheRolledUpOneCannotBeRead) {
  const auto before = rows();
  std::filesystem::copy(block(1), folder_ / "full", std::filesystem::copy_options::recursive);
  roll_up_first_block();
  for (const bool is_full_sound : {false, true}) {
    std::filesystem::remove_all(block(1));
    std::filesystem::copy(folder_ / "full", block(1), std::filesystem::copy_options::recursive);
    std::filesystem::resize_file(block(1) + ".1/catalogue.db", 0);
    if (!is_full_sound) {
      remove_catalogue(1);
    }
    ASSERT_TRUE(Ingest::open(path_));
    EXPECT_TRUE(std::filesystem::exists(block(1)));
    EXPECT_EQ(std::filesystem::exists(block(1) + ".1"), !is_full_sound);
  }
  EXPECT_TRUE(std::filesystem::exists(path_ + "/quarantine/block-000001.1"));
  EXPECT_EQ(rows(), before);
  EXPECT_THAT(damage(), IsEmpty());
}

TEST_F(Repair, ARolledUpBlockKnowsWithWhichProfileItBegins) {
  {
    auto own = *sqlite::Database::open(catalogue(2), sqlite::OpenMode::kReadWrite);
    ASSERT_TRUE(own.run("DELETE FROM accepted_before"));
  }
  {
    const auto ingest = *Ingest::open(path_);
    RollUp rolled(*ingest, {});
    ASSERT_EQ(rolled.run_once_before(INT64_MAX)->block, 1);
    ASSERT_EQ(rolled.run_once_before(INT64_MAX)->block, 2);
  }
  auto own = *sqlite::Database::open(block(2) + ".1/catalogue.db", sqlite::OpenMode::kRead);
  EXPECT_EQ(accepted_before(own).value_or(-1), kPerBlock);
}

TEST_F(Repair, WhereABlockEndsIsNotGuessedFromHoursOfTheNext) {
  {
    const auto ingest = *Ingest::open(path_);
    RollUp rolled(*ingest, {});
    ASSERT_EQ(rolled.run_once_before(INT64_MAX)->block, 1);
    ASSERT_EQ(rolled.run_once_before(INT64_MAX)->block, 2);
  }
  {
    auto next = *sqlite::Database::open(block(2) + ".1/catalogue.db", sqlite::OpenMode::kReadWrite);
    ASSERT_TRUE(next.run("DELETE FROM accepted_before"));
  }
  std::filesystem::resize_file(block(1) + ".1/catalogue.db", 0);
  const auto refused = rebuild_block(path_, 1);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().text(), HasSubstr("does not say where block 000001 ends"));
  EXPECT_TRUE(forget_block(path_, 1));
}

TEST_F(Repair, ABlockWithoutItsSegmentsKeepsNoServerFromStarting) {
  std::filesystem::remove_all(block(2) + "/segments");
  const auto ingest = Ingest::open(path_);
  EXPECT_TRUE(ingest) << ingest.error().text();
}

TEST_F(Repair, ABlockWhoseCatalogueFailsToBeReadIsUnreadable) {
  {
    auto own = *sqlite::Database::open(catalogue(2), sqlite::OpenMode::kReadWrite);
    ASSERT_TRUE(own.run("ALTER TABLE block RENAME COLUMN is_sealed TO other"));
  }
  EXPECT_TRUE(is_unreadable(BlockFolder{2, block(2)}));
  EXPECT_TRUE(Ingest::open(path_));
}

TEST_F(Repair, AGenerationThatWasReplacedIsNotDropped) {
  const auto ingest = *Ingest::open(path_);
  const BlockFolder full = ingest->blocks()->front();
  RollUp rolled(*ingest, {.keep_replaced = std::chrono::hours(1)});
  ASSERT_EQ(rolled.run_once_before(INT64_MAX)->block, 1);
  const Status refused = ingest->drop_block(full);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kNotFound);
  EXPECT_TRUE(std::filesystem::exists(full.path));
}

TEST_F(Repair, RefusesWhatIsSoundOrTakesRowsOrIsNotThere) {
  for (const int number : {2, 4, 9}) {
    EXPECT_FALSE(rebuild_block(path_, number)) << number;
    EXPECT_FALSE(forget_block(path_, number)) << number;
  }
  EXPECT_THAT(damage(), IsEmpty());
}

TEST_F(Repair, NewProfilesGoOnBehindARebuiltBlock) {
  remove_catalogue(2);
  ASSERT_TRUE(rebuild_block(path_, 2));
  const auto ingest = *Ingest::open(path_);
  ASSERT_TRUE(ingest->accept(as_bytes(wire::encode(plimsoll::testing::care_profile(kProfiles + 1))), {}));
  EXPECT_EQ(ingest->build_pending()->profiles, 1);
  EXPECT_THAT(damage(), IsEmpty());
}

}  // namespace
}  // namespace plimsoll::store::care_repair_test
