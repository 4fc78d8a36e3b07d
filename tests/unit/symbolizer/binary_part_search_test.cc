// Names from parts of binaries, which machines send in place of whole files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/hex.h"
#include "symbolizer/search/table_search.h"
#include "symbolizer/symtab/symtab.h"
#include "tests/places.h"
#include "tests/temporary_directory.h"
#include "tests/unit/elf/elf_image.h"
#include "tests/unit/elf/part_of.h"
#include "tests/unit/symbolizer/build_id_of.h"

namespace plimsoll::symbolizer::binary_part_search_test {
namespace {

using elf::BinaryPart;
using ::testing::Not;

// Not exported.
constexpr const char* kHidden = "_ZN7fixture12_GLOBAL__N_16hiddenEi";

class BinaryPartSearch : public ::testing::Test {
 protected:
  // Of a part of the file, as the repository keeps it, and nothing else.
  FoundTable find(const std::string& path, BinaryPart part) const {
    const std::string whole = *read_file(path, uint64_t{1} << 30);
    const auto made = elf::part_of(whole, part);
    EXPECT_TRUE(made) << made.error().text();
    const std::string build_id = build_id_of(path);
    const std::string hex = to_hex(build_id);
    std::filesystem::create_directories(folder_ / "debug/.build-id/" + hex.substr(0, 2));
    std::ofstream(folder_ / "debug/.build-id/" + hex.substr(0, 2) + "/" + hex.substr(2) + ".debug",
                  std::ios::binary)
        << made.value_or("");
    auto found = find_table({.identity_kind = wire::GNU_BUILD_ID,
                             .identity = build_id,
                             .paths = {"/not/here"},
                             .roots = {{}, {folder_ / "debug", folder_ / "others"}}},
                            [](uint64_t) {});
    EXPECT_TRUE(found) << found.error().text();
    return found.value_or(FoundTable());
  }

  // All that the table calls code.
  static std::vector<std::string> functions_of(const FoundTable& found) {
    const auto table = Symtab::open(as_bytes(found.bytes));
    EXPECT_TRUE(table) << table.error().text();
    std::vector<std::string> names;
    std::vector<SymtabFrame> frames;
    if (table) {
      table->for_each_row([&](uint64_t address) {
        frames.clear();
        table->look_up(address, frames);
        for (const SymtabFrame& frame : frames) {
          names.emplace_back(frame.function);
        }
      });
    }
    std::ranges::sort(names);
    names.erase(std::ranges::unique(names).begin(), names.end());
    return names;
  }

  // What the whole file gives.
  static std::vector<std::string> functions_of_file(const std::string& path) {
    auto found = find_table(
        {.roots = {{std::filesystem::path(path).parent_path()}}, .named = {.binary = path}}, [](uint64_t) {});
    EXPECT_TRUE(found) << found.error().text();
    return functions_of(found.value_or(FoundTable()));
  }

  plimsoll::testing::TemporaryDirectory folder_;
};

TEST_F(BinaryPartSearch, DebugSectionsGiveAllThatTheFileGives) {
  for (const std::string name : {"inline_gcc5.so", "inline_gcc4_gz.so"}) {
    const FoundTable found = find(built_file(name), BinaryPart::kDebugSections);
    EXPECT_EQ(found.quality, SymtabQuality::kFull) << name << ": " << found.reasons;
    EXPECT_EQ(functions_of(found), functions_of_file(built_file(name))) << name;
  }
}

TEST_F(BinaryPartSearch, SymbolsAloneGiveNames) {
  const FoundTable found = find(built_file("inline_gcc5.so"), BinaryPart::kSymbolsOnly);
  EXPECT_EQ(found.quality, SymtabQuality::kSymtab) << found.reasons;
  EXPECT_THAT(functions_of(found), ::testing::Contains(kHidden));
}

TEST_F(BinaryPartSearch, OfAStrippedFileTheExportedFunctionsAreKnown) {
  const FoundTable found = find(built_file("split.so"), BinaryPart::kDebugSections);
  EXPECT_EQ(found.quality, SymtabQuality::kDynsym) << found.reasons;
  EXPECT_THAT(functions_of(found), Not(::testing::IsEmpty()));
  EXPECT_THAT(functions_of(found), Not(::testing::Contains(kHidden)));
}

TEST_F(BinaryPartSearch, APartOfAStrippedFileHidesNoDebugFile) {
  const std::string hex = to_hex(build_id_of(built_file("split.so")));
  const std::string others = folder_ / "others/.build-id/" + hex.substr(0, 2);
  std::filesystem::create_directories(others);
  std::filesystem::copy_file(built_file("split.debug"), others + "/" + hex.substr(2) + ".debug");
  const FoundTable found = find(built_file("split.so"), BinaryPart::kDebugSections);
  EXPECT_EQ(found.quality, SymtabQuality::kFull) << found.reasons;
}

TEST_F(BinaryPartSearch, AStrippedGoProgramKeepsItsTableOfFunctions) {
  if (!std::filesystem::exists(built_file("go_load"))) {
    GTEST_SKIP() << "there is no Go here";
  }
  // Go writes no build ID by itself.
  std::ofstream(folder_ / "note", std::ios::binary) << elf::note("GNU", NT_GNU_BUILD_ID, "a program of Go");
  const std::string stripped = folder_ / "go_load";
  const std::string command =
      fmt::format("strip -o '{0}' '{1}' && objcopy --add-section .note.gnu.build-id='{2}' '{0}'", stripped,
                  built_file("go_load"), folder_ / "note");
  ASSERT_EQ(std::system(command.c_str()), 0);
  const FoundTable found = find(stripped, BinaryPart::kSymbolsOnly);
  EXPECT_EQ(found.quality, SymtabQuality::kLines) << found.reasons;
  EXPECT_THAT(functions_of(found), ::testing::Contains("main.main"));
}

}  // namespace
}  // namespace plimsoll::symbolizer::binary_part_search_test
