// Source files that were uploaded for a build: found by the compiler's path, and by no other.
#include "symbolizer/repository/source_archive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>

#include "base/file.h"
#include "tests/temporary_directory.h"
#include "tests/unit/symbolizer/repository/sample_sources.h"

namespace plimsoll::symbolizer {
namespace {

using ::testing::HasSubstr;

// "": none.
std::string text_in(std::string_view archive, std::string_view path) {
  const auto sources = SourceArchive::parse(as_bytes(archive));
  EXPECT_TRUE(sources) << sources.error().text();
  const auto content = sources ? sources->find(path) : std::nullopt;
  return content ? std::string(as_text(*content)) : std::string();
}

std::string error_of(std::string_view archive) {
  const auto sources = SourceArchive::parse(as_bytes(archive));
  return sources ? std::string() : sources.error().text();
}

TEST(SourceKey, IsTheSameHoweverThePathIsWritten) {
  for (const std::string_view path :
       {"/usr/src/a.c", "usr/src/a.c", "//usr//src/./a.c", "/usr/lib/../src/a.c", "./usr/src/a.c"}) {
    EXPECT_EQ(source_key(path), "usr/src/a.c") << path;
  }
  for (const std::string_view path :
       {std::string_view(), std::string_view("/"), std::string_view("."), std::string_view("../a.c"),
        std::string_view("/a/../../b.c"), std::string_view("a\0b", 3)}) {
    EXPECT_FALSE(source_key(path)) << path;
  }
  EXPECT_FALSE(source_key(std::string(kMaxSourcePathBytes + 1, 'a')));
}

TEST(SourceArchive, FindsFilesByTheCompilersPath) {
  const std::string long_name = "build/" + std::string(200, 'd') + "/b.c";
  const std::string archive =
      source_archive_of({{"/build/a.c", "int a;\n"}, {long_name, "int b;\n"}, {"./empty.h", ""}});
  EXPECT_EQ(text_in(archive, "/build/a.c"), "int a;\n");
  EXPECT_EQ(text_in(archive, "/build/x/../a.c"), "int a;\n");
  EXPECT_EQ(text_in(archive, "/" + long_name), "int b;\n");
  EXPECT_TRUE(SourceArchive::parse(as_bytes(archive))->find("/empty.h"));
  for (const char* path : {"/a.c", "/build", "/build/a.c/", "build/a.cc", "/etc/passwd", "../build/b.c"}) {
    const bool is_same_file = source_key(path) == "build/a.c";
    EXPECT_EQ(text_in(archive, path), is_same_file ? "int a;\n" : "") << path;
  }
}

TEST(SourceArchive, IsWhatTarWritesInEachOfItsFormats) {
  const plimsoll::testing::TemporaryDirectory folder;
  // Over 100 bytes, which ustar splits between two folders.
  const std::string long_folder = std::string(60, 'x') + "/" + std::string(60, 'y');
  std::filesystem::create_directories(std::filesystem::path(folder.path()) / long_folder);
  std::ofstream(std::filesystem::path(folder.path()) / "a.c") << "int a;\n";
  std::ofstream(std::filesystem::path(folder.path()) / long_folder / "b.c") << "int b;\n";
  std::filesystem::create_symlink("/etc/passwd", std::filesystem::path(folder.path()) / "link.c");
  const plimsoll::testing::TemporaryDirectory output;
  for (const std::string format : {"gnu", "pax", "ustar"}) {
    const std::string path = output / (format + ".tar");
    const std::string command = "tar --format=" + format + " -C '" + folder.path() + "' -cf '" + path + "' .";
    ASSERT_EQ(std::system(command.c_str()), 0);
    const auto archive = read_file(path, 1 << 20);
    ASSERT_TRUE(archive) << archive.error().text();
    EXPECT_EQ(text_in(*archive, "/a.c"), "int a;\n") << format;
    EXPECT_EQ(text_in(*archive, "/" + long_folder + "/b.c"), "int b;\n") << format;
    EXPECT_EQ(text_in(*archive, "/link.c"), "") << "links are passed over";
  }
}

TEST(SourceArchive, RefusesNamesThatLeadOutOrHideSomething) {
  for (const std::string name : {"../a.c", "build/../../a.c", "/..", "a\nb.c", "a\x1b[2Jb.c", "."}) {
    EXPECT_THAT(error_of(source_archive_of({{"ok.c", "x"}, {name, "y"}})), HasSubstr("has a file called"))
        << name;
  }
  EXPECT_THAT(error_of(source_archive_of({{"/a.c", "x"}, {"./a.c", "y"}})), HasSubstr("a.c twice"));
  EXPECT_THAT(error_of(source_archive_of({})), HasSubstr("no files"));
}

TEST(SourceArchive, RefusesAnArchiveThatIsCut) {
  const std::string whole =
      source_archive_of({{"a.c", std::string(3000, 'a')}, {"b.c", std::string(100, 'b')}});
  std::mt19937_64 random(7);
  for (int i = 0; i < 1000; ++i) {
    const size_t size = random() % whole.size();
    const auto sources = SourceArchive::parse(as_bytes(std::string_view(whole).substr(0, size)));
    const auto b = sources ? sources->find("b.c") : std::nullopt;
    // Without the blocks of zeros at its end it is read all the same, as by tar.
    EXPECT_TRUE(!sources || sources->find("a.c")->size() == 3000) << size;
    EXPECT_TRUE(!b || as_text(*b) == std::string(100, 'b')) << size;
  }
}

TEST(SourceArchive, HasALimitOfFiles) {
  std::vector<std::pair<std::string, std::string>> files;
  for (uint64_t i = 0; i <= kMaxSourceFiles; ++i) {
    files.emplace_back(std::to_string(i), "");
  }
  EXPECT_THAT(error_of(source_archive_of(files)), HasSubstr("more than 100000 files"));
}

}  // namespace
}  // namespace plimsoll::symbolizer
