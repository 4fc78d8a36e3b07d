// The databases of a data directory are bound to each other: one that is missing, of another directory, or older than another is an
// error that names it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.h"
#include "base/hex.h"
#include "proto/profile_codec.h"
#include "store/access/access_store.h"
#include "store/draws/draw_store.h"
#include "store/identity/bound_database.h"
#include "store/identity/listed_database.h"
#include "store/ingest.h"
#include "store/live/live_machines.h"
#include "store/store_health.h"
#include "tests/profile_fixture.h"
#include "tests/temporary_directory.h"
#include "tests/unit/store/segment_fixture.h"

namespace plimsoll::store {
namespace {

using plimsoll::testing::make_profile;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class DirectoryIdentityTest : public ::testing::Test {
 protected:
  // Profiles from `first` to `last`, two in a block, and the databases that a server makes.
  static void fill(const std::string& path, uint64_t first, uint64_t last) {
    auto ingest = Ingest::open(path, {.block_limits = {.max_profiles = 2}});
    ASSERT_TRUE(ingest) << ingest.error().text();
    ASSERT_TRUE((*ingest)->directory().open_draws());
    ASSERT_TRUE((*ingest)->directory().open_access());
    for (uint64_t seed = first; seed <= last; ++seed) {
      const auto profile = make_profile({.seed = seed, .stacks = "main;work 3\n"});
      ASSERT_TRUE((*ingest)->accept(as_bytes(wire::encode(profile)), {}));
    }
    while ((*ingest)->build_pending()->profiles > 0) {
    }
  }

  static Status opened(const std::string& path) {
    const auto ingest = Ingest::open(path);
    return ingest ? Status() : propagate(ingest);
  }

  static void expect_error(const Status& status, const std::vector<std::string>& parts) {
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, ErrorCode::kCorrupt);
    for (const std::string& part : parts) {
      EXPECT_THAT(status.error().text(), HasSubstr(part));
    }
  }

  static void remove_database(const std::string& path) {
    for (const char* suffix : {"", "-wal", "-shm"}) {
      std::filesystem::remove(path + suffix);
    }
  }

  static void copy(const std::string& from, const std::string& to) {
    remove_database(to);
    std::filesystem::copy_file(from, to);
  }

  static Result<std::string> id_of(const std::string& path) {
    auto database = sqlite::Database::open(path, sqlite::OpenMode::kRead);
    return database ? directory_id_of(*database) : propagate(database);
  }

  // As an older program left it: without an ID anywhere.
  static void make_format_7(const std::string& path) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path)) {
      if (entry.path().extension() == ".db") {
        ASSERT_TRUE(sqlite::Database::open(entry.path(), sqlite::OpenMode::kReadWrite)
                        ->run("DROP TABLE directory_identity"));
      }
    }
    std::filesystem::remove(path + "/identity");
    write_bytes(path + "/FORMAT", "7\n");
  }

  static void expect_bound(const std::string& path) {
    const auto identity = read_identity(path);
    ASSERT_TRUE(identity && identity->is_there());
    EXPECT_THAT(identity->databases, ElementsAre("archive.db", "live.db", "draws.db", "access.db"));
    for (const char* name : {"archive.db", "live.db", "draws.db", "access.db", "blocks/000001/catalogue.db",
                             "blocks/000002/catalogue.db"}) {
      EXPECT_EQ(to_hex(*id_of(path + "/" + name)), to_hex(identity->id)) << name;
    }
    EXPECT_EQ(*read_file(path + "/FORMAT", 10), "10\n");
  }

  plimsoll::testing::TemporaryDirectory folder_;
  std::string path_ = folder_ / "data";
};

TEST_F(DirectoryIdentityTest, IsInEveryDatabase) {
  fill(path_, 1, 3);
  expect_bound(path_);
  const auto other = folder_ / "other";
  fill(other, 1, 3);
  EXPECT_NE(read_identity(path_)->id, read_identity(other)->id);
}

TEST_F(DirectoryIdentityTest, ADatabaseThatIsMissingIsNamedAndNotMade) {
  fill(path_, 1, 3);
  const std::vector<std::pair<std::string, std::string>> losses = {
      {"archive.db", "would never become rows"},
      {"live.db", "know no machine"},
      {"draws.db", "lift all stops"},
      {"access.db", "let revoked machines register again"},
      {"blocks/000002/catalogue.db", "segments"}};
  for (const auto& [name, loss] : losses) {
    SCOPED_TRACE(name);
    const std::string kept = folder_ / "kept.db";
    copy(path_ + "/" + name, kept);
    remove_database(path_ + "/" + name);
    expect_error(opened(path_), {path_ + "/" + name + " is missing", loss, "plimsoll store restore"});
    EXPECT_FALSE(std::filesystem::exists(path_ + "/" + name));
    copy(kept, path_ + "/" + name);
    ASSERT_TRUE(opened(path_));
  }
}

