// Source text comes from the operator's folders, whatever debug information calls its files.
#include "query/annotate/source_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "tests/temporary_directory.h"
#include "tests/unit/symbolizer/repository/sample_sources.h"

namespace plimsoll::annotate::source_files_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class SourceFiles : public ::testing::Test {
 protected:
  SourceFiles() {
    std::filesystem::create_directories(folder_ / "root/lib");
    write("root/a.c", "int a;\n");
    write("root/lib/b.c", "one\n\ttwo\r\nthree");
    write("secret", "secret\n");
  }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
  }

  // "": none.
  std::string text_of(const std::string& path, const std::string& root) const {
    const auto parsed = parse_source_root(root);
    EXPECT_TRUE(parsed) << root;
    return read_source({*parsed}, path).value_or("");
  }
  std::string text_of(const std::string& path) const { return text_of(path, root_); }

  plimsoll::testing::TemporaryDirectory folder_;
  const std::string root_ = folder_ / "root";
};

TEST_F(SourceFiles, AreFoundBelowARoot) {
  EXPECT_EQ(text_of(root_ + "/a.c"), "int a;\n") << "where the compiler knew it";
  EXPECT_EQ(text_of("/lib/b.c"), "one\n\ttwo\r\nthree") << "below the root of another system";
  EXPECT_EQ(text_of("lib/b.c"), "one\n\ttwo\r\nthree");
  EXPECT_EQ(text_of("./lib/../a.c"), "int a;\n");
  EXPECT_EQ(text_of("/nowhere/a.c"), "");
}

TEST_F(SourceFiles, APrefixSaysWhatTheCompilerKnew) {
  const std::string root = "/build/dir = " + root_;
  EXPECT_EQ(text_of("/build/dir/a.c", root), "int a;\n");
  EXPECT_EQ(text_of("/build/dir/./x/../lib/b.c", root), "one\n\ttwo\r\nthree");
  EXPECT_EQ(text_of("/build/directory/a.c", root), "");
  EXPECT_EQ(text_of("/a.c", root), "");
  EXPECT_EQ(text_of("a.c", root), "");
  EXPECT_EQ(text_of("/build/dir/../a.c", root), "");
  EXPECT_EQ(text_of("/a.c", "/ = " + root_), "int a;\n");
}

TEST_F(SourceFiles, HostileNamesGetNothing) {
  for (const std::string& path :
       {std::string(), std::string("/"), std::string("."), std::string(".."), std::string("../secret"),
        std::string("/../secret"), std::string("lib/../../secret"), folder_ / "secret", root_ + "/../secret",
        std::string("a.c\0b", 5), std::string("\0", 1), std::string(5000, 'a'), std::string("lib"),
        std::string("/etc/passwd"), std::string("/dev/zero"), std::string("/proc/self/environ")}) {
    EXPECT_EQ(text_of(path), "") << path;
  }
}

TEST_F(SourceFiles, LinksDevicesAndPipesGetNothing) {
  std::filesystem::create_symlink(folder_ / "secret", root_ + "/link.c");
  std::filesystem::create_symlink("a.c", root_ + "/inner.c");
  std::filesystem::create_symlink("..", root_ + "/up");
  std::filesystem::create_symlink("/proc/self", root_ + "/self");
  ASSERT_EQ(::mkfifo((root_ + "/pipe.c").c_str(), 0600), 0);
  for (const char* path : {"link.c", "inner.c", "up/secret", "self/environ", "pipe.c"}) {
    EXPECT_EQ(text_of(path), "") << path;
  }
  if (::mknod((root_ + "/zero.c").c_str(), S_IFCHR | 0600, 0x105) == 0) {
    EXPECT_EQ(text_of("zero.c"), "");
  }
}

TEST_F(SourceFiles, TooLargeFilesGetNothing) {
  write("root/large.c", "x");
  std::filesystem::resize_file(root_ + "/large.c", (16U << 20) + 1);
  EXPECT_EQ(text_of("large.c"), "");
}

TEST_F(SourceFiles, RootsAreAbsoluteFolders) {
  for (const char* text : {"", "src", "a = b", "/build = src", "build = /src", " = /src"}) {
    EXPECT_FALSE(parse_source_root(text)) << text;
  }
  const auto root = parse_source_root("/build/dir/ = /srv/src/");
  ASSERT_TRUE(root);
  EXPECT_EQ(root->prefix, "/build/dir");
  EXPECT_EQ(root->folder, "/srv/src");
  EXPECT_FALSE(parse_source_roots({"/srv", "src"}));
}

