// What a store drops, and what it keeps, when it is over a limit.
#include "store/retention/retention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <random>
#include <string>

#include "base/durable_file.h"
#include "proto/profile_codec.h"
#include "store/blocks/block_folder.h"
#include "store/catalogue/block_table.h"
#include "store/catalogue/catalogue.h"
#include "store/compaction/compactor.h"
#include "store/ingest.h"
#include "store/retention/oldest_files.h"
#include "store/store_account.h"
#include "store/store_health.h"
#include "tests/profile_fixture.h"
#include "tests/temporary_directory.h"

namespace plimsoll::store {
namespace {

using plimsoll::testing::make_profile;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr int64_t kHourNs = RetentionLimits::kHourNs;
constexpr int64_t kDayNs = RetentionLimits::kDayNs;
constexpr int64_t kStartNs = 1'700'000'000'000'000'000;
constexpr int64_t kMuch = int64_t{1} << 40;

// No limit is met.
constexpr RetentionLimits kEverything{.raw_max_age_ns = 100'000 * kDayNs,
                                      .raw_max_bytes = kMuch,
                                      .rows_max_age_ns = 100'000 * kDayNs,
                                      .rows_max_bytes = kMuch,
                                      .symbols_max_bytes = kMuch,
                                      .min_free_bytes = 1,
                                      .max_upload_age_ns = 100'000 * kDayNs};

// A profile an hour, two to a block: profile N, from 1, is of the hour N after kStartNs, and comes when it ends.
class RetentionTest : public ::testing::Test {
 protected:
  void SetUp() override { open(); }

  void open(const UploadLimits& limits = {}) {
    ingest_.reset();
    auto ingest = Ingest::open(
        path_,
        {.block_limits = {.max_profiles = 2}, .upload_limits = limits, .now_ns = [this] { return now_ns_; }});
    ASSERT_TRUE(ingest) << ingest.error().text();
    ingest_ = std::move(*ingest);
  }

  // Frames of about that many random characters, which no compression makes small.
  static std::string frames(int64_t number, size_t characters) {
    std::mt19937_64 random(static_cast<uint64_t>(number));
    std::string text;
    while (text.size() < characters) {
      text += fmt::format("{}{:016x}", text.size() % 4000 < 16 ? ";" : "", random());
    }
    return text;
  }

  static std::string profile(int64_t number, size_t padding = 0) {
    return wire::encode(make_profile({.seed = static_cast<uint64_t>(number),
                                      .from_ns = kStartNs + number * kHourNs,
                                      .length_ns = kHourNs,
                                      .stacks = "main" + frames(number, padding) + " 1\n"}));
  }

  void accept(int64_t first, int64_t last, size_t padding = 0) {
    for (int64_t number = first; number <= last; ++number) {
      now_ns_ = kStartNs + (number + 1) * kHourNs;
      const auto accepted = ingest_->accept_upload(as_bytes(profile(number, padding)), {});
      ASSERT_TRUE(accepted) << accepted.error().text();
    }
  }

  void build() {
    while (true) {
      const auto report = ingest_->build_pending();
      ASSERT_TRUE(report) << report.error().text();
      if (report->profiles == 0) {
        return;
      }
    }
  }

  void fill(int64_t profiles, size_t padding = 0) {
    accept(1, profiles, padding);
    build();
  }

  RetentionReport enforce(const RetentionLimits& limits) {
    const auto report =
        Retention(*ingest_, limits,
                  {[this] { return now_ns_; }, [this](const std::string&) { return free_(); }})
            .enforce();
    EXPECT_TRUE(report) << report.error().text();
    return report.value_or(RetentionReport());
  }

  // Of the archive: the profiles that are there, by their numbers.
  std::vector<int64_t> raw() {
    std::vector<int64_t> sequences;
    for (int64_t last = 0;;) {
      const auto next = ingest_->archive().next_after(last);
      EXPECT_TRUE(next) << next.error().text();
      const std::optional<ArchivedProfile> found = next.value_or(std::nullopt);
      if (!found) {
        return sequences;
      }
      last = found->sequence;
      sequences.push_back(last);
    }
  }

  std::vector<int64_t> blocks() {
    std::vector<int64_t> numbers;
    const auto folders = *ingest_->blocks();
    for (const BlockFolder& block : folders) {
      numbers.push_back(block.number);
    }
    return numbers;
  }

  // The sequences of the profiles that have rows.
  std::vector<int64_t> in_rows() {
    std::vector<int64_t> sequences;
    const auto folders = *ingest_->blocks();
    for (const BlockFolder& block : folders) {
      auto catalogue = *Catalogue::open(block.catalogue_path(), sqlite::OpenMode::kRead);
      EXPECT_TRUE(
          sqlite::for_each_row(catalogue.database().query("SELECT archive_sequence FROM origin ORDER BY id"),
                               [&](const sqlite::Statement& row) { sequences.push_back(row.integer(0)); }));
    }
    return sequences;
  }

  plimsoll::testing::TemporaryDirectory folder_;
  const std::string path_ = folder_ / "data";
  std::unique_ptr<Ingest> ingest_;
  int64_t now_ns_ = kStartNs;
  std::function<Result<int64_t>()> free_ = [] { return kMuch; };
};

TEST_F(RetentionTest, DropsNothingWithinTheLimits) {
  fill(5);
  EXPECT_TRUE(enforce(kEverything).empty());
  EXPECT_THAT(raw(), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(in_rows(), ElementsAre(1, 2, 3, 4, 5));
}

TEST_F(RetentionTest, DropsBlocksWhoseLastWindowIsTooOld) {
  fill(7);
  RetentionLimits limits = kEverything;
  // It is 8:00. The windows of blocks end at 3:00, 5:00, 7:00 and 8:00.
  limits.rows_max_age_ns = 4 * kHourNs;
  EXPECT_EQ(enforce(limits).blocks, 1);
  EXPECT_THAT(in_rows(), ElementsAre(3, 4, 5, 6, 7));
  limits.rows_max_age_ns = 0;
  EXPECT_EQ(enforce(limits).blocks, 2) << "the newest takes rows";
  EXPECT_THAT(in_rows(), ElementsAre(7));
  EXPECT_THAT(raw(), ElementsAre(1, 2, 3, 4, 5, 6, 7)) << "of another limit";
}

TEST_F(RetentionTest, DropsTheOldestBlocksWhereAllAreTooLarge) {
  fill(9);
  const StoreAccount account = *account_store(path_, now_ns_);
  RetentionLimits limits = kEverything;
  limits.rows_max_bytes = account.blocks[2].bytes + account.blocks[3].bytes + account.blocks[4].bytes;
  EXPECT_EQ(enforce(limits).blocks, 2);
  EXPECT_THAT(in_rows(), ElementsAre(5, 6, 7, 8, 9));
  EXPECT_TRUE(enforce(limits).empty());
}

TEST_F(RetentionTest, WhatWasDroppedIsNotBuiltAgain) {
  fill(6);
  ingest_.reset();
  {
    // The process ended when it had made the next block.
    auto before = *Catalogue::open(path_ + "/blocks/000003/catalogue.db", sqlite::OpenMode::kRead);
    ASSERT_TRUE(make_block(path_ + "/blocks", 4, before.database()));
  }
  open();
  RetentionLimits limits = kEverything;
  limits.rows_max_age_ns = 0;
  ++now_ns_;
  EXPECT_EQ(enforce(limits).blocks, 3);
  EXPECT_THAT(in_rows(), ElementsAre());
  open();
  build();
  EXPECT_THAT(in_rows(), ElementsAre());
  accept(7, 7);
  build();
  EXPECT_THAT(in_rows(), ElementsAre(7));
  EXPECT_EQ(StoreHealthMeter::open(path_)->measure()->profiles_pending, 0);
}

TEST_F(RetentionTest, WhatACrashLeftOfADroppedBlockIsRemoved) {
  fill(5);
  const std::string path = path_ + "/blocks/000001";
  std::filesystem::rename(path, path + ".dropped");
  open();
  EXPECT_FALSE(std::filesystem::exists(path + ".dropped"));
  EXPECT_THAT(in_rows(), ElementsAre(3, 4, 5));
}

TEST_F(RetentionTest, ABlockOfProfilesThatCouldNotBeBuiltGoesByTheTimeItWasMade) {
  ingest_->on_building([](const ArchivedProfile& archived) {
    if (archived.sequence <= 2) {
      throw std::runtime_error("poison");
    }
  });
  accept(1, 5);
  for (int attempt = 0; attempt < 20; ++attempt) {
    (void)ingest_->build_pending();
  }
  ASSERT_THAT(in_rows(), ElementsAre(3, 4, 5));
  RetentionLimits limits = kEverything;
  limits.rows_max_age_ns = 0;
  ++now_ns_;
  enforce(limits);
  EXPECT_EQ(blocks().size(), 1);
}

TEST_F(RetentionTest, WorkOnABlockThatIsDroppedFindsItGone) {
  fill(5);
  const BlockFolder first = ingest_->blocks()->front();
  ASSERT_TRUE(ingest_->drop_block(first));
  const Status written = ingest_->write_catalogue(first, [](sqlite::Database&) { return Status(); });
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::kNotFound);
  EXPECT_TRUE(ingest_->is_dropped(first));
  EXPECT_FALSE(ingest_->is_dropped(ingest_->blocks()->front()));
  EXPECT_FALSE(ingest_->drop_block(ingest_->blocks()->back())) << "it takes rows";
}

TEST_F(RetentionTest, MergingGoesOnWithTheBlocksThatAreLeft) {
  for (int64_t number = 1; number <= 5; ++number) {
    accept(number, number);
    build();
  }
  const auto compactor = *Compactor::open(*ingest_, CompactionLimits::thorough(1'000'000));
  ASSERT_EQ(compactor->merge_once()->merged, 2);
  ASSERT_TRUE(ingest_->drop_block(ingest_->blocks()->front()));
  const auto merged = compactor->merge_all();
  ASSERT_TRUE(merged) << merged.error().text();
  EXPECT_EQ(merged->merged, 2);
}

TEST_F(RetentionTest, DropsRawProfilesThatAreTooOld) {
  fill(5);
  RetentionLimits limits = kEverything;
  limits.raw_max_age_ns = 2 * kHourNs;
  EXPECT_EQ(enforce(limits).profiles, 2);
  EXPECT_THAT(raw(), ElementsAre(3, 4, 5));
  EXPECT_THAT(in_rows(), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_EQ(account_store(path_, now_ns_)->raw_profiles, 3);
  EXPECT_EQ(account_store(path_, now_ns_)->accepted_profiles, 5);
}

TEST_F(RetentionTest, RawProfilesThatAreNotRowsYetStay) {
  fill(2);
  accept(3, 5);
  RetentionLimits limits = kEverything;
  limits.raw_max_age_ns = 0;
  now_ns_ += kDayNs;
  EXPECT_EQ(enforce(limits).profiles, 2);
  EXPECT_THAT(raw(), ElementsAre(3, 4, 5));
  build();
  EXPECT_THAT(in_rows(), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_EQ(enforce(limits).profiles, 3);
}

TEST_F(RetentionTest, DropsTheOldestRawProfilesWhereAllAreTooLarge) {
  fill(300, 20'000);
  const int64_t all_bytes = *ingest_->archive().used_bytes();
  RetentionLimits limits = kEverything;
  limits.raw_max_bytes = all_bytes / 2;
  const RetentionReport report = enforce(limits);
  EXPECT_GT(report.profiles, 100);
  EXPECT_LT(report.profiles, 250);
  EXPECT_LE(*ingest_->archive().used_bytes(), limits.raw_max_bytes);
  EXPECT_EQ(raw().front(), report.profiles + 1) << "the oldest went";
  EXPECT_TRUE(enforce(limits).empty());
}

TEST_F(RetentionTest, ProfilesThatWereDroppedAreStillKnown) {
  fill(5);
  RetentionLimits limits = kEverything;
  limits.raw_max_age_ns = 0;
  limits.rows_max_age_ns = 0;
  now_ns_ += kHourNs;
  ASSERT_EQ(enforce(limits).profiles, 5);
  EXPECT_EQ(ingest_->accept_upload(as_bytes(profile(2)), {})->acceptance, Acceptance::kKnown);
  const auto other = ingest_->accept_upload(as_bytes(profile(2, 10)), {});
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, ErrorCode::kConflict);
}

TEST_F(RetentionTest, IDsAreForgottenOnceProfilesThatOldAreRefused) {
  RetentionLimits limits = kEverything;
  limits.raw_max_age_ns = 0;
  limits.max_upload_age_ns = 7 * kDayNs;
  open({.max_age_ns = limits.max_upload_age_ns});
  fill(3);
  // It is hour 170. The first window ended 7 days ago, to the hour: it is the last moment for it to come again.
  accept(169, 169);
  EXPECT_EQ(enforce(limits).ids, 0);
  EXPECT_EQ(ingest_->accept_upload(as_bytes(profile(1)), {})->acceptance, Acceptance::kKnown);
  now_ns_ += 1;
  const auto late = ingest_->accept_upload(as_bytes(profile(1)), {});
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, ErrorCode::kInvalid);
  EXPECT_THAT(late.error().text(), HasSubstr("over the maximum age of 7d"));
  // Machines' clocks may be a day ahead. The first three came in the hours 2, 3 and 4; it is hour 195.
  accept(194, 194);
  EXPECT_EQ(enforce(limits).ids, 1);
  EXPECT_EQ(ingest_->archive().count(), 4);
  accept(219, 219);
  EXPECT_EQ(enforce(limits).ids, 2);
  // The next one gets the next number all the same.
  accept(400, 400);
  EXPECT_THAT(raw(), ElementsAre(4, 5, 6, 7));
}

TEST_F(RetentionTest, ImportedProfilesAreKnownAsLongAsTheirRowsAreThere) {
  RetentionLimits limits = kEverything;
  limits.raw_max_age_ns = 0;
  limits.max_upload_age_ns = kHourNs;
  for (const int64_t number : {1, 2, 3}) {
    ASSERT_TRUE(ingest_->accept(as_bytes(profile(number)), {}));
  }
  build();
  now_ns_ = kStartNs + 100 * kDayNs;
  ASSERT_TRUE(ingest_->accept(as_bytes(profile(2400)), {}));
  EXPECT_EQ(enforce(limits).ids, 0);
  EXPECT_EQ(ingest_->accept(as_bytes(profile(1)), {})->acceptance, Acceptance::kKnown);
  limits.rows_max_age_ns = kDayNs;
  const RetentionReport report = enforce(limits);
  EXPECT_EQ(report.blocks, 1);
  EXPECT_EQ(report.ids, 2);
  EXPECT_EQ(ingest_->accept(as_bytes(profile(1)), {})->acceptance, Acceptance::kNew);
  EXPECT_EQ(ingest_->accept(as_bytes(profile(3)), {})->acceptance, Acceptance::kKnown);
}

TEST_F(RetentionTest, AnUploadedProfileThatIsImportedTooIsKnownAsLong) {
  RetentionLimits limits = kEverything;
  limits.raw_max_age_ns = 0;
  limits.max_upload_age_ns = kHourNs;
  accept(1, 2);
  build();
  ASSERT_EQ(ingest_->accept(as_bytes(profile(1)), {})->acceptance, Acceptance::kKnown);
  accept(200, 200);
  EXPECT_EQ(enforce(limits).ids, 1) << "of the other one";
  EXPECT_EQ(ingest_->accept(as_bytes(profile(1)), {})->acceptance, Acceptance::kKnown);
}

TEST_F(RetentionTest, AFullDiskCostsAsMuchAsIsMissing) {
  fill(100, 20'000);
  RetentionLimits limits = kEverything;
  limits.min_free_bytes = 1'000'000;
  free_ = [] { return 1'100'000; };
  EXPECT_TRUE(enforce(limits).empty()) << "a tenth more than the minimum is free";
  free_ = [] { return 700'000; };
  const RetentionReport report = enforce(limits);
  EXPECT_GE(report.bytes, 400'000);
  EXPECT_THAT(raw(), Not(IsEmpty())) << "not all that there is";
  EXPECT_LE(report.blocks, 1) << "files that a question has open give their room back later";
  EXPECT_EQ(raw().front(), report.profiles + 1);
}

TEST_F(RetentionTest, ADiskThatStaysFullCostsABlockInARound) {
  fill(9);
  RetentionLimits limits = kEverything;
  limits.min_free_bytes = kMuch;
  free_ = [] { return 0; };
  int rounds = 0;
  for (RetentionReport report = enforce(limits); !report.empty(); report = enforce(limits)) {
    ASSERT_LE(report.blocks, 1);
    ++rounds;
  }
  EXPECT_GE(rounds, 4);
  EXPECT_THAT(raw(), IsEmpty()) << "nothing is left to drop";
  EXPECT_EQ(blocks().size(), 1);
}

TEST_F(RetentionTest, TheDiskGetsBackWhatRawProfilesTook) {
  fill(100, 50'000);
  auto database = *sqlite::Database::open(path_ + "/archive.db", sqlite::OpenMode::kReadWrite);
  ASSERT_EQ(*database.integer("PRAGMA auto_vacuum", 0), 2);
  ASSERT_TRUE(database.run("PRAGMA wal_checkpoint(TRUNCATE)"));
  const int64_t before = *allocated_bytes(path_ + "/archive.db");
  RetentionLimits limits = kEverything;
  limits.min_free_bytes = kMuch;
  free_ = [] { return 0; };
  while (!enforce(limits).empty()) {
  }
  EXPECT_LT(*allocated_bytes(path_ + "/archive.db"), before / 10);
}

// Its free pages take what comes next, and nothing else gets them.
TEST_F(RetentionTest, AFullDiskCostsNoRawProfilesOfAFileThatCannotShrink) {
  ingest_.reset();
  std::filesystem::remove_all(path_);
  open();
  ingest_.reset();
  auto database = *sqlite::Database::open(path_ + "/archive.db", sqlite::OpenMode::kReadWrite);
  ASSERT_TRUE(database.run("PRAGMA auto_vacuum = NONE; VACUUM"));
  open();
  fill(9);
  RetentionLimits limits = kEverything;
  limits.min_free_bytes = kMuch;
  free_ = [] { return 0; };
  EXPECT_EQ(enforce(limits).profiles, 0);
  EXPECT_THAT(raw(), SizeIs(9));
  EXPECT_THAT(blocks(), ElementsAre(2, 3, 4, 5));
}

TEST_F(RetentionTest, AClockThatIsSetAheadCostsNothing) {
  open({.max_age_ns = 7 * kDayNs});
  fill(5);
  RetentionLimits limits = kEverything;
  limits.rows_max_age_ns = limits.raw_max_age_ns = 30 * kDayNs;
  limits.max_upload_age_ns = 7 * kDayNs;
  now_ns_ += 1000 * kDayNs;
  EXPECT_TRUE(enforce(limits).empty());
  // What is refused a daemon drops.
  const auto refused = ingest_->accept_upload(as_bytes(profile(6)), {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(refused.error().text(), HasSubstr("clock"));
}

TEST_F(RetentionTest, ABlockThatCannotBeReadKeepsNothingElse) {
  fill(7);
  const std::string catalogue = path_ + "/blocks/000001/catalogue.db";
  ASSERT_TRUE(sqlite::Database::open(catalogue, sqlite::OpenMode::kReadWrite)
                  ->run("PRAGMA wal_checkpoint(TRUNCATE)"));
  ASSERT_TRUE(write_file_durably(catalogue, as_bytes(std::string(8192, 'x'))));
  const auto compactor = *Compactor::open(*ingest_, CompactionLimits::thorough(1'000'000));
  EXPECT_TRUE(compactor->merge_all());
  RetentionLimits limits = kEverything;
  limits.raw_max_age_ns = 2 * kHourNs;
  EXPECT_EQ(enforce(limits).profiles, 4);
  // It goes by the time of its files, which is now.
  EXPECT_EQ(blocks().front(), 1);
  limits.rows_max_bytes = 1;
  EXPECT_GE(enforce(limits).blocks, 3);
}

TEST_F(RetentionTest, UploadsWaitWhileTheDiskIsFull) {
  open({.min_free_bytes = kMuch << 10});
  const auto refused = ingest_->accept_upload(as_bytes(profile(1)), {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(refused.error().text(), HasSubstr("free"));
  EXPECT_TRUE(ingest_->accept(as_bytes(profile(1)), {})) << "who imports is there to see it";
}

TEST_F(RetentionTest, UploadsWaitWhileRawProfilesPileUp) {
  open({.max_archive_bytes = 2'000'000});
  accept(1, 20, 50'000);
  ASSERT_GT(*ingest_->archive().used_bytes(), 500'000);
  for (int64_t number = 21; number <= 100; ++number) {
    const auto accepted = ingest_->accept_upload(as_bytes(profile(number, 50'000)), {});
    if (!accepted) {
      EXPECT_EQ(accepted.error().code, ErrorCode::kUnavailable);
      EXPECT_THAT(accepted.error().text(), HasSubstr("no rows are built from them"));
      return;
    }
  }
  FAIL() << "nothing was refused";
}

TEST_F(RetentionTest, SymbolTablesThatWereNotUsedForLongGoFirst) {
  const std::string folder = path_ + "/symtab";
  const std::string content(10'000, 'x');
  for (const char* name : {"aa/1.symtab", "bb/2.symtab", "bb/3.symtab", "bb/notes"}) {
    const std::filesystem::path path = folder + "/" + name;
    std::filesystem::create_directories(path.parent_path());
    ASSERT_TRUE(write_file_durably(path, as_bytes(content)));
  }
  const auto now = std::filesystem::file_time_type::clock::now();
  std::filesystem::last_write_time(folder + "/bb/2.symtab", now - std::chrono::hours(2));
  std::filesystem::last_write_time(folder + "/aa/1.symtab", now - std::chrono::hours(1));
  RetentionLimits limits = kEverything;
  limits.symbols_max_bytes = 30'000;
  EXPECT_EQ(enforce(limits).symbol_tables, 1);
  EXPECT_FALSE(std::filesystem::exists(folder + "/bb/2.symtab"));
  limits.symbols_max_bytes = 1;
  EXPECT_EQ(enforce(limits).symbol_tables, 2);
  EXPECT_TRUE(std::filesystem::exists(folder + "/bb/notes")) << "no symbol table";
}

TEST_F(RetentionTest, OnceItIsToStopItDropsNothingMore) {
  fill(5);
  std::stop_source stop;
  stop.request_stop();
  RetentionLimits limits = kEverything;
  limits.rows_max_age_ns = 0;
  limits.raw_max_age_ns = 0;
  now_ns_ += kDayNs;
  const auto report =
      Retention(*ingest_, limits, {[this] { return now_ns_; }, [](const std::string&) { return kMuch; }})
          .enforce(stop.get_token());
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->empty());
}

// Ten days of a fleet, an hour at a time, with ten times the profiles that there is room for.
TEST_F(RetentionTest, TheStoreStaysWithinItsLimitsForDays) {
  RetentionLimits limits = kEverything;
  limits.raw_max_bytes = 1'500'000;
  limits.rows_max_bytes = 2'500'000;
  limits.max_upload_age_ns = kDayNs;
  limits.raw_max_age_ns = 2 * kDayNs;
  Retention retention(*ingest_, limits,
                      {[this] { return now_ns_; }, [](const std::string&) { return kMuch; }});
  int64_t largest_blocks = 0;
  int64_t largest_archive = 0;
  for (int64_t hour = 1; hour <= 240; ++hour) {
    accept(hour, hour, 40'000);
    build();
    ASSERT_TRUE(retention.enforce());
    const StoreAccount account = *account_store(path_, now_ns_);
    int64_t block_bytes = 0;
    for (const BlockAccount& block : account.blocks) {
      block_bytes += block.bytes;
    }
    const int64_t archive_bytes = *ingest_->archive().used_bytes();
    ASSERT_LE(block_bytes, limits.rows_max_bytes * 105 / 100) << hour;
    ASSERT_LE(archive_bytes, limits.raw_max_bytes * 105 / 100) << hour;
    largest_blocks = std::max(largest_blocks, block_bytes);
    largest_archive = std::max(largest_archive, archive_bytes);
  }
  RecordProperty("largest_rows_percent_of_limit",
                 std::to_string(largest_blocks * 100 / limits.rows_max_bytes));
  RecordProperty("largest_raw_percent_of_limit",
                 std::to_string(largest_archive * 100 / limits.raw_max_bytes));
  EXPECT_GT(blocks().front(), 50);
  EXPECT_LT(*ingest_->archive().count(), 60) << "the ledger of two days, and of what is still there";
}

TEST(RetentionLimits, AreSharesOfTheDiskUnlessSet) {
  const RetentionLimits limits = RetentionLimits{.rows_max_bytes = 5}.on_disk_of(int64_t{50} << 30);
  EXPECT_EQ(limits.raw_max_bytes, (int64_t{50} << 30) / 100 * 15);
  EXPECT_EQ(limits.rows_max_bytes, 5);
  EXPECT_EQ(limits.min_free_bytes, (int64_t{50} << 30) / 100 * 10);
  EXPECT_EQ(RetentionLimits{}.on_disk_of(int64_t{1} << 50).min_free_bytes, int64_t{10} << 30);
}

}  // namespace
}  // namespace plimsoll::store
