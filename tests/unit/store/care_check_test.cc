// What `plimsoll store check` finds: nothing in a healthy directory, and every damage, by the name of its file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <random>

#include "base/file.h"
#include "store/care/check.h"
#include "tests/temporary_directory.h"
#include "tests/unit/store/care_fixture.h"
#include "tests/unit/store/segment_fixture.h"

namespace plimsoll::store {
namespace {

using plimsoll::testing::fill_care_directory;
using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

// PLIMSOLL_TEST_FLIPS   how many bits of each database to flip (100), and then all bits of the segment (scripts/soak.sh)
size_t flips_wanted() {
  const char* const text = std::getenv("PLIMSOLL_TEST_FLIPS");
  return text == nullptr ? 100 : static_cast<size_t>(std::atoll(text));  // NOLINT(cert-err34-c)
}

// "FILE: WHAT" of damage, "FILE (note): WHAT" of the rest.
std::vector<std::string> lines_of(const CheckReport& report) {
  std::vector<std::string> lines;
  for (const Finding& finding : report.findings) {
    EXPECT_FALSE(finding.remedy.empty()) << finding.what;
    lines.push_back(fmt::format("{}{}: {}", finding.file, finding.is_damage ? "" : " (note)", finding.what));
  }
  return lines;
}

class CareCheckTest : public ::testing::Test {
 protected:
  // Two blocks of three profiles, and one of one.
  void SetUp() override { fill_care_directory(path_, 1, 7, 3); }

  std::vector<std::string> check() const {
    const auto report = check_store(path_);
    EXPECT_TRUE(report) << report.error().text();
    return report ? lines_of(*report) : std::vector<std::string>{};
  }

  void run_sql(const std::string& name, const std::string& sql) const {
    auto database = *sqlite::Database::open(path_ + "/" + name, sqlite::OpenMode::kReadWrite);
    const Status done = database.run("PRAGMA foreign_keys=OFF; " + sql);
    ASSERT_TRUE(done) << done.error().text();
  }

  std::string a_segment(const std::string& block) const {
    for (const auto& entry : std::filesystem::directory_iterator(path_ + "/blocks/" + block + "/segments")) {
      return "blocks/" + block + "/segments/" + entry.path().filename().string();
    }
    return "";
  }

  // All rows of all tables.
  Result<std::string> contents(const std::string& name) const {
    auto database = sqlite::Database::open(path_ + "/" + name, sqlite::OpenMode::kRead);
    std::vector<std::pair<std::string, int64_t>> tables;
    Status read =
        database
            ? sqlite::for_each_row(
                  database->query("SELECT name, (SELECT count(*) FROM pragma_table_info(s.name)) FROM "
                                  "sqlite_schema s WHERE type = 'table' ORDER BY name"),
                  [&](const sqlite::Statement& row) { tables.emplace_back(row.text(0), row.integer(1)); })
            : propagate(database);
    std::string text;
    for (const auto& [table, columns] : tables) {
      text += table + "\n";
      read = read ? sqlite::for_each_row(database->query("SELECT * FROM " + table),
                                         [&](const sqlite::Statement& row) {
                                           for (int column = 0; column < columns; ++column) {
                                             text += row.blob(column) + "|";
                                           }
                                           text += "\n";
                                         })
                  : read;
    }
    return read ? Result<std::string>(text) : propagate(read);
  }

