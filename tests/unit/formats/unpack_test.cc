#include "formats/unpack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "base/file.h"
#include "tests/temporary_directory.h"
#include "tests/unit/formats/compressed.h"

namespace plimsoll::formats {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::tar_end;
using testing::tar_member;

constexpr int64_t kMemberTimeNs = 1'700'000'000'000'000'000;

class Unpack : public ::testing::Test {
 protected:
  std::string write(const std::string& name, std::string_view content) const {
    const std::string path = folder_ / name;
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }

  // "NAME: CONTENT" or "NAME: error MESSAGE" for each input, names without the folder.
  std::vector<std::string> inputs_of(const std::string& path) {
    std::vector<std::string> lines;
    unpack(path, limits_, [&](const std::string& name, const Result<InputFile>& input) {
      const std::string relative = name.substr(std::string(folder_ / "").size());
      if (!input) {
        lines.push_back(relative + ": error " + input.error().text());
        return;
      }
      EXPECT_EQ(input->name, name);
      last_ = *input;
      lines.push_back(relative + ": " +
                      read_at(*input->fd, name, 0, input->size_bytes).value_or("unreadable"));
    });
    return lines;
  }

  testing::TemporaryDirectory folder_;
  UnpackLimits limits_;
  InputFile last_;
};

TEST_F(Unpack, AFileIsItself) {
  EXPECT_THAT(inputs_of(write("a", "plain")), ElementsAre("a: plain"));
  EXPECT_THAT(inputs_of(write("empty", "")), ElementsAre("empty: "));
  EXPECT_NE(last_.modified_ns, 0);
}

TEST_F(Unpack, CompressedContentIsToldByItsFirstBytesAndNotByItsName) {
  for (const auto& compress :
       {testing::gzipped, testing::xz_compressed, testing::zstd_compressed, testing::bzip2_compressed}) {
    EXPECT_THAT(inputs_of(write("a.txt", compress("content"))), ElementsAre("a.txt: content"));
    EXPECT_NE(last_.modified_ns, 0) << "the time of the file that it lay in";
  }
  EXPECT_THAT(inputs_of(write("a.gz", "plain")), ElementsAre("a.gz: plain"));
}

TEST_F(Unpack, MembersOfArchivesAreFilesOfTheirOwn) {
  const std::string archive = tar_member("runs/", "", '5') + tar_member("runs/a", "one") +
                              tar_member("runs/link", "", '2') + tar_member("b", std::string(513, 'x')) +
                              tar_end();
  for (const std::string& content : {archive, testing::gzipped(archive), testing::xz_compressed(archive),
                                     testing::zstd_compressed(archive), testing::bzip2_compressed(archive)}) {
    EXPECT_THAT(inputs_of(write("all", content)),
                ElementsAre("all:runs/a: one", "all:b: " + std::string(513, 'x')));
    EXPECT_EQ(last_.file_name, "b");
    EXPECT_EQ(last_.modified_ns, kMemberTimeNs);
  }
}

TEST_F(Unpack, MembersMayBeCompressedThemselves) {
  EXPECT_THAT(
      inputs_of(write("all.tar", tar_member("a.gz", testing::gzipped("one")) +
                                     tar_member("b.zst", testing::zstd_compressed("two")) + tar_end())),
      ElementsAre("all.tar:a.gz: one", "all.tar:b.zst: two"));
}

TEST_F(Unpack, LongNamesOfBothKindsAreRead) {
  const std::string name(300, 'n');
  const std::string record = "path=" + name + "\n";
  const std::string pax = fmt::format("{} {}", record.size() + 4, record);
  EXPECT_THAT(
      inputs_of(write("gnu", tar_member("././@LongLink", name + '\0', 'L') + tar_member("short", "one"))),
      ElementsAre("gnu:" + name + ": one"));
  EXPECT_THAT(inputs_of(write("pax", tar_member("PaxHeaders/x", pax, 'x') + tar_member("short", "one") +
                                         tar_member("next", "two"))),
              ElementsAre("pax:" + name + ": one", "pax:next: two"));
}

TEST_F(Unpack, ArchivesInArchivesAreRefusedAndTheOthersTaken) {
  const std::string inner = tar_member("x", "inner") + tar_end();
  const auto inputs =
      inputs_of(write("all", tar_member("i.tar", inner) + tar_member("i.tgz", testing::gzipped(inner)) +
                                 tar_member("a", "one") + tar_end()));
  EXPECT_THAT(inputs,
              ElementsAre(HasSubstr("all:i.tar: error it is an archive within an archive"),
                          HasSubstr("all:i.tgz: error it is an archive within an archive"), "all:a: one"));
}

TEST_F(Unpack, WhatIsCompressedTwiceIsRefused) {
  const std::string twice = testing::xz_compressed(testing::gzipped("x"));
  EXPECT_THAT(inputs_of(write("a", twice)),
              ElementsAre(HasSubstr("compressed twice, the second time by gzip")));
  EXPECT_THAT(inputs_of(write("all", tar_member("a", twice) + tar_end())),
              ElementsAre(HasSubstr("compressed twice")));
}

TEST_F(Unpack, ContentBeyondTheLimitIsRefusedWithTheLimitNamed) {
  limits_.max_content_bytes = 2000;
  EXPECT_THAT(inputs_of(write("a", testing::gzipped(std::string(2001, 'x')))),
              ElementsAre(HasSubstr("a: error the decompressed content is larger than the 2000 bytes")));
  const std::string bomb = tar_member("bomb", testing::bzip2_compressed(std::string(3000, 'x')));
  EXPECT_THAT(inputs_of(write("all", bomb + tar_member("a", "one") + tar_end())),
              ElementsAre(HasSubstr("all:bomb: error"), "all:a: one"));
}

TEST_F(Unpack, AFewBytesCannotFillTheDisk) {
  const std::string bomb = testing::bzip2_compressed(std::string(20'000'000, '\0'));
  ASSERT_LT(bomb.size(), 1000);
  EXPECT_THAT(inputs_of(write("a", bomb)), ElementsAre(HasSubstr("larger than the 1048576 bytes permitted")));
}

TEST_F(Unpack, AnArchiveOfTooManyFilesIsRefusedFromThereOn) {
  limits_.max_members = 2;
  EXPECT_THAT(
      inputs_of(write("all", tar_member("a", "1") + tar_member("b", "2") + tar_member("c", "3"))),
      ElementsAre("all:a: 1", "all:b: 2", HasSubstr("all: error the archive holds more than the 2 files")));
}

TEST_F(Unpack, ADamagedArchiveGivesWhatComesBeforeTheDamage) {
  const std::string first = tar_member("a", "one");
  std::string second = tar_member("b", std::string(2000, 'y'));
  EXPECT_THAT(inputs_of(write("cut", first + second.substr(0, 1000))),
              ElementsAre("cut:a: one", HasSubstr("cut:b: error the archive is cut off at offset 2024"),
                          HasSubstr("cut: error the archive is cut off")));
  second[0] = 'c';
  EXPECT_THAT(inputs_of(write("bad", first + second)),
              ElementsAre("bad:a: one", HasSubstr("bad: error the archive is damaged at offset 1024")));
  const std::string packed = testing::gzipped(first + second);
  EXPECT_THAT(inputs_of(write("half", packed.substr(0, packed.size() - 9))).back(), HasSubstr("half: error"));
}

TEST_F(Unpack, PipesAreReadToTheirEnd) {
  const std::string path = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  std::thread writer([&] { std::ofstream(path, std::ios::binary) << testing::gzipped("from a pipe"); });
  EXPECT_THAT(inputs_of(path), ElementsAre("pipe: from a pipe"));
  writer.join();
}

TEST_F(Unpack, WhatIsNotThereOrIsAFolderIsAnError) {
  EXPECT_THAT(inputs_of(folder_ / "missing"), ElementsAre(HasSubstr("missing: error opening")));
  std::filesystem::create_directory(std::string(folder_ / "folder"));
  EXPECT_THAT(inputs_of(folder_ / "folder"), ElementsAre(HasSubstr("folder: error opening")));
}

}  // namespace
}  // namespace plimsoll::formats
