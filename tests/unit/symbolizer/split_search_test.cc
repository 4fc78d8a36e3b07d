// Split DWARF: where its packages (.dwp) and files (.dwo) are looked for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/hex.h"
#include "elf/elf_file.h"
#include "symbolizer/search/table_search.h"
#include "symbolizer/symtab/symtab.h"
#include "tests/places.h"
#include "tests/temporary_directory.h"
#include "tests/unit/elf/package_of.h"
#include "tests/unit/symbolizer/build_id_of.h"

namespace plimsoll::symbolizer {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const std::string kPackedBinary = built_file("packed_gcc4.so");
const std::string kPackage = built_file("packed_gcc4.dwp");
const std::string kSplitBinary = built_file("inline_gcc5_dwo.so");
// The compiler wrote it, and its path, which lies outside of the folders that these searches may read.
const std::string kSplitFile = built_file("inline_gcc5_dwo.dwo");

class SplitSearch : public ::testing::Test {
 protected:
  static void copy(const std::string& from, const std::string& to) {
    std::filesystem::create_directories(std::filesystem::path(to).parent_path());
    std::filesystem::copy_file(from, to);
  }

  // ".debug" or ".dwp", by the build ID.
  std::string debug_path(const std::string& binary, const std::string& extension) const {
    const std::string hex = to_hex(build_id_of(binary));
    return debug_ + "/.build-id/" + hex.substr(0, 2) + "/" + hex.substr(2) + extension;
  }

  // As distributions do it: the binary without its DWARF, and that in the debug folder.
  void install_stripped(const std::string& from) const {
    copy(from, debug_path(from, ".debug"));
    const std::string command = fmt::format("strip -o '{}' '{}'", binary_, from);
    ASSERT_EQ(std::system(command.c_str()), 0);
  }

  FoundTable find(const std::string& fixture) const {
    auto found = find_table({.identity_kind = wire::GNU_BUILD_ID,
                             .identity = build_id_of(fixture),
                             .paths = {binary_},
                             .roots = {{allowed_}, {debug_}}},
                            [](uint64_t) {});
    EXPECT_TRUE(found) << found.error().text();
    return found.value_or(FoundTable());
  }

  // With functions and inlined calls, which only the split part describes.
  void expect_whole(const std::string& fixture) const {
    const FoundTable found = find(fixture);
    EXPECT_EQ(found.quality, SymtabQuality::kFull) << found.reasons;
    EXPECT_EQ(found.reasons, "");
    const auto table = Symtab::open(as_bytes(found.bytes));
    ASSERT_TRUE(table) << table.error().text();
    std::vector<SymtabFrame> frames;
    table->for_each_row([&](uint64_t address) { table->look_up(address, frames); });
    EXPECT_TRUE(std::ranges::any_of(frames, &SymtabFrame::is_inlined));
  }

  plimsoll::testing::TemporaryDirectory folder_;
  std::string allowed_ = folder_ / "allowed";
  std::string debug_ = folder_ / "debug";
  std::string binary_ = folder_ / "allowed/library.so";
  bool created_ = std::filesystem::create_directory(allowed_);
};

TEST_F(SplitSearch, APackageLiesBesideTheBinary) {
  copy(kPackedBinary, binary_);
  copy(kPackage, binary_ + ".dwp");
  expect_whole(kPackedBinary);
}

TEST_F(SplitSearch, OrInADebugFolderByTheBuildId) {
  copy(kPackedBinary, binary_);
  copy(kPackage, debug_path(kPackedBinary, ".dwp"));
  expect_whole(kPackedBinary);
}

TEST_F(SplitSearch, OrBesideTheDebugFile) {
  install_stripped(kPackedBinary);
  copy(kPackage, debug_path(kPackedBinary, ".debug.dwp"));
  expect_whole(kPackedBinary);
}

// Behind another unit, so that its parts begin nowhere at the start of a section.
TEST_F(SplitSearch, APackageOfDwarf5ByGccIsRead) {
  copy(kSplitBinary, binary_);
  const std::string dwo = *read_file(kSplitFile, 1 << 24);
  const auto file = elf::ElfFile::parse(as_bytes(dwo));
  ASSERT_TRUE(file) << file.error().text();
  const auto units = std::ranges::find(file->sections(), ".debug_info.dwo", &elf::Section::name);
  ASSERT_NE(units, file->sections().end());
  constexpr size_t kIdOffset = 12;
  std::string other = dwo;
  other[units->file_offset + kIdOffset] ^= 1;
  plimsoll::testing::SplitPackageWriter package;
  for (const std::string_view packed : {std::string_view(other), std::string_view(dwo)}) {
    const Status added = package.add(as_bytes(packed));
    ASSERT_TRUE(added) << added.error().text();
  }
  std::ofstream(binary_ + ".dwp", std::ios::binary) << package.bytes();
  expect_whole(kSplitBinary);
}

TEST_F(SplitSearch, OrBesideTheBinaryOfADebugFile) {
  install_stripped(kPackedBinary);
  copy(kPackage, binary_ + ".dwp");
  expect_whole(kPackedBinary);
}

TEST_F(SplitSearch, WithoutItsPackageTheSearchIsToBeTriedAgain) {
  copy(kPackedBinary, binary_);
  const FoundTable found = find(kPackedBinary);
  EXPECT_EQ(found.quality, SymtabQuality::kLines);
  EXPECT_TRUE(FileSearch::has_tried(found.looked_at, binary_ + ".dwp"));
  EXPECT_TRUE(FileSearch::has_tried(found.looked_at, debug_path(kPackedBinary, ".dwp")));
  copy(kPackage, binary_ + ".dwp");
  EXPECT_TRUE(FileSearch::has_changed(found.looked_at, {{allowed_}, {debug_}}));
}

TEST_F(SplitSearch, APackageOfAnotherBuildIsNotUsed) {
  copy(kSplitBinary, binary_);
  copy(kPackage, binary_ + ".dwp");
  EXPECT_EQ(find(kSplitBinary).quality, SymtabQuality::kLines);
}

TEST_F(SplitSearch, AFileLiesBesideTheBinary) {
  copy(kSplitBinary, binary_);
  copy(kSplitFile, allowed_ + "/inline_gcc5_dwo.dwo");
  expect_whole(kSplitBinary);
}

TEST_F(SplitSearch, OrBelowADebugFolderUnderItsPath) {
  copy(kSplitBinary, binary_);
  copy(kSplitFile, debug_ + kSplitFile);
  expect_whole(kSplitBinary);
}

TEST_F(SplitSearch, OrBesideTheBinarysDebugFile) {
  install_stripped(kSplitBinary);
  const std::filesystem::path debug_file = debug_path(kSplitBinary, ".debug");
  copy(kSplitFile, debug_file.parent_path() / "inline_gcc5_dwo.dwo");
  expect_whole(kSplitBinary);
}

TEST_F(SplitSearch, WhereTheCompilerWroteItIsNotReadOutsideTheRoots) {
  copy(kSplitBinary, binary_);
  const FoundTable found = find(kSplitBinary);
  EXPECT_EQ(found.quality, SymtabQuality::kLines);
  EXPECT_THAT(found.reasons, AllOf(HasSubstr("inline_gcc5_dwo.dwo: not found"), HasSubstr("symbols.roots")));
  allowed_ = built_file();
  binary_ = kSplitBinary;
  expect_whole(kSplitBinary);
}

}  // namespace
}  // namespace plimsoll::symbolizer
