#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "base/byte_reader.h"
#include "base/checksum.h"
#include "base/durable_file.h"
#include "base/fair_mutex.h"
#include "base/file.h"
#include "base/hex.h"
#include "base/host_name.h"
#include "base/lock_file.h"
#include "base/suggest.h"
#include "base/unique_fd.h"

namespace plimsoll {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(FairMutex, IsHeldByOneThreadAtATime) {
  constexpr int kThreads = 4;
  constexpr int kTurns = 5'000;
  FairMutex mutex;
  int turns = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&] {
        for (int turn = 0; turn < kTurns; ++turn) {
          const std::lock_guard lock(mutex);
          ++turns;
        }
      });
    }
  }
  EXPECT_EQ(turns, kThreads * kTurns);
}

TEST(ByteReader, ReadsInOrderAndFailsPastTheEnd) {
  ByteReader reader(as_bytes(std::string_view("\x01\x02\x03name\0rest", 12)));
  EXPECT_EQ(reader.read<uint8_t>(), 1);
  EXPECT_EQ(reader.read<uint16_t>(), 0x0302);
  EXPECT_EQ(reader.c_string(), "name");
  EXPECT_EQ(as_text(reader.bytes(4)), "rest");
  EXPECT_TRUE(reader.ok());
  EXPECT_EQ(reader.read<uint64_t>(), 0);
  EXPECT_FALSE(reader.ok());
}

TEST(ByteReader, StaysFailedAndNeverWraps) {
  ByteReader reader(as_bytes("abc"));
  EXPECT_THAT(reader.bytes(UINT64_MAX), IsEmpty());
  EXPECT_THAT(reader.bytes(1), IsEmpty());
  EXPECT_FALSE(reader.ok());
  EXPECT_FALSE(slice(as_bytes("abc"), 2, UINT64_MAX, "part").has_value());
  EXPECT_FALSE(slice(as_bytes("abc"), 4, 0, "part").has_value());
  EXPECT_EQ(slice(as_bytes("abc"), 1, 2, "part")->size(), 2);
}

TEST(Hex, RoundTripsAndRefusesOtherText) {
  EXPECT_EQ(to_hex(std::string_view("\x00\xff\x1a", 3)), "00ff1a");
  EXPECT_EQ(from_hex("00fF1a"), std::string("\x00\xff\x1a", 3));
  EXPECT_EQ(from_hex("0"), std::nullopt);
  EXPECT_EQ(from_hex("0g"), std::nullopt);
}

TEST(Checksum, IsTheOneOurFilesWereWrittenWith) {
  // Published XXH3 test values: a change of these would orphan every file on disk.
  EXPECT_EQ(checksum64({}), 0x2D06800538D394C2U);
  EXPECT_EQ(to_hex(content_hash({})), "99aa06d3014798d86001c324468d497f");
}

TEST(Suggest, FindsTheNearestWordButNothingFarAway) {
  constexpr std::array<std::string_view, 3> kKnown{"function", "file", "platform"};
  EXPECT_EQ(nearest_word("fuction", kKnown), "function");
  EXPECT_EQ(nearest_word("flie", kKnown), "file") << "two letters swapped";
  EXPECT_EQ(nearest_word("fil", kKnown), "file");
  EXPECT_EQ(nearest_word("weather", kKnown), std::nullopt);
}

TEST(LockFile, IsHeldByOneAtATimeAndSaysByWhom) {
  const std::string path = ::testing::TempDir() + "plimsoll_lock_" + std::to_string(::getpid());
  {
    const auto lock = take_lock_file(path, "the data are in use by", "stop it");
    ASSERT_TRUE(lock.has_value()) << lock.error().text();
    EXPECT_EQ(read_file(path, 512), fmt::format("{}\n{}\n", ::getpid(), host_name()));
    const auto second = take_lock_file(path, "the data are in use by", "stop it");
    ASSERT_FALSE(second.has_value());
    EXPECT_EQ(second.error().code, ErrorCode::kConflict);
    EXPECT_EQ(second.error().message, "the data are in use by process " + std::to_string(::getpid()));
    EXPECT_EQ(second.error().hint, "stop it");
    const auto seen = expect_unlocked_file(path, "the data are in use by", "stop it");
    ASSERT_FALSE(seen.has_value());
    EXPECT_EQ(seen.error().text(), second.error().text());
  }
  EXPECT_TRUE(expect_unlocked_file(path, "", "").has_value());
  EXPECT_TRUE(take_lock_file(path, "", "").has_value()) << "closing the descriptor gives it back";
  std::filesystem::remove(path);
  EXPECT_FALSE(take_lock_file("/no such folder/lock", "", "").has_value());
  EXPECT_TRUE(expect_unlocked_file(path, "", "").has_value()) << "none holds a file that is not there";
}

