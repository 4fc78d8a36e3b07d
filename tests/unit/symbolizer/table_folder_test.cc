#include "symbolizer/worker/table_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "symbolizer/symtab/symtab_writer.h"
#include "symbolizer/worker/symbol_loader.h"
#include "tests/places.h"
#include "tests/temporary_directory.h"
#include "tests/unit/symbolizer/table_worker.h"

namespace plimsoll::symbolizer::table_folder_test {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kIdentity = "\xab\xcd\x01";

class TableFolderTest : public ::testing::Test {
 protected:
  // A table of one function.
  MappedTable table_of(const std::string& function, SymtabQuality quality = SymtabQuality::kSymtab,
                       const SymtabReaders& readers = {}) const {
    SymtabWriter writer;
    writer.readers(readers);
    const auto unit = writer.unit("", 0);
    const auto scope = writer.scope({.function = writer.function({.name = function, .unit = unit})});
    writer.row({.from = 0x1000, .scope = scope});
    writer.end(0x2000);
    const std::string path = folder_ / "made";
    std::ofstream(path, std::ios::binary)
        << std::move(writer).finish({wire::GNU_BUILD_ID, kIdentity}, quality);
    auto map = *MappedFile::open(path, 1 << 20);
    auto table = *Symtab::open(map.bytes());
    std::filesystem::remove(path);
    return {std::move(map), std::move(table)};
  }

  // What the kept table calls an address in its function.
  std::string kept_name() {
    const auto kept = tables_.find(wire::GNU_BUILD_ID, kIdentity);
    std::vector<SymtabFrame> frames;
    if (kept) {
      kept->table.look_up(0x1234, frames);
    }
    return frames.empty() ? "none" : std::string(frames[0].function);
  }

  void damage(size_t offset) const {
    std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(offset));
    file.put('\x7f');
  }

  bool in_quarantine() const { return std::filesystem::exists(folder_ / "quarantine/abcd01.symtab"); }

  plimsoll::testing::TemporaryDirectory folder_;
  TableFolder tables_ = *TableFolder::open(folder_.path());
  std::string path_ = folder_ / "symtab/ab/abcd01.symtab";
};

TEST_F(TableFolderTest, KeepsOneTableForEachBuild) {
  EXPECT_EQ(kept_name(), "none");
  ASSERT_TRUE(tables_.keep(table_of("first")));
  EXPECT_EQ(kept_name(), "first");
  EXPECT_EQ(table_path(folder_.path(), kIdentity), path_);
  EXPECT_TRUE(std::filesystem::exists(path_));
  ASSERT_TRUE(tables_.keep(table_of("second")));
  EXPECT_EQ(kept_name(), "second");
  EXPECT_FALSE(tables_.find(wire::CONTENT_HASH, kIdentity));
}

TEST_F(TableFolderTest, TellsWhichUnitsLibdwHasReadForAKeptTable) {
  EXPECT_FALSE(readers_of_table(folder_.path(), kIdentity)) << "there is none";
  ASSERT_TRUE(tables_.keep(table_of("first")));
  EXPECT_EQ(readers_of_table(folder_.path(), kIdentity), SymtabReaders());
  const SymtabReaders readers{.damaged = 2, .relocatable = 5};
  ASSERT_TRUE(tables_.keep(table_of("second", SymtabQuality::kFull, readers)));
  EXPECT_EQ(readers_of_table(folder_.path(), kIdentity), readers);
  damage(0);
  EXPECT_FALSE(readers_of_table(folder_.path(), kIdentity));
  EXPECT_FALSE(in_quarantine()) << "that is for who writes the folder";
}

TEST_F(TableFolderTest, ADamagedTableIsSetAside) {
  for (const size_t offset : {size_t{40}, sizeof(SymtabHeader) + 3}) {
    ASSERT_TRUE(tables_.keep(table_of("whole")));
    damage(offset);
    EXPECT_EQ(kept_name(), "none") << offset;
    EXPECT_TRUE(in_quarantine());
    EXPECT_FALSE(std::filesystem::exists(path_));
    std::filesystem::remove_all(folder_ / "quarantine");
  }
}

TEST_F(TableFolderTest, ATableOfAnotherVersionIsNoDamage) {
  ASSERT_TRUE(tables_.keep(table_of("old")));
  damage(8);
  EXPECT_EQ(kept_name(), "none");
  EXPECT_FALSE(in_quarantine());
  ASSERT_TRUE(tables_.keep(table_of("new")));
  EXPECT_EQ(kept_name(), "new");
}