  plimsoll::testing::TemporaryDirectory folder_;
  std::string path_ = folder_ / "data";
};

TEST_F(CareCheckTest, AHealthyDirectoryHasNoFindings) {
  const auto report = *check_store(path_);
  EXPECT_THAT(lines_of(report), IsEmpty());
  EXPECT_FALSE(report.is_damaged);
  EXPECT_EQ(report.databases, 7);
  EXPECT_EQ(report.databases_without_checksums, 0);
  EXPECT_EQ(report.blocks, 3);
  EXPECT_EQ(report.raw_profiles, 7);
  EXPECT_GT(report.rows, 30);
  EXPECT_GE(report.segments, 3);
}

TEST_F(CareCheckTest, ShowsHowFarItIs) {
  uint64_t done = 0;
  std::vector<std::string> files;
  ASSERT_TRUE(check_store(path_, [&](const CareProgress& progress) {
    EXPECT_GE(progress.bytes_done, done);
    EXPECT_GT(progress.bytes_of_all, 0);
    done = progress.bytes_done;
    files.push_back(progress.file);
  }));
  EXPECT_GT(done, 10'000);
  EXPECT_THAT(files, Contains("blocks/000002/catalogue.db"));
}

TEST_F(CareCheckTest, MayRunBesideTheWriter) {
  const auto ingest = *Ingest::open(path_, {.block_limits = {.max_profiles = 3}});
  EXPECT_THAT(check(), IsEmpty());
  ASSERT_TRUE(ingest->accept(as_bytes(wire::encode(plimsoll::testing::care_profile(8))), {}));
  EXPECT_THAT(check(), IsEmpty()) << "it waits";
  ASSERT_TRUE(ingest->build_pending());
  EXPECT_THAT(check(), IsEmpty());
}

// What retention does: the oldest profiles go, in the archive and with their blocks, some of them earlier in one place than in another.
TEST_F(CareCheckTest, WhatWasDeletedByAgeIsNotMissing) {
  run_sql("archive.db", "DELETE FROM raw_profile WHERE sequence <= 4");
  EXPECT_THAT(check(), IsEmpty());
  run_sql("archive.db", "DELETE FROM ledger WHERE sequence IN (1, 3)");
  EXPECT_THAT(check(), IsEmpty());
  std::filesystem::remove_all(path_ + "/blocks/000001");
  EXPECT_THAT(check(), IsEmpty());
  run_sql("archive.db", "DELETE FROM raw_profile; DELETE FROM ledger");
  EXPECT_THAT(check(), IsEmpty());
}

// What is left where names that no frame uses any more have gone.
TEST_F(CareCheckTest, NamesNeedNotHaveAllIds) {
  run_sql("blocks/000001/catalogue.db",
          "INSERT INTO function (id, linkage_name, name) VALUES (1000, '', 'the last one'); "
          "INSERT INTO source_file (id, path) VALUES (1000, 'last.c')");
  EXPECT_THAT(check(), IsEmpty());
}

TEST_F(CareCheckTest, EveryKindOfDamageIsFound) {
  struct Damage {
    std::string file;
    std::string sql;
    std::string line;
  };
  const std::string first = "blocks/000001/catalogue.db";
  const std::vector<Damage> kinds = {
      {"archive.db", "DELETE FROM raw_profile WHERE sequence = 3",
       "1 profiles in the ledger lack their content"},
      {"archive.db", "DELETE FROM ledger WHERE sequence = 3",
       "refers to a row of table ledger that is not there"},
      {"archive.db", "DELETE FROM raw_profile WHERE sequence = 3; DELETE FROM ledger WHERE sequence = 3",
       "1 profiles that have rows are not in the ledger (first: number 3)"},
      {"archive.db",
       "DELETE FROM raw_profile WHERE sequence > 5; DELETE FROM ledger WHERE sequence > 5; "
       "UPDATE sqlite_sequence SET seq = 5",
       "it is older than the blocks: its newest profile is number 5, and theirs is 7"},
      {"archive.db", "INSERT INTO ledger (id, content_hash, received_ns) VALUES (x'00', x'00', 1)",
       "1 profiles in the ledger wait to become rows, and their content is missing"},
      {"archive.db",
       "UPDATE raw_profile SET encoded = (SELECT encoded FROM raw_profile WHERE sequence = 2) WHERE "
       "sequence = 3",
       "raw profile 3: its content is not what was accepted"},
      {"archive.db", "UPDATE ledger SET id = x'00112233445566778899aabbccddeeff' WHERE sequence = 4",
       "raw profile 4: it is profile"},
      {"archive.db", "UPDATE directory_identity SET directory = x'00'", "is of another data directory"},
      {first, "DELETE FROM origin_event WHERE origin = 1 AND event = 1",
       "1 events of profiles have other hits in the segments than they came with"},
      {first, "UPDATE origin_event SET hits = hits + 1", "have other hits in the segments"},
      {first, "DELETE FROM origin WHERE id = 2", "table origin has 2 entries with IDs from 1 to 3"},
      {first, "UPDATE origin SET machine = 99 WHERE id = 2",
       "refers to a row of table machine that is not there"},
      {first, "UPDATE origin SET archive_sequence = 90 WHERE id = 2", "out of the order of the archive"},
      {first, "UPDATE origin SET from_ns = from_ns - 1 WHERE id = 1", "the times that the block covers"},
      {first, "UPDATE block SET is_sealed = 0", "the block is not sealed, and there is a later one"},
      {first, "UPDATE stack SET parent = 1000 WHERE id = 2", "1 entries of table stack whose parent"},
      {first, "UPDATE stack SET location = 1000 WHERE id = 2", "1 entries of table stack whose location"},
      {first, "UPDATE location SET owner = 77 WHERE kind = 3", "entries of table location whose binary"},
      {first, "DELETE FROM function WHERE id = 2", "entries of table frame whose function is not there"},
      {first, "DELETE FROM source_file", "entries of table frame whose file is not there"},
      {first, "DELETE FROM binding", "entries of table frame whose location is not bound"},
      {first, "DELETE FROM event WHERE id = 2", "table event has"},
      {"blocks/000002/catalogue.db", "INSERT INTO unbuildable VALUES (1, 'why')",
       "have rows in an earlier block too"},
      {"blocks/000002/catalogue.db",
       "UPDATE origin SET profile_id = x'00112233445566778899aabbccddeeff' WHERE id = 2",
       "1 profiles have another ID than in the ledger (first: number 5)"},
      {"access.db",
       "DROP INDEX asked_for_last; PRAGMA writable_schema=1; UPDATE sqlite_schema SET rootpage = 2 WHERE "
       "name = 'served'",
       ""},
  };
  const std::string kept = folder_ / "kept";
  std::filesystem::copy(path_, kept, std::filesystem::copy_options::recursive);
  for (const Damage& damage : kinds) {
    SCOPED_TRACE(damage.sql);
    std::filesystem::remove_all(path_);
    std::filesystem::copy(kept, path_, std::filesystem::copy_options::recursive);
    run_sql(damage.file, damage.sql);
    const auto found = check();
    EXPECT_THAT(found, Contains(::testing::AllOf(StartsWith(damage.file + ": "), HasSubstr(damage.line))));
    EXPECT_TRUE(check_store(path_)->is_damaged);
  }
}

TEST_F(CareCheckTest, SegmentsThatAreMissingOrTooManyAreNamed) {
  const std::string segment = a_segment("000002");
  run_sql("blocks/000002/catalogue.db", "UPDATE segment SET rows = rows - 1");
  EXPECT_THAT(check(), Contains(::testing::AllOf(StartsWith("blocks/000002/segments/"),
                                                 HasSubstr("in the catalogue it has"))));
  run_sql("blocks/000002/catalogue.db", "UPDATE segment SET rows = rows + 1, from_ns = from_ns + 1");
  EXPECT_THAT(check(), Contains(HasSubstr("the times in the catalogue are not those")));
  run_sql("blocks/000002/catalogue.db", "UPDATE segment SET from_ns = from_ns - 1");
  EXPECT_THAT(check(), IsEmpty());
  std::filesystem::copy_file(path_ + "/" + segment, path_ + "/blocks/000002/segments/000000000099.rows");
  EXPECT_THAT(check(), Contains(StartsWith("blocks/000002/segments/000000000099.rows (note): no segment")));
  EXPECT_FALSE(check_store(path_)->is_damaged);
  std::filesystem::remove(path_ + "/" + segment);
  EXPECT_THAT(check(), Contains(StartsWith(segment + ": the file is missing")));
}

// As of two processes of a program, whose threads have one name.
TEST_F(CareCheckTest, RowsOfOneKeyAreCountedOnce) {
  {
    const auto ingest = *Ingest::open(path_);
    const auto profile =
        plimsoll::testing::make_profile({.seed = 100, .stacks = "main;f 1\nmain;f 2\nmain;g 3\n"});
    ASSERT_TRUE(ingest->accept(as_bytes(wire::encode(profile)), {}));
    ASSERT_TRUE(ingest->build_pending());
  }
  EXPECT_THAT(check(), IsEmpty());
  run_sql("blocks/000003/catalogue.db", "UPDATE segment SET rows = rows + 1 WHERE rows = 2");
  EXPECT_THAT(check(), ::testing::ElementsAre(HasSubstr("(note): it has 2 rows; in the catalogue it has 3")));
  EXPECT_FALSE(check_store(path_)->is_damaged) << "older versions have written so";
}

TEST_F(CareCheckTest, FilesThatAreMissingAreNamedAndTheRestIsLookedAt) {
  std::filesystem::remove(path_ + "/access.db");
  std::filesystem::remove(path_ + "/blocks/000002/catalogue.db");
  std::filesystem::remove_all(path_ + "/blocks/000001");
  const auto report = *check_store(path_);
  EXPECT_THAT(lines_of(report), Contains(HasSubstr("access.db is missing")));
  EXPECT_THAT(lines_of(report), Contains(HasSubstr("blocks/000002/catalogue.db is missing")));
  EXPECT_EQ(report.raw_profiles, 7);
  EXPECT_EQ(report.blocks, 2);
}

TEST_F(CareCheckTest, ADamagedSymbolTableIsNamed) {
  std::filesystem::create_directories(path_ + "/symtab/ab");
  write_bytes(path_ + "/symtab/ab/abcd.symtab", "no table");
  EXPECT_THAT(check(), Contains(StartsWith("symtab/ab/abcd.symtab: ")));
}

TEST_F(CareCheckTest, WhatIsNoDataDirectoryIsRefused) {
  EXPECT_EQ(check_store(folder_ / "missing").error().code, ErrorCode::kNotFound);
  for (const char* format : {"17\n", "6\n"}) {
    write_bytes(path_ + "/FORMAT", format);
    EXPECT_EQ(check_store(path_).error().code, ErrorCode::kUnsupported) << format;
  }
}

TEST_F(CareCheckTest, EveryBitFlipOfASegmentIsFoundAndNamed) {
  const std::string name = a_segment("000003");
  const std::string before = *read_file(path_ + "/" + name, 1 << 20);
  const size_t step = flips_wanted() > 100 ? 1 : 13;
  for (size_t bit = 0; bit < before.size() * 8; bit += step) {
    std::string damaged = before;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    write_bytes(path_ + "/" + name, damaged);
    const auto found = check();
    ASSERT_THAT(found, SizeIs(1)) << "bit " << bit;
    ASSERT_THAT(found, Each(StartsWith(name + ": "))) << "bit " << bit;
  }
}

// Of one at rest: bytes in a write-ahead log count when SQLite has recovered it.
TEST_F(CareCheckTest, EveryBitFlipOfADatabaseIsFoundOrChangesNothing) {
  std::mt19937_64 random(7);
  for (const std::string name : {"archive.db", "blocks/000003/catalogue.db", "live.db", "access.db"}) {
    SCOPED_TRACE(name);
    const std::string before = *read_file(path_ + "/" + name, 1 << 24);
    const auto expected = contents(name);
    ASSERT_TRUE(expected);
    const size_t flips = flips_wanted();
    size_t found = 0;
    for (size_t i = 0; i < flips; ++i) {
      const size_t byte = i < 30 ? i : random() % before.size();
      std::string damaged = before;
      damaged[byte] = static_cast<char>(damaged[byte] ^ (1 << (random() % 8)));
      write_bytes(path_ + "/" + name, damaged);
      const auto report = check_store(path_);
      ASSERT_TRUE(report) << report.error().text();
      if (report->is_damaged) {
        ASSERT_THAT(lines_of(*report), Contains(StartsWith(name + ": "))) << "byte " << byte;
        ++found;
      } else {
        ASSERT_EQ(contents(name).value_or("unreadable"), *expected) << "byte " << byte;
      }
    }
    EXPECT_GT(found, flips * 9 / 10);
    for (const char* suffix : {"-wal", "-shm"}) {
      std::filesystem::remove(path_ + "/" + name + suffix);
    }
    write_bytes(path_ + "/" + name, before);
  }
  EXPECT_THAT(check(), IsEmpty());
}

}  // namespace
}  // namespace plimsoll::store
