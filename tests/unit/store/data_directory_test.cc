#include "store/directory/data_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "base/file.h"
#include "base/host_name.h"
#include "store/identity/directory_identity.h"
#include "tests/temporary_directory.h"
#include "tests/unit/store/segment_fixture.h"

namespace plimsoll::store {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class DataDirectoryTest : public ::testing::Test {
 protected:
  plimsoll::testing::TemporaryDirectory folder_;
  std::string path_ = folder_ / "deep/data";
};

TEST_F(DataDirectoryTest, IsCreatedWithItsVersion) {
  const auto directory = DataDirectory::open_for_writing(path_);
  ASSERT_TRUE(directory) << directory.error().text();
  EXPECT_EQ(*read_file(path_ + "/FORMAT", 10), "10\n");
  EXPECT_TRUE(std::filesystem::is_directory(directory->blocks_path() + "/000001/segments"));
  EXPECT_EQ(*read_file(path_ + "/lock", 512), fmt::format("{}\n{}\n", ::getpid(), host_name()));
}

TEST_F(DataDirectoryTest, IsForNobodyElse) {
  const std::string path = folder_ / "made/here";
  ASSERT_TRUE(DataDirectory::open_for_writing(path));
  EXPECT_EQ(std::filesystem::status(path).permissions(), std::filesystem::perms::owner_all);
  std::filesystem::permissions(path, std::filesystem::perms::group_read, std::filesystem::perm_options::add);
  ASSERT_TRUE(DataDirectory::open_for_writing(path));
  EXPECT_NE(std::filesystem::status(path).permissions(), std::filesystem::perms::owner_all)
      << "somebody meant it";
}

TEST_F(DataDirectoryTest, AFolderOfOtherFilesIsRefusedAndLeftAlone) {
  const std::string path = folder_ / "home";
  std::filesystem::create_directories(path + "/lost+found");
  EXPECT_TRUE(DataDirectory::check(path));
  write_bytes(path + "/letter.txt", "of mine");
  for (const Status& refused : {DataDirectory::check(path), [&]() -> Status {
                                  const auto opened = DataDirectory::open_for_writing(path);
                                  return opened ? Status() : propagate(opened);
                                }()}) {
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalid);
    EXPECT_THAT(refused.error().text(), AllOf(HasSubstr(path), HasSubstr("letter.txt"), HasSubstr("--data")));
  }
  EXPECT_FALSE(std::filesystem::exists(path + "/blocks"));
  EXPECT_FALSE(std::filesystem::exists(path + "/lock"));
}

TEST_F(DataDirectoryTest, OneThatNobodyFinishedMakingIsFinished) {
  ASSERT_TRUE(DataDirectory::open_for_writing(path_));
  // The databases beside the blocks are made when FORMAT has its name.
  for (const char* file : {"archive.db", "live.db", "identity"}) {
    std::filesystem::remove(path_ + "/" + file);
  }
  ASSERT_TRUE(sqlite::Database::open(path_ + "/blocks/000001/catalogue.db", sqlite::OpenMode::kReadWrite)
                  ->run("DROP TABLE directory_identity"));
  ASSERT_TRUE(write_identity(path_, make_identity()));
  std::filesystem::rename(path_ + "/FORMAT", path_ + "/FORMAT.4711.tmp");
  EXPECT_TRUE(DataDirectory::check(path_));
  EXPECT_TRUE(DataDirectory::open_for_writing(path_));
  EXPECT_TRUE(std::filesystem::exists(path_ + "/FORMAT"));
}

TEST_F(DataDirectoryTest, ASecondWriterIsToldWhoWrites) {
  const auto first = DataDirectory::open_for_writing(path_);
  const auto second = DataDirectory::open_for_writing(path_);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kConflict);
  EXPECT_THAT(second.error().message,
              AllOf(HasSubstr(path_), HasSubstr(fmt::format("process {}", ::getpid()))));
  EXPECT_THAT(second.error().hint, HasSubstr("--server"));
}

TEST_F(DataDirectoryTest, TheLockEndsWithItsHolder) {
  {
    ASSERT_TRUE(DataDirectory::open_for_writing(path_));
  }
  EXPECT_TRUE(DataDirectory::open_for_writing(path_));
}

TEST_F(DataDirectoryTest, ReadersNeedNoLock) {
  const auto writer = DataDirectory::open_for_writing(path_);
  const auto reader = DataDirectory::open_for_reading(path_);
  ASSERT_TRUE(reader) << reader.error().text();
  EXPECT_EQ(reader->path(), path_);
  EXPECT_TRUE(DataDirectory::open_for_reading(path_));
}

TEST_F(DataDirectoryTest, ANewerFormatIsLeftAlone) {
  ASSERT_TRUE(DataDirectory::open_for_writing(path_));
  write_bytes(path_ + "/FORMAT", "17\n");
  for (const auto open : {&DataDirectory::open_for_writing, &DataDirectory::open_for_reading}) {
    const auto refused = open(path_);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
    EXPECT_THAT(refused.error().message, AllOf(HasSubstr("format 17"), HasSubstr("writes 10")));
  }
  EXPECT_EQ(*read_file(path_ + "/FORMAT", 10), "17\n");
}