TEST_F(TableFolderTest, WhatCannotBeWrittenLeavesTheOldOne) {
  ASSERT_TRUE(tables_.keep(table_of("old")));
  FileCalls calls = FileCalls::system();
  calls.rename = [](const char*, const char*) {
    errno = EIO;
    return -1;
  };
  EXPECT_FALSE(tables_.keep(table_of("new"), calls));
  EXPECT_EQ(kept_name(), "old");
}

TEST_F(TableFolderTest, WhatACrashLeftHalfWrittenIsRemoved) {
  ASSERT_TRUE(tables_.keep(table_of("whole")));
  std::ofstream(path_ + ".123.tmp") << "half";
  ASSERT_TRUE(TableFolder::open(folder_.path()));
  EXPECT_FALSE(std::filesystem::exists(path_ + ".123.tmp"));
  EXPECT_EQ(kept_name(), "whole");
}

// --- when a kept table is used

class KeptTables : public TableFolderTest {
 protected:
  // By somebody who cannot make another: what is found was kept.
  BinarySymbols load(const WantedBinary& wanted) {
    SymbolLoader loader(roots_, *TableFolder::open(folder_.path()), TableProcess({{"/nowhere/plimsoll"}}));
    return loader.load(wanted).value();
  }
  WantedBinary wanted(std::string_view looked_at = {}) const {
    return {.identity_kind = wire::GNU_BUILD_ID,
            .identity = kIdentity,
            .paths = paths_,
            .looked_at = looked_at,
            .reasons = "it has no DWARF"};
  }

  std::string binary_ = folder_ / "binary";
  std::vector<std::string> paths_{binary_};
  SymbolRoots roots_{{folder_.path()}, {}};
};

TEST_F(KeptTables, TheBestIsUsedWhateverBecameOfTheFiles) {
  ASSERT_TRUE(tables_.keep(table_of("best", SymtabQuality::kFull)));
  const BinarySymbols symbols = load(wanted());
  EXPECT_EQ(symbols.quality(), store::SymbolQuality::kFull);
  EXPECT_EQ(symbols.reasons(), "");
}

TEST_F(KeptTables, AWorseOneIsUsedUntilTheSearchCouldEndOtherwise) {
  ASSERT_TRUE(tables_.keep(table_of("worse")));
  FileSearch search(roots_);
  search.note(binary_);
  EXPECT_EQ(load(wanted(search.looked_at())).reasons(), "it has no DWARF");

  std::ofstream(binary_) << "new";
  EXPECT_THAT(load(wanted(search.looked_at())).reasons(), HasSubstr("/nowhere/plimsoll"));
  EXPECT_THAT(load(wanted()).reasons(), HasSubstr("/nowhere/plimsoll"));
}

TEST_F(KeptTables, APathThatWasNotTriedIsAReasonToSearch) {
  ASSERT_TRUE(tables_.keep(table_of("worse")));
  FileSearch search(roots_);
  search.note(binary_);
  paths_.push_back(folder_ / "another");
  EXPECT_THAT(load(wanted(search.looked_at())).reasons(), HasSubstr("/nowhere/plimsoll"));
}

TEST_F(KeptTables, AWorseOneIsBetterThanNone) {
  ASSERT_TRUE(tables_.keep(table_of("worse")));
  EXPECT_EQ(load(wanted()).quality(), store::SymbolQuality::kSymtab);
}

TEST_F(KeptTables, AFailureIsNotRepeatedUntilAFileChanges) {
  const BinarySymbols failed = load(wanted());
  EXPECT_EQ(failed.quality(), store::SymbolQuality::kNone);
  EXPECT_FALSE(FileSearch::has_changed(failed.looked_at(), roots_));
  std::ofstream(binary_) << "new";
  EXPECT_TRUE(FileSearch::has_changed(failed.looked_at(), roots_));
}

TEST_F(KeptTables, DwarfThatTakesTooMuchCostsLinesAndNoNames) {
#ifdef PLIMSOLL_WITHOUT_SYSTEM_CALL_FILTER
  GTEST_SKIP() << "builds with sanitizers have no limit of memory";
#endif
  const std::string path = built_file("plimsoll");
  const std::string content = *read_file(path, uint64_t{1} << 30);
  const std::string build_id(elf::ElfFile::parse(as_bytes(content))->build_id());
  SymbolLoader loader({{built_file()}, {}}, *TableFolder::open(folder_.path()), table_process(),
                      {.limits = {.memory_bytes = uint64_t{48} << 20}});
  const BinarySymbols symbols =
      loader.load({.identity_kind = wire::GNU_BUILD_ID, .identity = build_id, .paths = {&path, 1}}).value();
  EXPECT_EQ(symbols.quality(), store::SymbolQuality::kSymtab);
  EXPECT_THAT(symbols.reasons(), HasSubstr("48 MiB of memory"));
}

}  // namespace
}  // namespace plimsoll::symbolizer::table_folder_test