TEST_F(SourceFiles, LinesOfAnAnnotationGetTheirText) {
  Annotation annotation{.function = "f", .binary = "b", .build_id = "4f"};
  annotation.files = {{}, {.path = "/build/lib/b.c"}, {.path = "/build/missing.c"}, {.path = "/build/a.c"}};
  annotation.chains = {{{0, 1, 2}, {0, 2, 1}}, {{0, 1, 3}}, {{0, 1, 99}}};
  const auto roots = parse_source_roots({"/build = " + root_});
  ASSERT_TRUE(roots);
  read_sources({.roots = *roots}, annotation);
  EXPECT_TRUE(annotation.files[1].has_text);
  EXPECT_EQ(annotation.files[1].lines, (std::map<uint32_t, std::string>{{2, " two"}, {3, "three"}}));
  EXPECT_FALSE(annotation.files[2].has_text);
  EXPECT_FALSE(annotation.files[3].has_text) << "no code comes from it";
  ASSERT_EQ(annotation.notes.size(), 1);
  EXPECT_THAT(annotation.notes[0], AllOf(HasSubstr("lines of 1 file are without source text"),
                                         HasSubstr("read as /build/missing.c")));
}

TEST_F(SourceFiles, WhatWasUploadedForTheBuildComesFirst) {
  const std::string archive = folder_ / "sources";
  std::ofstream(archive, std::ios::binary)
      << symbolizer::source_archive_of({{"build/a.c", "int uploaded;\n"}, {"build/c.c", "int c;\n"}});
  Annotation annotation{.function = "f", .binary = "b", .build_id = "4f"};
  annotation.files = {{}, {.path = "/build/a.c"}, {.path = "/build/lib/../c.c"}, {.path = "/build/lib/b.c"}};
  annotation.chains = {{{0, 1, 1}}, {{0, 2, 1}}, {{0, 3, 1}}};
  const auto roots = parse_source_roots({"/build = " + root_});
  ASSERT_TRUE(roots);
  read_sources({.roots = *roots, .archive = archive}, annotation);
  EXPECT_EQ(annotation.files[1].lines.at(1), "int uploaded;");
  EXPECT_EQ(annotation.files[2].lines.at(1), "int c;");
  EXPECT_EQ(annotation.files[3].lines.at(1), "one") << "of a root";
  EXPECT_THAT(annotation.notes, ::testing::IsEmpty());
}

TEST_F(SourceFiles, UploadedSourcesThatAreDamagedAreSaidToBe) {
  const std::string archive = folder_ / "sources";
  std::ofstream(archive, std::ios::binary) << "damaged";
  Annotation annotation{.function = "f", .binary = "b", .build_id = "4f"};
  annotation.files = {{}, {.path = "/build/a.c"}};
  annotation.chains = {{{0, 1, 1}}};
  read_sources({.archive = archive}, annotation);
  ASSERT_EQ(annotation.notes.size(), 2);
  EXPECT_THAT(annotation.notes[1], HasSubstr("the sources that were uploaded cannot be read"));
}

TEST_F(SourceFiles, FilesBeyondTheLimitAreCounted) {
  Annotation annotation{.function = "f", .binary = "b", .build_id = "4f"};
  for (uint32_t file = 1; file <= 258; ++file) {
    annotation.files.push_back({.path = "/build/a.c"});
    annotation.chains.push_back({{0, file, 1}});
  }
  const auto roots = parse_source_roots({"/build = " + root_});
  ASSERT_TRUE(roots);
  read_sources({.roots = *roots}, annotation);
  EXPECT_TRUE(annotation.files[256].has_text);
  EXPECT_FALSE(annotation.files[257].has_text);
  ASSERT_EQ(annotation.notes.size(), 1);
  EXPECT_THAT(annotation.notes[0], HasSubstr("the lines of 2 more files are without source text"));
}

TEST_F(SourceFiles, ThatNoRootHasAreFetched) {
  Annotation annotation{.function = "f", .binary = "b", .build_id = "4f"};
  annotation.files = {{}, {.path = "/build/a.c"}, {.path = "/build/fetched.c"}, {.path = "/build/large.c"}};
  annotation.chains = {{{0, 1, 1}}, {{0, 2, 1}}, {{0, 3, 1}}};
  std::vector<std::string> asked;
  const auto fetch = [&asked](std::string_view path) -> std::optional<std::string> {
    asked.emplace_back(path);
    return path == "/build/large.c" ? std::string((16U << 20) + 1, 'x') : "from a server\n";
  };
  read_sources({.roots = *parse_source_roots({"/build = " + root_}), .fetch = fetch}, annotation);
  EXPECT_EQ(annotation.files[1].lines.at(1), "int a;");
  EXPECT_EQ(annotation.files[2].lines.at(1), "from a server");
  EXPECT_FALSE(annotation.files[3].has_text) << "it is too large";
  EXPECT_THAT(asked, ::testing::ElementsAre("/build/fetched.c", "/build/large.c"));
}

TEST_F(SourceFiles, WithoutRootsTheAnswerSaysSo) {
  Annotation annotation{.function = "f", .binary = "b", .build_id = "4f"};
  annotation.files = {{}, {.path = "/etc/passwd"}};
  annotation.chains = {{{0, 1, 1}}};
  read_sources({}, annotation);
  EXPECT_FALSE(annotation.files[1].has_text);
  ASSERT_EQ(annotation.notes.size(), 1);
  EXPECT_THAT(annotation.notes[0], HasSubstr("no source roots are given"));
}

}  // namespace
}  // namespace plimsoll::annotate::source_files_test