TEST_F(DirectoryIdentityTest, ADatabaseOfAnotherDirectoryIsNamed) {
  fill(path_, 1, 3);
  const std::string other = folder_ / "other";
  fill(other, 1, 5);
  for (const char* name : {"archive.db", "live.db", "draws.db", "access.db", "blocks/000001/catalogue.db",
                           "blocks/000002/catalogue.db"}) {
    SCOPED_TRACE(name);
    const std::string kept = folder_ / "kept.db";
    copy(path_ + "/" + name, kept);
    copy(other + "/" + name, path_ + "/" + name);
    expect_error(opened(path_), {path_ + "/" + name + " is of another data directory",
                                 to_hex(read_identity(other)->id), to_hex(read_identity(path_)->id)});
    copy(kept, path_ + "/" + name);
    ASSERT_TRUE(opened(path_));
  }
}

TEST_F(DirectoryIdentityTest, AnArchiveThatIsOlderThanTheBlocksIsAnError) {
  fill(path_, 1, 3);
  copy(path_ + "/archive.db", folder_ / "old.db");
  fill(path_, 4, 6);
  copy(folder_ / "old.db", path_ + "/archive.db");
  expect_error(opened(path_),
               {"archive.db is older than the blocks", "number 3", "block 000003", "number 6"});
  const auto meter = StoreHealthMeter::open(path_);
  expect_error(meter ? Status() : propagate(meter), {"archive.db is older than the blocks"});
}

// What was deleted by age leaves the numbers that it had.
TEST_F(DirectoryIdentityTest, AnArchiveWithoutItsOldProfilesIsNotOlder) {
  fill(path_, 1, 3);
  ASSERT_TRUE(sqlite::Database::open(path_ + "/archive.db", sqlite::OpenMode::kReadWrite)
                  ->run("DELETE FROM raw_profile; DELETE FROM ledger;"));
  EXPECT_TRUE(opened(path_));
}

TEST_F(DirectoryIdentityTest, WhatWasNeverMadeIsNotMissing) {
  ASSERT_TRUE(opened(path_));
  EXPECT_THAT(read_identity(path_)->databases, ElementsAre("archive.db", "live.db"));
  EXPECT_FALSE(AccessStore::open_if_there(path_ + "/access.db")->has_value());
  EXPECT_FALSE(DrawStore::open_if_there(path_ + "/draws.db")->has_value());
  ASSERT_TRUE(opened(path_));
}

TEST_F(DirectoryIdentityTest, ReadersGetTheSameErrors) {
  fill(path_, 1, 3);
  const std::string kept = folder_ / "kept";
  std::filesystem::copy(path_, kept, std::filesystem::copy_options::recursive);
  for (const char* name : {"archive.db", "live.db", "draws.db", "access.db", "blocks/000002/catalogue.db"}) {
    remove_database(path_ + "/" + name);
  }
  const auto status_of = [](const auto& result) { return result ? Status() : propagate(result); };
  expect_error(status_of(DataDirectory::open_for_reading(path_)), {"blocks/000002/catalogue.db is missing"});
  copy(kept + "/blocks/000002/catalogue.db", path_ + "/blocks/000002/catalogue.db");
  const auto directory = DataDirectory::open_for_reading(path_);
  ASSERT_TRUE(directory) << directory.error().text();
  expect_error(status_of(directory->open_archive()), {"archive.db is missing"});
  expect_error(status_of(LiveMachines::open_if_there(path_ + "/live.db")), {"live.db is missing"});
  expect_error(status_of(DrawStore::open_if_there(path_ + "/draws.db")), {"draws.db is missing"});
  expect_error(status_of(AccessStore::open_if_there(path_ + "/access.db")), {"access.db is missing"});
}

TEST_F(DirectoryIdentityTest, AMissingOrDamagedIdentityIsNamed) {
  fill(path_, 1, 3);
  const std::string text = *read_file(identity_path(path_), 1000);
  std::filesystem::remove(identity_path(path_));
  expect_error(opened(path_), {identity_path(path_) + " is missing"});
  for (size_t bit = 0; bit < text.size() * 8; ++bit) {
    std::string damaged = text;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    write_bytes(identity_path(path_), damaged);
    const auto read = read_identity(path_);
    ASSERT_FALSE(read) << "bit " << bit;
    ASSERT_THAT(read.error().text(), HasSubstr(identity_path(path_)));
  }
}