TEST_F(DataDirectoryTest, AnOlderFormatIsConvertedByAWriterAndRefusedToReaders) {
  for (const std::string_view format : {"2\n", "3\n", "4\n", "5\n", "6\n"}) {
    ASSERT_TRUE(DataDirectory::open_for_writing(path_));
    std::filesystem::remove_all(path_ + "/blocks");
    write_bytes(path_ + "/FORMAT", format);
    const auto refused = DataDirectory::open_for_reading(path_);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
    EXPECT_THAT(refused.error().hint, HasSubstr("plimsoll import"));
    ASSERT_TRUE(DataDirectory::open_for_writing(path_));
    EXPECT_EQ(*read_file(path_ + "/FORMAT", 10), "10\n");
    EXPECT_TRUE(DataDirectory::open_for_reading(path_));
  }
}

// Format 10 has names of blocks that a program of format 9 would pass over; nothing else is different.
TEST_F(DataDirectoryTest, Format9IsReadAsItIsAndTakenOverByAWriter) {
  ASSERT_TRUE(DataDirectory::open_for_writing(path_));
  write_bytes(path_ + "/FORMAT", "9\n");
  EXPECT_TRUE(DataDirectory::open_for_reading(path_));
  EXPECT_EQ(*read_file(path_ + "/FORMAT", 10), "9\n");
  ASSERT_TRUE(DataDirectory::open_for_writing(path_));
  EXPECT_EQ(*read_file(path_ + "/FORMAT", 10), "10\n");
}

TEST_F(DataDirectoryTest, OfFormat2OnlyTheArchiveIsKept) {
  ASSERT_TRUE(DataDirectory::open_for_writing(path_));
  std::filesystem::remove_all(path_ + "/blocks");
  write_bytes(path_ + "/FORMAT", "2\n");
  for (const char* file : {"/catalogue.db", "/catalogue.db-wal"}) {
    write_bytes(path_ + file, "of format 2");
  }
  constexpr const char* kInsert =
      "INSERT INTO ledger (sequence, id, content_hash, received_ns) VALUES (1, x'01', x'02', 3)";
  const auto archive = [&](const char* sql) {
    return sqlite::Database::open(path_ + "/archive.db", sqlite::OpenMode::kReadWrite)->run(sql);
  };
  ASSERT_TRUE(archive(kInsert));
  ASSERT_TRUE(DataDirectory::open_for_writing(path_));
  EXPECT_FALSE(std::filesystem::exists(path_ + "/catalogue.db"));  // derived
  EXPECT_FALSE(std::filesystem::exists(path_ + "/catalogue.db-wal"));
  EXPECT_FALSE(archive(kInsert)) << "the profile is there still";
}

TEST_F(DataDirectoryTest, ADamagedCatalogueIsNotCalledConverted) {
  ASSERT_TRUE(DataDirectory::open_for_writing(path_));
  std::filesystem::remove_all(path_ + "/blocks");
  write_bytes(path_ + "/FORMAT", "3\n");
  write_bytes(path_ + "/catalogue.db", std::string(8192, 'x'));
  const auto refused = DataDirectory::open_for_writing(path_);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().text(), HasSubstr("catalogue.db"));
  EXPECT_EQ(*read_file(path_ + "/FORMAT", 10), "3\n");
}

TEST_F(DataDirectoryTest, AFormatBeforeTheArchivesIsLeftAlone) {
  ASSERT_TRUE(DataDirectory::open_for_writing(path_));
  write_bytes(path_ + "/FORMAT", "1\n");
  write_bytes(path_ + "/catalogue.db", "of format 1");
  for (const auto open : {&DataDirectory::open_for_writing, &DataDirectory::open_for_reading}) {
    EXPECT_EQ(open(path_).error().code, ErrorCode::kUnsupported);
  }
  EXPECT_TRUE(std::filesystem::exists(path_ + "/catalogue.db"));
}

TEST_F(DataDirectoryTest, ADamagedFormatIsNotGuessed) {
  ASSERT_TRUE(DataDirectory::open_for_writing(path_));
  write_bytes(path_ + "/FORMAT", "one\n");
  EXPECT_EQ(DataDirectory::open_for_writing(path_).error().code, ErrorCode::kCorrupt);
}

TEST_F(DataDirectoryTest, ReadingWhatIsNoDataDirectorySaysSo) {
  for (const std::string& path : {folder_.path(), folder_ / "missing"}) {
    const auto refused = DataDirectory::open_for_reading(path);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kNotFound);
    EXPECT_THAT(refused.error().message, HasSubstr(path + " is not a Plimsoll data directory"));
    EXPECT_FALSE(std::filesystem::exists(path + "/FORMAT"));
  }
}

TEST_F(DataDirectoryTest, AFileInTheWayFailsWithTheReason) {
  write_bytes(folder_ / "file", "x");
  const auto refused = DataDirectory::open_for_writing(folder_ / "file");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("Not a directory"));
  EXPECT_THAT(refused.error().hint, HasSubstr("--data"));
}

}  // namespace
}  // namespace plimsoll::store
