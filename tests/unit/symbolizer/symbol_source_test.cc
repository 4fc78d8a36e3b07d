#include "symbolizer/worker/symbol_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>

#include "base/checksum.h"
#include "base/file.h"
#include "elf/elf_file.h"
#include "tests/temporary_directory.h"
#include "tests/unit/symbolizer/symbol_fixture.h"

namespace plimsoll::symbolizer {
namespace {

using ::testing::HasSubstr;

class SymbolSourceTest : public ::testing::Test {
 protected:
  Result<BinarySymbols> read(const std::string& path, std::string_view build_id = kFixtureBuildId) {
    return read_symbols(path, wire::GNU_BUILD_ID, build_id, {{allowed_}});
  }

  // A copy of the fixture in the folder that may be read.
  std::string copy(const std::string& name) {
    const std::string path = allowed_ + "/" + name;
    std::filesystem::copy_file(kFixturePath, path);
    return path;
  }

  plimsoll::testing::TemporaryDirectory folder_;
  std::string allowed_ = folder_ / "allowed";
  bool created_ = std::filesystem::create_directory(allowed_);
  LoadedFixture loaded_;
};

std::string name_at(const BinarySymbols& symbols, uint64_t address) {
  const FunctionSymbol* const symbol = symbols.table.find(address);
  return symbol == nullptr ? "-" : symbol->name;
}

TEST_F(SymbolSourceTest, FindsEveryFunctionWhereTheLoaderPutsIt) {
  const auto symbols = read(copy("library.so"));
  ASSERT_TRUE(symbols) << symbols.error().text();
  EXPECT_EQ(symbols->quality, store::SymbolQuality::kSymtab);
  EXPECT_EQ(name_at(*symbols, loaded_.address_of("exported_c")), "exported_c");
  EXPECT_EQ(name_at(*symbols, loaded_.address_of("exported_c") + 1), "exported_c");
  EXPECT_EQ(name_at(*symbols, loaded_.address_of("_ZN7fixture12exported_cppEi")),
            "_ZN7fixture12exported_cppEi");
  EXPECT_EQ(name_at(*symbols, loaded_.address_of_local()), "_ZN12_GLOBAL__N_114local_functionEi");
}

TEST_F(SymbolSourceTest, AStrippedBinaryStillHasItsExportedFunctions) {
  const std::string path = copy("stripped.so");
  ASSERT_EQ(std::system(fmt::format("strip --strip-all '{}'", path).c_str()), 0);
  const auto symbols = read(path);
  ASSERT_TRUE(symbols) << symbols.error().text();
  EXPECT_EQ(symbols->quality, store::SymbolQuality::kDynsym);
  EXPECT_EQ(name_at(*symbols, loaded_.address_of("exported_c")), "exported_c");
  EXPECT_EQ(name_at(*symbols, loaded_.address_of_local()), "-");
}

TEST_F(SymbolSourceTest, FileOffsetsBecomeAddresses) {
  const auto symbols = read(copy("library.so"));
  ASSERT_TRUE(symbols) << symbols.error().text();
  const uint64_t address = loaded_.address_of("exported_c");
  EXPECT_EQ(elf::address_of(symbols->segments, loaded_.file_offset_of("exported_c")), address);
}

TEST_F(SymbolSourceTest, ABinaryWithoutABuildIdGoesByItsContent) {
  const std::string path = copy("library.so");
  const std::string content = *read_file(path, uint64_t{1} << 30);
  const std::string hash = content_hash(as_bytes(content));
  EXPECT_TRUE(read_symbols(path, wire::CONTENT_HASH, hash, {{allowed_}}));
  EXPECT_FALSE(read_symbols(path, wire::CONTENT_HASH, kFixtureBuildId, {{allowed_}}));
  EXPECT_FALSE(read_symbols(path, wire::IDENTITY_UNKNOWN, "", {{allowed_}}));
}

// --- what a hostile or outdated hint names

TEST_F(SymbolSourceTest, AnotherBuildIsNotTakenForIt) {
  const auto refused = read(copy("library.so"), "another build ID");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(refused.error().message, HasSubstr("another build ID"));
}

TEST_F(SymbolSourceTest, NothingOutsideTheRootsIsOpened) {
  const std::string outside = folder_ / "outside.so";
  std::filesystem::copy_file(kFixturePath, outside);
  std::filesystem::create_directory(allowed_ + "-beside");
  const std::string beside = allowed_ + "-beside/library.so";  // the root is a prefix of its text only
  std::filesystem::copy_file(kFixturePath, beside);
  for (const std::string& path : {outside, beside, allowed_ + "/../outside.so"}) {
    const auto refused = read(path);
    ASSERT_FALSE(refused) << path;
    EXPECT_EQ(refused.error().code, ErrorCode::kDenied) << path;
    EXPECT_THAT(refused.error().hint, HasSubstr("symbols.roots"));
  }
}

TEST_F(SymbolSourceTest, ASymbolicLinkMayNotLeadOutOfTheRoots) {
  const std::string outside = folder_ / "outside.so";
  std::filesystem::copy_file(kFixturePath, outside);
  std::filesystem::create_symlink(outside, allowed_ + "/link.so");
  std::filesystem::create_symlink(folder_.path(), allowed_ + "/folder");
  EXPECT_EQ(read(allowed_ + "/link.so").error().code, ErrorCode::kDenied);
  EXPECT_EQ(read(allowed_ + "/folder/outside.so").error().code, ErrorCode::kDenied);
}

TEST_F(SymbolSourceTest, ASymbolicLinkWithinTheRootsIsFollowed) {
  copy("library.so.1");
  std::filesystem::create_symlink("library.so.1", allowed_ + "/library.so");
  EXPECT_TRUE(read(allowed_ + "/library.so"));
}

TEST_F(SymbolSourceTest, ARootMayBeReachedThroughALink) {
  copy("library.so");
  std::filesystem::create_symlink(allowed_, folder_ / "linked");
  EXPECT_TRUE(read_symbols(folder_ / "linked/library.so", wire::GNU_BUILD_ID, kFixtureBuildId,
                           {{folder_ / "linked"}}));
}

TEST_F(SymbolSourceTest, WithoutRootsNothingIsRead) {
  EXPECT_EQ(read_symbols(copy("library.so"), wire::GNU_BUILD_ID, kFixtureBuildId, {{}}).error().code,
            ErrorCode::kDenied);
}

TEST_F(SymbolSourceTest, WhatIsNoRegularFileIsRefusedAtOnce) {
  ASSERT_EQ(::mkfifo((allowed_ + "/fifo").c_str(), 0600), 0);
  std::filesystem::create_directory(allowed_ + "/folder");
  for (const std::string name : {"fifo", "folder"}) {
    const auto refused = read(allowed_ + "/" + name);
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr(name + " is not a regular file"));
  }
}

TEST_F(SymbolSourceTest, AMissingOrForeignFileSaysSo) {
  const auto missing = read(allowed_ + "/gone.so");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(missing.error().message, HasSubstr("gone.so"));
  std::filesystem::copy_file("/etc/passwd", allowed_ + "/text");
  EXPECT_THAT(read(allowed_ + "/text").error().message, HasSubstr("not an ELF file"));
  EXPECT_FALSE(read(""));
}

// --- the vdso

TEST(VdsoSymbols, AreFoundByBuildIdOnly) {
  const auto vdso = elf::own_vdso();
  if (!vdso || vdso->build_id().empty()) {
    GTEST_SKIP() << "there is no vdso with a build ID here";
  }
  const auto symbols = read_vdso_symbols(vdso->build_id());
  ASSERT_TRUE(symbols) << symbols.error().text();
  EXPECT_EQ(symbols->quality, store::SymbolQuality::kDynsym);
  EXPECT_FALSE(symbols->table.empty());
  EXPECT_EQ(read_vdso_symbols("another").error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace plimsoll::symbolizer