TEST_F(DirectoryIdentityTest, KeepsWhereRowsAreAndHowManyReplicasMustHaveThem) {
  std::filesystem::create_directory(path_);
  DirectoryIdentity identity = make_identity();
  for (const int64_t quorum : {0, 2, 16}) {
    identity.rows = {.address = "clickhouse://a,b/p", .password_file = "/etc/p", .insert_quorum = quorum};
    const Status written = write_identity(path_, identity);
    ASSERT_TRUE(written) << written.error().text();
    const auto read = read_identity(path_);
    ASSERT_TRUE(read) << read.error().text();
    EXPECT_EQ(read->rows, identity.rows);
  }
}

TEST_F(DirectoryIdentityTest, KeepsTheShardsOfTheRowsInTheirOrder) {
  std::filesystem::create_directory(path_);
  DirectoryIdentity identity = make_identity();
  identity.rows = {.address = "clickhouse://a/p", .shards = {"clickhouse://c/p", "clickhouse://b/p"}};
  Status written = write_identity(path_, identity);
  ASSERT_TRUE(written) << written.error().text();
  const auto read = read_identity(path_);
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->rows, identity.rows);
  identity.rows.shards.back() = "clickhouse://b/p\ndatabase other.db";
  written = write_identity(path_, identity);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::kInvalid);
}

TEST_F(DirectoryIdentityTest, ALostFormatIsNotTakenForANewDirectory) {
  fill(path_, 1, 3);
  std::filesystem::remove(path_ + "/FORMAT");
  const Status refused = opened(path_);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().text(), HasSubstr("copy FORMAT from a backup"));
}

TEST_F(DirectoryIdentityTest, ADirectoryOfFormat7GetsOne) {
  fill(path_, 1, 3);
  make_format_7(path_);
  EXPECT_TRUE(DataDirectory::open_for_reading(path_)) << "a reader needs none";
  ASSERT_TRUE(opened(path_));
  expect_bound(path_);
}

TEST_F(DirectoryIdentityTest, ADirectoryOfFormat7WithoutItsArchiveGetsNone) {
  fill(path_, 1, 3);
  make_format_7(path_);
  remove_database(path_ + "/archive.db");
  expect_error(opened(path_), {"archive.db is missing"});
  EXPECT_FALSE(std::filesystem::exists(path_ + "/archive.db"));
  EXPECT_EQ(*read_file(path_ + "/FORMAT", 10), "7\n");
}

// Each state that a crash may leave between the steps.
TEST_F(DirectoryIdentityTest, GivingItGoesOnAfterACrash) {
  fill(path_, 1, 3);
  make_format_7(path_);
  const std::string old = folder_ / "old";
  std::filesystem::rename(path_, old);
  const std::vector<std::string> steps = {"archive.db",
                                          "live.db",
                                          "draws.db",
                                          "access.db",
                                          "blocks/000001/catalogue.db",
                                          "blocks/000002/catalogue.db"};
  for (size_t done = 0; done <= steps.size() + 1; ++done) {
    SCOPED_TRACE(done);
    std::filesystem::remove_all(path_);
    std::filesystem::copy(old, path_, std::filesystem::copy_options::recursive);
    DirectoryIdentity identity = make_identity();
    for (size_t step = 0; step < std::min(done, steps.size()); ++step) {
      auto database = *sqlite::Database::open(path_ + "/" + steps[step], sqlite::OpenMode::kReadWrite);
      ASSERT_TRUE(give_directory_id(database, identity.id));
    }
    if (done > steps.size()) {
      identity.databases = {"archive.db", "live.db", "draws.db", "access.db"};
    }
    ASSERT_TRUE(write_identity(path_, identity));
    ASSERT_TRUE(DataDirectory::open_for_reading(path_));
    ASSERT_TRUE(opened(path_));
    expect_bound(path_);
    EXPECT_EQ(read_identity(path_)->id, identity.id);
  }
}

