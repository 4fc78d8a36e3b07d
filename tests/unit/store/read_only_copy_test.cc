// Reading databases that lie where nothing can be written: on a read-only medium, or as another user's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>

#include "base/file.h"
#include "sqlite/database.h"
#include "tests/temporary_directory.h"

namespace plimsoll::store {
namespace {

using sqlite::Database;
using sqlite::OpenMode;

constexpr uid_t kNobody = 65534;

class ReadOnlyCopy : public ::testing::Test {
 protected:
  ReadOnlyCopy() {
    std::filesystem::permissions(folder_.path(), std::filesystem::perms(0755));
    std::filesystem::create_directory(live_);
    std::filesystem::create_directory(copy_);
  }
  ~ReadOnlyCopy() override {
    if (::getuid() == 0 && ::seteuid(0) != 0) {
      ADD_FAILURE() << "the tests after this one are not root";
    }
    std::filesystem::permissions(copy_, std::filesystem::perms(0700));
  }

  // A writer that has committed one row, and keeps the file open.
  Database writer_of(const std::string& path) {
    auto writer = Database::open(path, OpenMode::kReadWrite);
    EXPECT_TRUE(writer && writer->run("CREATE TABLE t (n); INSERT INTO t VALUES (1)"));
    return std::move(*writer);
  }

  // Takes away from this process what it takes to write the copy: modes, and being root.
  void forbid_writing() {
    for (const auto& file : std::filesystem::directory_iterator(copy_)) {
      std::filesystem::permissions(file.path(), std::filesystem::perms(0444));
    }
    std::filesystem::permissions(copy_, std::filesystem::perms(0555));
    ASSERT_TRUE(::getuid() != 0 || ::seteuid(kNobody) == 0);
    before_ = contents();
  }

  void copy(const std::string& suffix) {
    std::filesystem::copy_file(live_ + "/some.db" + suffix, path_ + suffix);
  }

  std::map<std::string, std::string> contents() const {
    std::map<std::string, std::string> contents;
    for (const auto& file : std::filesystem::directory_iterator(copy_)) {
      contents[file.path().filename()] = *read_file(file.path(), 1U << 24U);
    }
    return contents;
  }

  int64_t sum() {
    auto reader = Database::open(path_, OpenMode::kRead);
    EXPECT_TRUE(reader) << reader.error().text();
    const auto sum = reader ? reader->integer("SELECT sum(n) FROM t", -1) : -1;
    EXPECT_TRUE(sum) << sum.error().text();
    return sum.value_or(-1);
  }

  plimsoll::testing::TemporaryDirectory folder_;
  std::string live_ = folder_ / "live";
  std::string copy_ = folder_ / "co%20py? #1";  // characters that a URI escapes
  std::string path_ = copy_ + "/some.db";
  std::map<std::string, std::string> before_;
};

TEST_F(ReadOnlyCopy, OfWhatWasClosedIsRead) {
  {
    writer_of(live_ + "/some.db");
  }
  copy("");
  forbid_writing();
  EXPECT_EQ(sum(), 1);
  EXPECT_EQ(contents(), before_);
}

TEST_F(ReadOnlyCopy, IsReadWithWhatItsWalAloneHolds) {
  Database writer = writer_of(live_ + "/some.db");
  ASSERT_TRUE(writer.run("PRAGMA wal_checkpoint(TRUNCATE); INSERT INTO t VALUES (20)"));
  copy("");
  copy("-wal");
  forbid_writing();
  EXPECT_EQ(sum(), 21) << "the row of 20 is in the WAL";
  EXPECT_EQ(sum(), 21) << "closing the first reader has not removed it";
  EXPECT_EQ(contents(), before_);
}

TEST_F(ReadOnlyCopy, OfAllFilesOfAWriterThatRanIsRead) {
  Database writer = writer_of(live_ + "/some.db");
  ASSERT_TRUE(writer.run("PRAGMA wal_checkpoint(TRUNCATE); INSERT INTO t VALUES (20)"));
  copy("");
  copy("-wal");
  copy("-shm");
  forbid_writing();
  EXPECT_EQ(sum(), 21);
  EXPECT_EQ(contents(), before_);
}

TEST_F(ReadOnlyCopy, BesideAWriterSeesWhatItCommits) {
  Database writer = writer_of(path_);
  auto reader = [&] {
    forbid_writing();
    return Database::open(path_, OpenMode::kRead);
  }();
  ASSERT_TRUE(reader) << reader.error().text();
  EXPECT_EQ(*reader->integer("SELECT sum(n) FROM t", -1), 1);
  ASSERT_TRUE(writer.run("INSERT INTO t VALUES (20)"));
  EXPECT_EQ(*reader->integer("SELECT sum(n) FROM t", -1), 21);
}

TEST_F(ReadOnlyCopy, IsNotWritten) {
  {
    writer_of(path_);
  }
  forbid_writing();
  auto reader = Database::open(path_, OpenMode::kRead);
  ASSERT_TRUE(reader);
  EXPECT_FALSE(reader->run("INSERT INTO t VALUES (1)"));
  EXPECT_FALSE(Database::open(path_, OpenMode::kReadWrite));
}

}  // namespace
}  // namespace plimsoll::store
