// ELF files in folders and packages, some of which mean harm.
#include "formats/binary_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "base/file.h"
#include "tests/fuzz/mutate.h"
#include "tests/temporary_directory.h"
#include "tests/unit/formats/compressed.h"

namespace plimsoll::formats::binary_files_test {
namespace {

using plimsoll::testing::tar_end;
using plimsoll::testing::tar_member;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

const std::string kElf = "\177ELF one";

std::string ar_member(const std::string& name, const std::string& content) {
  std::string member =
      fmt::format("{:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", name, 0, 0, 0, "100644", content.size());
  member += content;
  member.append(content.size() % 2, '\n');
  return member;
}

std::string package_of(const std::string& data, const std::string& name = "data.tar.xz") {
  return "!<arch>\n" + ar_member("debian-binary", "2.0\n") + ar_member("control.tar.xz", "control") +
         ar_member(name, data);
}

class BinaryFilesTest : public ::testing::Test {
 protected:
  std::string write(const std::string& name, std::string_view content) const {
    const std::string path = folder_ / name;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }

  // "NAME: CONTENT" or "NAME: error MESSAGE" for each file, names without the folder.
  std::vector<std::string> found_in(const std::string& path) {
    std::vector<std::string> lines;
    find_binaries(path, limits_, [&](const std::string& name, const Result<BinaryFile>& file) {
      const std::string relative = name.substr(std::min(name.size(), std::string(folder_ / "").size()));
      lines.push_back(fmt::format("{}: {}", relative,
                                  file ? read_at(*file->fd, name, 0, file->size_bytes).value_or("unreadable")
                                       : "error " + file.error().text()));
    });
    return lines;
  }

  // Everything that there is, to see that nothing has been written.
  std::vector<std::string> all_files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_.path())) {
      names.push_back(entry.path().string());
    }
    return names;
  }

  plimsoll::testing::TemporaryDirectory folder_;
  BinaryFileLimits limits_;
};

TEST_F(BinaryFilesTest, TakesElfFilesAndRefusesOthersThatAreNamed) {
  EXPECT_THAT(found_in(write("a", kElf)), ElementsAre("a: " + kElf));
  EXPECT_THAT(found_in(write("b", "text")), ElementsAre(HasSubstr("b: error")));
  EXPECT_THAT(found_in(write("empty", "")), ElementsAre(HasSubstr("empty: error")));
  EXPECT_THAT(found_in(folder_ / "missing"), ElementsAre(HasSubstr("No such file")));
  EXPECT_THAT(found_in("/dev/null"), ElementsAre(HasSubstr("not a regular file")));
}

TEST_F(BinaryFilesTest, FindsThemInFoldersWithoutFollowingLinks) {
  write("all/a", kElf);
  write("all/deep/er/b", kElf + "b");
  write("all/text", "text");
  write("other/c", kElf + "c");
  std::filesystem::create_symlink(folder_ / "other", folder_ / "all/link");
  std::filesystem::create_symlink(folder_ / "all", folder_ / "all/loop");
  EXPECT_THAT(found_in(folder_ / "all"),
              UnorderedElementsAre("all/a: " + kElf, "all/deep/er/b: " + kElf + "b"));
  limits_.max_depth = 1;
  EXPECT_THAT(found_in(folder_ / "all"), UnorderedElementsAre("all/a: " + kElf, HasSubstr("folders deep")));
  limits_.max_files = 1;
  EXPECT_THAT(found_in(folder_ / "all"), ::testing::Contains(HasSubstr("more than 1 files")));
}

TEST_F(BinaryFilesTest, FindsThemInPackagesOfEachCompression) {
  const std::string archive = tar_member("./usr/bin/a", kElf) + tar_member("./usr/share/doc", "text") +
                              tar_member("./usr/lib/debug/.build-id/ab/cd.debug", kElf + "d") + tar_end();
  for (const auto& [name, data] : {std::pair<std::string, std::string>("data.tar", archive),
                                   {"data.tar.gz", plimsoll::testing::gzipped(archive)},
                                   {"data.tar.xz", plimsoll::testing::xz_compressed(archive)},
                                   {"data.tar.zst", plimsoll::testing::zstd_compressed(archive)}}) {
    EXPECT_THAT(found_in(write("a.deb", package_of(data, name))),
                ElementsAre("a.deb:./usr/bin/a: " + kElf,
                            "a.deb:./usr/lib/debug/.build-id/ab/cd.debug: " + kElf + "d"))
        << name;
  }
}

TEST_F(BinaryFilesTest, NamesInPackagesWriteNothing) {
  const std::string archive = tar_member("../../../../tmp/escaped", kElf) + tar_member("/etc/escaped", kElf) +
                              tar_member("link", "", '2') + tar_member("device", "", '3') +
                              tar_member(std::string("a\033[2Jb"), kElf) + tar_end();
  const std::string package = write("a.deb", package_of(plimsoll::testing::gzipped(archive), "data.tar.gz"));
  limits_.folder = folder_.path();
  const auto before = all_files();
  EXPECT_EQ(found_in(package).size(), 3) << "files, by their content alone";
  EXPECT_EQ(all_files(), before);
  EXPECT_FALSE(std::filesystem::exists("/etc/escaped"));
}

TEST_F(BinaryFilesTest, BombsEndAtTheLimits) {
  const std::string bomb = tar_member("bomb", kElf + std::string(64 << 20, '\0')) + tar_end();
  const std::string path = write("a.deb", package_of(plimsoll::testing::xz_compressed(bomb)));
  limits_.max_content_bytes = 8 << 20;
  EXPECT_THAT(found_in(path), ::testing::Contains(HasSubstr("error")));
  limits_ = {};
  limits_.max_file_bytes = 1 << 20;
  EXPECT_THAT(found_in(path), ::testing::Contains(HasSubstr("larger than the 1048576 bytes permitted")));
  limits_ = {};
  limits_.max_members = 10;
  std::string many;
  for (int i = 0; i < 20; ++i) {
    many += tar_member(fmt::format("file {}", i), "");
  }
  EXPECT_THAT(found_in(write("b.deb", package_of(many + tar_end(), "data.tar"))),
              ElementsAre(HasSubstr("more than the 10 files permitted")));
}

TEST_F(BinaryFilesTest, OtherArArchivesAreNoPackages) {
  const std::string library = "!<arch>\n" + ar_member("a.o/", kElf);
  EXPECT_THAT(found_in(write("all/lib.a", library)), ElementsAre(HasSubstr("neither an ELF file nor")));
  EXPECT_THAT(found_in(folder_ / "all"), IsEmpty());
  EXPECT_THAT(found_in(write("a.deb", "!<arch>\n" + ar_member("debian-binary", "2.0\n"))),
              ElementsAre(HasSubstr("without data.tar")));
  std::string large = package_of("x");
  large.replace(large.size() - 2 - 60 + 48, 10, "9999999999");
  EXPECT_THAT(found_in(write("c.deb", large)), ElementsAre(HasSubstr("error")));
}

TEST_F(BinaryFilesTest, DamagedPackagesEndInErrorsOrFiles) {
  const std::string archive = tar_member("./usr/bin/a", kElf) + tar_end();
  const std::string whole = package_of(plimsoll::testing::gzipped(archive), "data.tar.gz");
  std::mt19937_64 random(23);
  for (int i = 0; i < 2000; ++i) {
    for (const std::string& line : found_in(write("a.deb", fuzz::mutated(whole, random)))) {
      EXPECT_THAT(line, HasSubstr("a.deb"));
    }
  }
}

}  // namespace
}  // namespace plimsoll::formats::binary_files_test