// Of a disk that several machines reach.
TEST(LockFile, NamesTheMachineOfAHolderElsewhere) {
  const std::string path = ::testing::TempDir() + "plimsoll_lock_elsewhere_" + std::to_string(::getpid());
  const auto lock = take_lock_file(path, "", "");
  ASSERT_TRUE(lock.has_value());
  const auto as_another_sees_it = [&](const std::string& content) {
    std::ofstream(path, std::ios::trunc) << content;
    return expect_unlocked_file(path, "it is written by", "").error().message;
  };
  EXPECT_EQ(as_another_sees_it("4711\nanother-machine\n"),
            "it is written by process 4711 on another-machine");
  EXPECT_EQ(as_another_sees_it(fmt::format("4711\n{}\n", host_name())), "it is written by process 4711");
  EXPECT_EQ(as_another_sees_it("4711\n"), "it is written by process 4711") << "an older version's";
  EXPECT_EQ(as_another_sees_it(""), "it is written by process ");
  std::filesystem::remove(path);
}

TEST(ReadFile, BoundsWhatItReads) {
  EXPECT_GT(read_file("/proc/self/maps", 1 << 20)->size(), 0);
  EXPECT_EQ(read_file("/proc/self/maps", 10).error().code, ErrorCode::kTooLarge);
  EXPECT_EQ(read_file("/nowhere", 10).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(MappedFile::open("/dev/null", 10).error().code, ErrorCode::kInvalid);
}

class DurableFile : public ::testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  size_t files_in_folder() const {
    return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder_), {}));
  }

  const std::string folder_ = ::testing::TempDir() + "durable." + std::to_string(::getpid());
  const std::string path_ = folder_ + "/file";
};

TEST_F(DurableFile, ReplacesTheOldContent) {
  ASSERT_TRUE(write_file_durably(path_, as_bytes("old")).has_value());
  ASSERT_TRUE(write_file_durably(path_, as_bytes("new content")).has_value());
  EXPECT_EQ(*read_file(path_, 100), "new content");
  EXPECT_EQ(files_in_folder(), 1);
}

TEST_F(DurableFile, TakesContentInPieces) {
  ASSERT_TRUE(write_file_durably(path_, as_bytes("old")).has_value());
  const auto halves = [](const WritePiece& write) {
    const Status written = write(as_bytes("new "));
    return written ? write(as_bytes("content")) : written;
  };
  ASSERT_TRUE(write_pieces_durably(path_, halves).has_value());
  EXPECT_EQ(*read_file(path_, 100), "new content");
  const Status failed = write_pieces_durably(path_, [](const WritePiece& write) {
    const Status written = write(as_bytes("half"));
    return written ? fail(ErrorCode::kInvalid, "there is no other half") : written;
  });
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message, "there is no other half");
  EXPECT_EQ(*read_file(path_, 100), "new content");
  EXPECT_EQ(files_in_folder(), 1);
}

TEST_F(DurableFile, KeepsTheModeOfAFileThatIsThere) {
  ASSERT_TRUE(write_file_durably(path_, as_bytes("old")).has_value());
  ASSERT_EQ(::chmod(path_.c_str(), 0640), 0);
  ASSERT_TRUE(write_file_durably(path_, as_bytes("new")).has_value());
  struct stat status{};
  ASSERT_EQ(::stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0640U);
}

