// Pages of databases that are not what was written: found by whatever reads them.
#include "sqlite/page_checksums.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <filesystem>
#include <thread>

#include "base/file.h"
#include "sqlite/database.h"
#include "tests/temporary_directory.h"
#include "tests/unit/store/segment_fixture.h"

namespace plimsoll::sqlite {
namespace {

constexpr size_t kPageBytes = 4096;
constexpr const char* kSum = "SELECT coalesce(sum(weight), 0) + sum(length(name)) FROM entry";

class PageChecksumsTest : public ::testing::Test {
 protected:
  // Rows on several pages, in a table with an index, and one on pages of its own.
  void fill() {
    auto database = *Database::open(path_, OpenMode::kReadWrite);
    ASSERT_TRUE(
        database.run("CREATE TABLE entry (id INTEGER PRIMARY KEY, name TEXT UNIQUE, weight INTEGER)"));
    auto transaction = *Transaction::begin(database);
    for (int i = 0; i < 300; ++i) {
      ASSERT_TRUE(
          database.execute("INSERT INTO entry (name, weight) VALUES (?, ?)", fmt::format("entry {}", i), i));
    }
    ASSERT_TRUE(database.execute("INSERT INTO entry (name, weight) VALUES (?, 1)", std::string(20'000, 'x')));
    ASSERT_TRUE(transaction.commit());
  }

  // Of the sum, and of SQLite's own check.
  Result<std::string> read() const {
    auto database = Database::open(path_, OpenMode::kRead);
    const auto sum = database ? database->integer(kSum, 0) : propagate(database);
    std::string checked;
    const Status status =
        sum ? plimsoll::sqlite::for_each_row(database->query("PRAGMA integrity_check"),
                                             [&](const Statement& row) { checked += row.text(0); })
            : propagate(sum);
    return status ? Result<std::string>(fmt::format("{} {}", *sum, checked)) : propagate(status);
  }

  plimsoll::testing::TemporaryDirectory folder_;
  std::string path_ = folder_ / "some.db";
};

TEST_F(PageChecksumsTest, AreOnEveryPageOfANewDatabase) {
  fill();
  EXPECT_TRUE(*has_page_checksums(path_));
  EXPECT_EQ(*read(), "67441 ok");
}

// Without them one in a weight is an answer.
TEST_F(PageChecksumsTest, EveryFlippedBitIsFound) {
  fill();
  const std::string before = *read_file(path_, 1 << 20);
  ASSERT_GT(before.size(), 8 * kPageBytes);
  const std::string expected = *read();
  size_t flips = 0;
  for (size_t byte = 0; byte < before.size(); byte += byte < 128 ? 1 : 251) {
    for (int bit = byte < 128 ? 0 : static_cast<int>(byte % 8);
         bit < (byte < 128 ? 8 : static_cast<int>(byte % 8) + 1); ++bit) {
      std::string damaged = before;
      damaged[byte] = static_cast<char>(damaged[byte] ^ (1 << bit));
      plimsoll::store::write_bytes(path_, damaged);
      const auto answer = read();
      ASSERT_TRUE(!answer || *answer != expected) << "byte " << byte << ", bit " << bit;
      if (!answer) {
        ASSERT_THAT(answer.error().text(), ::testing::HasSubstr(path_));
      }
      ++flips;
    }
  }
  EXPECT_GT(flips, 1100);
}

TEST_F(PageChecksumsTest, APageInThePlaceOfAnotherIsFound) {
  fill();
  std::string damaged = *read_file(path_, 1 << 20);
  const std::string page = damaged.substr(3 * kPageBytes, kPageBytes);
  damaged.replace(4 * kPageBytes, kPageBytes, page);
  plimsoll::store::write_bytes(path_, damaged);
  const auto answer = read();
  EXPECT_TRUE(!answer || !answer->ends_with(" ok"));
}

// The copy has what the original lacks.
TEST_F(PageChecksumsTest, ADatabaseOfAnOlderVersionStaysAsItIs) {
  fill();
  const std::string expected = *read();
  {
    auto database = *Database::open(path_, OpenMode::kReadWrite);
    ASSERT_TRUE(database.run("PRAGMA journal_mode=DELETE"));
  }
  std::string old = *read_file(path_, 1 << 20);
  old[20] = 0;  // its reserved bytes: the pages say nothing of them where they are empty
  for (size_t page = 0; page < old.size() / kPageBytes; ++page) {
    old.replace((page + 1) * kPageBytes - kPageChecksumBytes, kPageChecksumBytes,
                std::string(kPageChecksumBytes, '\0'));
  }
  plimsoll::store::write_bytes(path_, old);
  EXPECT_FALSE(*has_page_checksums(path_));
  auto database = *Database::open(path_, OpenMode::kReadWrite);
  ASSERT_TRUE(database.run("CREATE TABLE more (id INTEGER PRIMARY KEY); INSERT INTO more VALUES (7);"));
  EXPECT_EQ(*database.integer("SELECT id FROM more", 0), 7);
  EXPECT_FALSE(*has_page_checksums(path_));
}

// Larger than what SQLite keeps of a copy in memory, and its newest pages in a log: with checksums and without.
TEST_F(PageChecksumsTest, ACopyOfALargeDatabaseThatIsBeingWrittenIsWhole) {
  for (const bool has_checksums : {true, false}) {
    const std::string path = folder_ / (has_checksums ? "with.db" : "without.db");
    if (!has_checksums) {
      // As SQLite by itself makes one.
      sqlite3* connection = nullptr;
      ASSERT_EQ(::sqlite3_open(path.c_str(), &connection), SQLITE_OK);
      ASSERT_EQ(::sqlite3_exec(connection, "PRAGMA journal_mode=WAL; CREATE TABLE first (id INTEGER)",
                               nullptr, nullptr, nullptr),
                SQLITE_OK);
      ::sqlite3_close(connection);
    }
    auto database = *Database::open(path, OpenMode::kReadWrite);
    ASSERT_EQ(*has_page_checksums(path), has_checksums);
    ASSERT_TRUE(database.run("CREATE TABLE entry (id BLOB UNIQUE, content BLOB)"));
    const auto add = [&](int rows) {
      ASSERT_TRUE(database.run(
          fmt::format("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {}) "
                      "INSERT INTO entry SELECT randomblob(16), randomblob(3000) FROM n",
                      rows)));
    };
    add(3000);
    ASSERT_TRUE(database.run("PRAGMA wal_checkpoint(TRUNCATE); PRAGMA wal_autocheckpoint=0"));
    add(1000);
    const std::string sum = "SELECT sum(length(content)) + 1000000000 * count(*) FROM entry";
    const int64_t expected = *database.integer(sum, 0);
    const std::string copied = path + ".copy";
    {
      auto reader = *Database::open(path, OpenMode::kRead);
      const auto transaction = *Transaction::begin_read(reader);
      int steps = 0;
      const Status made = reader.copy_to(copied, [&](uint64_t) {
        if (++steps < 100) {
          add(1);
        }
      });
      ASSERT_TRUE(made) << made.error().text();
      EXPECT_GT(steps, 5);
    }
    auto copy = *Database::open(copied, OpenMode::kRead);
    EXPECT_EQ(*copy.integer(sum, 0), expected) << "as it was when the copy began";
    std::string checked;
    ASSERT_TRUE(plimsoll::sqlite::for_each_row(copy.query("PRAGMA integrity_check"),
                                               [&](const Statement& row) { checked += row.text(0); }));
    EXPECT_EQ(checked, "ok");
    EXPECT_EQ(*has_page_checksums(copied), has_checksums);
  }
}

// Each writes and checkpoints, whoever made the file.
TEST_F(PageChecksumsTest, SeveralConnectionsWriteThem) {
  constexpr int kThreads = 3;
  // SQLite does not wait where two connections make a new file one with a write-ahead log.
  ASSERT_TRUE(Database::open(path_, OpenMode::kReadWrite));
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      auto database = Database::open(path_, OpenMode::kReadWrite);
      ASSERT_TRUE(database) << database.error().text();
      ASSERT_TRUE(
          database->run("CREATE TABLE IF NOT EXISTS entry (id INTEGER PRIMARY KEY, name TEXT UNIQUE, "
                        "weight INTEGER)"));
      for (int i = 0; i < 100; ++i) {
        const Status written = database->execute("INSERT INTO entry (name, weight) VALUES (?, 1)",
                                                 fmt::format("{} {} {}", thread, i, std::string(500, 'x')));
        ASSERT_TRUE(written) << written.error().text();
        if (i % 10 == thread) {
          ASSERT_TRUE(database->run("PRAGMA wal_checkpoint(TRUNCATE)"));
        }
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_TRUE(*has_page_checksums(path_));
  EXPECT_THAT(*read(), ::testing::EndsWith(" ok"));
}

}  // namespace
}  // namespace plimsoll::sqlite