TEST_F(DirectoryIdentityTest, ADatabaseThatIsMadeLaterIsOfOneDirectory) {
  constexpr const char* kSchema = "CREATE TABLE IF NOT EXISTS note (text TEXT NOT NULL)";
  const std::string path = folder_ / "notes.db";
  const DirectoryIdentity own = make_identity();
  for (int opening = 1; opening <= 2; ++opening) {
    auto database = open_bound_database(path, kSchema, own.id);
    ASSERT_TRUE(database) << database.error().text();
    EXPECT_EQ(directory_id_of(*database).value_or(""), own.id);
    ASSERT_TRUE(database->execute("INSERT INTO note VALUES ('kept')"));
    EXPECT_EQ(database->integer("SELECT count(*) FROM note", 0), opening);
  }
  const auto foreign = open_bound_database(path, kSchema, make_identity().id);
  ASSERT_FALSE(foreign);
  EXPECT_EQ(foreign.error().code, ErrorCode::kConflict);
  EXPECT_THAT(foreign.error().text(), HasSubstr("making " + path));
}

TEST_F(DirectoryIdentityTest, ALostDatabaseIsMadeAgainOnlyOnRequest) {
  fill(path_, 1, 3);
  for (const char* name : {"archive.db", "live.db", "draws.db", "access.db"}) {
    SCOPED_TRACE(name);
    EXPECT_EQ(DataDirectory::forget(path_, name).error().code, ErrorCode::kConflict) << "it is there";
    remove_database(path_ + "/" + name);
    expect_error(opened(path_), {std::string("--forget ") + name});
    const Status done = DataDirectory::forget(path_, name);
    ASSERT_TRUE(done) << done.error().text();
    expect_bound(path_);
    ASSERT_TRUE(opened(path_));
  }
  EXPECT_EQ(DataDirectory::forget(path_, "blocks/000001/catalogue.db").error().code, ErrorCode::kInvalid);
  // New profiles become rows, though the archive has begun again.
  fill(path_, 4, 5);
  const auto health = StoreHealthMeter::open(path_)->measure();
  ASSERT_TRUE(health) << health.error().text();
  EXPECT_EQ(health->profiles_accepted, 5);
  EXPECT_EQ(health->profiles_pending, 0);
  const auto writer = DataDirectory::open_for_writing(path_);
  remove_database(path_ + "/live.db");
  EXPECT_EQ(DataDirectory::forget(path_, "live.db").error().code, ErrorCode::kConflict) << "it is in use";
}

// A server made draws.db, and ended before it was listed.
TEST_F(DirectoryIdentityTest, ADatabaseThatWasJustMadeIsListedByTheNextWriter) {
  ASSERT_TRUE(opened(path_));
  ASSERT_TRUE(DrawStore::open(path_ + "/draws.db", sqlite::OpenMode::kReadWrite));
  ASSERT_TRUE(opened(path_));
  EXPECT_TRUE(read_identity(path_)->lists("draws.db"));
  remove_database(path_ + "/draws.db");
  expect_error(opened(path_), {"draws.db is missing"});
}

// It is a copy, beside rows that may be newer.
TEST_F(DirectoryIdentityTest, KeepsThatItWasRestoredWhereRowsAreElsewhere) {
  std::filesystem::create_directory(path_);
  DirectoryIdentity identity = make_identity();
  ASSERT_TRUE(write_identity(path_, identity));
  ASSERT_TRUE(note_restored(path_));
  EXPECT_EQ(*read_identity(path_), identity) << "its rows are in it";
  identity.rows.address = "clickhouse://a/p";
  ASSERT_TRUE(write_identity(path_, identity));
  EXPECT_FALSE(read_identity(path_)->is_restored);
  for (int time = 1; time <= 2; ++time) {
    ASSERT_TRUE(note_restored(path_));
    const auto read = read_identity(path_);
    ASSERT_TRUE(read) << read.error().text();
    EXPECT_TRUE(read->is_restored);
    EXPECT_EQ(read->rows, identity.rows);
    EXPECT_EQ(read->id, identity.id);
  }
}

TEST_F(DirectoryIdentityTest, AnArchiveThatIsMadeAgainBesideOtherRowsIsACopy) {
  fill(path_, 1, 1);
  DirectoryIdentity identity = *read_identity(path_);
  identity.rows.address = "clickhouse://a/p";
  ASSERT_TRUE(write_identity(path_, identity));
  remove_database(path_ + "/archive.db");
  const Status made = DataDirectory::forget(path_, "archive.db");
  ASSERT_TRUE(made) << made.error().text();
  EXPECT_TRUE(read_identity(path_)->is_restored) << "it does not know the numbers of the rows";
}

}  // namespace
}  // namespace plimsoll::store