TEST_F(DurableFile, KeepsTheOwnerOfAFileThatIsThere) {
  if (::geteuid() != 0) {
    GTEST_SKIP() << "only root may give files away";
  }
  ASSERT_TRUE(write_file_durably(path_, as_bytes("old")).has_value());
  ASSERT_EQ(::chown(path_.c_str(), 12345, 54321), 0);
  ASSERT_TRUE(write_file_durably(path_, as_bytes("new")).has_value());
  struct stat status{};
  ASSERT_EQ(::stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_uid, 12345U);
  EXPECT_EQ(status.st_gid, 54321U);
  EXPECT_EQ(*read_file(path_, 100), "new");
}

TEST_F(DurableFile, WritesWhereALinkLeads) {
  const std::string elsewhere = folder_ + "/elsewhere";
  std::filesystem::create_directories(elsewhere);
  std::filesystem::create_symlink("elsewhere/real", folder_ + "/second");
  std::filesystem::create_symlink("second", path_);
  for (const std::string content : {"first", "second"}) {  // into nothing, and over a file
    ASSERT_TRUE(write_file_durably(path_, as_bytes(content)).has_value());
    EXPECT_TRUE(std::filesystem::is_symlink(path_));
    EXPECT_FALSE(std::filesystem::is_symlink(elsewhere + "/real"));
    EXPECT_EQ(*read_file(elsewhere + "/real", 100), content);
  }
}

TEST_F(DurableFile, LinksInACircleAreAnError) {
  std::filesystem::create_symlink("file", folder_ + "/other");
  std::filesystem::create_symlink("other", path_);
  const Status written = write_file_durably(path_, as_bytes("content"));
  ASSERT_FALSE(written);
  EXPECT_THAT(written.error().message, HasSubstr("symbolic links"));
}

TEST_F(DurableFile, WritesToWhatIsNoRegularFileAsItIs) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  const UniqueFd reader(::open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  ASSERT_TRUE(reader.valid());
  ASSERT_TRUE(write_file_durably(path_, as_bytes("through a pipe")).has_value());
  std::array<char, 32> read{};
  EXPECT_EQ(::read(reader.get(), read.data(), read.size()), 14);
  EXPECT_STREQ(read.data(), "through a pipe");
  EXPECT_EQ(files_in_folder(), 1);

  ASSERT_TRUE(write_file_durably("/dev/null", as_bytes("content")).has_value());
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

TEST_F(DurableFile, AddsToAnOpenDescriptorsFile) {
  const UniqueFd file(::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  ASSERT_EQ(::write(file.get(), "before ", 7), 7);
  ASSERT_TRUE(write_file_durably(fmt::format("/dev/fd/{}", file.get()), as_bytes("after")).has_value());
  EXPECT_EQ(*read_file(path_, 100), "before after");
}

TEST_F(DurableFile, LeavesTheOldContentWhateverCallFails) {
  FileCalls no_space = FileCalls::system();
  no_space.write = [](int, const void*, size_t) -> ssize_t {
    errno = ENOSPC;
    return -1;
  };
  FileCalls no_sync = FileCalls::system();
  no_sync.fsync = [](int) {
    errno = EIO;
    return -1;
  };
  FileCalls no_rename = FileCalls::system();
  no_rename.rename = [](const char*, const char*) {
    errno = EROFS;
    return -1;
  };
  ASSERT_TRUE(write_file_durably(path_, as_bytes("old")).has_value());
  for (const FileCalls& calls : {no_space, no_sync, no_rename}) {
    const Status status = write_file_durably(path_, as_bytes("new"), calls);
    ASSERT_FALSE(status.has_value());
    EXPECT_THAT(status.error().message, HasSubstr(path_));
    EXPECT_EQ(*read_file(path_, 100), "old");
    EXPECT_EQ(files_in_folder(), 1);
  }
}

TEST_F(DurableFile, FinishesShortWrites) {
  FileCalls short_writes = FileCalls::system();
  short_writes.write = [](int fd, const void* bytes, size_t size) {
    return ::write(fd, bytes, std::min<size_t>(size, 3));
  };
  ASSERT_TRUE(write_file_durably(path_, as_bytes("eleven byte"), short_writes).has_value());
  EXPECT_EQ(*read_file(path_, 100), "eleven byte");
}

}  // namespace
}  // namespace plimsoll
