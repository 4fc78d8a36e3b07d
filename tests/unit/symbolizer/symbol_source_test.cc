#include "symbolizer/worker/symbol_source.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lzma.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/checksum.h"
#include "base/file.h"
#include "base/hex.h"
#include "elf/elf_file.h"
#include "tests/places.h"
#include "tests/temporary_directory.h"
#include "tests/unit/symbolizer/build_id_of.h"
#include "tests/unit/symbolizer/symbol_fixture.h"
#include "tests/unit/symbolizer/table_worker.h"

namespace plimsoll::symbolizer {
namespace {

using store::SymbolQuality;
using ::testing::HasSubstr;

const std::string kWholePath = built_file("inline_gcc5.so");
const std::string kStrippedPath = built_file("split.so");
const std::string kDebugPath = built_file("split.debug");

// The address of a symbol of the whole library, by its symbol table.
uint64_t address_in_whole(const std::string& name) {
  const std::string content = *read_file(kWholePath, uint64_t{1} << 30);
  uint64_t address = 0;
  elf::ElfFile::parse(as_bytes(content))->for_each_symbol(SHT_SYMTAB, [&](const elf::Symbol& symbol) {
    address = symbol.name == name ? symbol.address : address;
  });
  EXPECT_NE(address, 0) << name;
  return address;
}

void run(const std::string& command) {
  ASSERT_EQ(std::system(command.c_str()), 0) << command;
}

class SymbolSourceTest : public ::testing::Test {
 protected:
  BinarySymbols read(const std::string& path, std::string_view build_id = kFixtureBuildId) {
    return find({path}, build_id, {{allowed_}, {debug_}});
  }
  static BinarySymbols find(const std::vector<std::string>& paths, std::string_view build_id,
                            const SymbolRoots& roots) {
    return find_symbols(wire::GNU_BUILD_ID, build_id, paths, roots);
  }

  // A copy of a fixture in the folder that may be read.
  std::string copy(const std::string& name, const std::string& from = kFixturePath) {
    const std::string path = allowed_ + "/" + name;
    copy_to(path, from);
    return path;
  }
  static void copy_to(const std::string& path, const std::string& from) {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::filesystem::copy_file(from, path);
  }
  std::string debug_path_of(std::string_view build_id) const {
    const std::string hex = to_hex(build_id);
    return debug_ + "/.build-id/" + hex.substr(0, 2) + "/" + hex.substr(2) + ".debug";
  }

  plimsoll::testing::TemporaryDirectory folder_;
  std::string allowed_ = folder_ / "allowed";
  std::string debug_ = folder_ / "debug";
  bool created_ = std::filesystem::create_directory(allowed_);
  LoadedFixture loaded_;
};

std::string name_at(const BinarySymbols& symbols, uint64_t address) {
  const auto frames = symbols.frames_at(std::span(&address, 1)).front();
  return frames.empty() ? "-" : frames.back().linkage_name;
}

TEST_F(SymbolSourceTest, FindsEveryFunctionWhereTheLoaderPutsIt) {
  auto symbols = read(copy("library.so"));
  EXPECT_EQ(symbols.quality(), SymbolQuality::kSymtab);
  EXPECT_EQ(name_at(symbols, loaded_.address_of("exported_c")), "exported_c");
  EXPECT_EQ(name_at(symbols, loaded_.address_of("exported_c") + 1), "exported_c");
  EXPECT_EQ(name_at(symbols, loaded_.address_of("_ZN7fixture12exported_cppEi")),
            "_ZN7fixture12exported_cppEi");
  EXPECT_EQ(name_at(symbols, loaded_.address_of_local()), "_ZN12_GLOBAL__N_114local_functionEi");
}

TEST_F(SymbolSourceTest, AStrippedBinaryStillHasItsExportedFunctions) {
  const std::string path = copy("stripped.so");
  run(fmt::format("strip --strip-all '{}'", path));
  auto symbols = read(path);
  EXPECT_EQ(symbols.quality(), SymbolQuality::kDynsym);
  EXPECT_EQ(name_at(symbols, loaded_.address_of("exported_c")), "exported_c");
  EXPECT_EQ(name_at(symbols, loaded_.address_of_local()), "-");
  EXPECT_THAT(symbols.reasons(), HasSubstr("no separate debug file"));
}

TEST_F(SymbolSourceTest, FileOffsetsBecomeAddresses) {
  const auto symbols = read(copy("library.so"));
  EXPECT_EQ(symbols.address_of(loaded_.file_offset_of("exported_c")), loaded_.address_of("exported_c"));
}

TEST_F(SymbolSourceTest, ABinaryWithoutABuildIdGoesByItsContent) {
  const std::vector<std::string> paths{copy("library.so")};
  const std::string content = *read_file(paths[0], uint64_t{1} << 30);
  const std::string hash = content_hash(as_bytes(content));
  const auto quality = [&](wire::IdentityKind kind, std::string_view identity) {
    return find_symbols(kind, identity, paths, {{allowed_}}).quality();
  };
  EXPECT_EQ(quality(wire::CONTENT_HASH, hash), SymbolQuality::kSymtab);
  EXPECT_EQ(quality(wire::CONTENT_HASH, kFixtureBuildId), SymbolQuality::kNone);
  EXPECT_EQ(quality(wire::IDENTITY_UNKNOWN, ""), SymbolQuality::kNone);
}

// --- DWARF, in the binary and beside it

TEST_F(SymbolSourceTest, DwarfOfTheBinaryGivesFilesLinesAndInlinedCalls) {
  auto symbols = read(copy("library.so", kWholePath), build_id_of(kWholePath));
  EXPECT_EQ(symbols.quality(), SymbolQuality::kFull);
  EXPECT_EQ(symbols.reasons(), "");
  const uint64_t address = address_in_whole("plain_c");
  const auto frames = symbols.frames_at(std::span(&address, 1)).front();
  ASSERT_FALSE(frames.empty());
  EXPECT_EQ(frames.back().linkage_name, "plain_c");
  EXPECT_THAT(frames.back().file, ::testing::EndsWith("tests/data/inline_fixture.cc"));
  EXPECT_NE(frames.back().line, 0);
}

TEST_F(SymbolSourceTest, WhatDwarfDoesNotDescribeIsNamedByTheSymbolTable) {
  auto symbols = read(copy("library.so", kWholePath), build_id_of(kWholePath));
  EXPECT_EQ(name_at(symbols, address_in_whole("deregister_tm_clones")), "deregister_tm_clones");
}

TEST_F(SymbolSourceTest, ADebugFileIsFoundByBuildId) {
  copy_to(debug_path_of(build_id_of(kStrippedPath)), kDebugPath);
  auto symbols = read(copy("library.so", kStrippedPath), build_id_of(kStrippedPath));
  EXPECT_EQ(symbols.quality(), SymbolQuality::kFull);
  EXPECT_EQ(name_at(symbols, address_in_whole("plain_c")), "plain_c");
  EXPECT_EQ(name_at(symbols, address_in_whole("deregister_tm_clones")), "deregister_tm_clones");
  const auto offset = symbols.address_of(address_in_whole("plain_c"));  // text lies where it is loaded
  EXPECT_EQ(offset, address_in_whole("plain_c"));
}

TEST_F(SymbolSourceTest, ADebugFileIsEnoughWhereTheBinaryIsGone) {
  copy_to(debug_path_of(build_id_of(kStrippedPath)), kDebugPath);
  auto symbols = read(allowed_ + "/gone.so", build_id_of(kStrippedPath));
  EXPECT_EQ(symbols.quality(), SymbolQuality::kFull);
  EXPECT_EQ(name_at(symbols, address_in_whole("plain_c")), "plain_c");
  // Its text segment lies nowhere in the debug file.
  EXPECT_EQ(symbols.address_of(address_in_whole("plain_c")), std::nullopt);
}

TEST_F(SymbolSourceTest, ADebugFileIsFoundByTheLinkInEachOfTheUsualPlaces) {
  const std::string build_id = build_id_of(kStrippedPath);
  const std::string path = copy("bin/library.so", kStrippedPath);
  for (const std::string& place : {allowed_ + "/bin/split.debug", allowed_ + "/bin/.debug/split.debug",
                                   debug_ + allowed_ + "/bin/split.debug"}) {
    EXPECT_EQ(read(path, build_id).quality(), SymbolQuality::kDynsym) << place;
    copy_to(place, kDebugPath);
    EXPECT_EQ(read(path, build_id).quality(), SymbolQuality::kFull) << place;
    std::filesystem::remove(place);
  }
}

TEST_F(SymbolSourceTest, ADebugFileOfAnotherBuildIsRefused) {
  copy_to(debug_path_of(build_id_of(kStrippedPath)), kFixturePath);
  const auto symbols = read(copy("library.so", kStrippedPath), build_id_of(kStrippedPath));
  EXPECT_EQ(symbols.quality(), SymbolQuality::kDynsym);
  EXPECT_THAT(symbols.reasons(), HasSubstr("another build"));
}

TEST_F(SymbolSourceTest, ADebugFileWithoutABuildIdGoesByItsChecksum) {
  const std::string path = allowed_ + "/library.so";
  const std::string debug = allowed_ + "/split.debug";
  run(fmt::format("objcopy --remove-section=.note.gnu.build-id '{}' '{}'", kDebugPath, debug));
  run(
      fmt::format("cd '{}' && objcopy --remove-section=.gnu_debuglink '{}' '{}' && "
                  "objcopy --add-gnu-debuglink=split.debug '{}'",
                  allowed_, kStrippedPath, path, path));
  EXPECT_EQ(read(path, build_id_of(kStrippedPath)).quality(), SymbolQuality::kFull);
  std::ofstream(debug, std::ios::app) << "x";
  EXPECT_EQ(read(path, build_id_of(kStrippedPath)).quality(), SymbolQuality::kDynsym);
}

TEST_F(SymbolSourceTest, ALinkWithAFolderInItIsNotFollowed) {
  const std::string path = copy("library.so", kStrippedPath);
  std::string content = *read_file(path, 1 << 20);
  const size_t name = content.find("split.debug");
  ASSERT_NE(name, std::string::npos);
  content.replace(name, 11, "../../s.dbg");
  std::ofstream(path) << content;
  copy_to(folder_ / "s.dbg", kDebugPath);
  EXPECT_EQ(find({path}, build_id_of(kStrippedPath), {{folder_.path()}}).quality(), SymbolQuality::kDynsym);
}

std::string xz(const std::string& content) {
  std::string out(::lzma_stream_buffer_bound(content.size()), '\0');
  size_t size = 0;
  EXPECT_EQ(::lzma_easy_buffer_encode(6, LZMA_CHECK_CRC64, nullptr,
                                      reinterpret_cast<const uint8_t*>(content.data()), content.size(),
                                      reinterpret_cast<uint8_t*>(out.data()), &size, out.size()),
            LZMA_OK);
  out.resize(size);
  return out;
}

TEST_F(SymbolSourceTest, MiniDebugInfoAddsToTheExportedFunctions) {
  const std::string path = copy("library.so", kStrippedPath);
  run(fmt::format("objcopy --strip-debug '{}' '{}/mini'", kWholePath, folder_.path()));
  std::ofstream(folder_ / "mini.xz") << xz(*read_file(folder_ / "mini", 1 << 20));
  run(fmt::format("objcopy --add-section .gnu_debugdata='{}/mini.xz' '{}'", folder_.path(), path));
  auto symbols = read(path, build_id_of(kStrippedPath));
  EXPECT_EQ(symbols.quality(), SymbolQuality::kSymtab);
  EXPECT_EQ(name_at(symbols, address_in_whole("plain_c")), "plain_c");
  EXPECT_EQ(name_at(symbols, address_in_whole("deregister_tm_clones")), "deregister_tm_clones");
}

TEST_F(SymbolSourceTest, DamagedMiniDebugInfoIsAReason) {
  const std::string path = copy("library.so", kStrippedPath);
  std::ofstream(folder_ / "mini.xz") << xz(std::string(1000, 'x')).substr(0, 40);
  run(fmt::format("objcopy --add-section .gnu_debugdata='{}/mini.xz' '{}'", folder_.path(), path));
  const auto symbols = read(path, build_id_of(kStrippedPath));
  EXPECT_EQ(symbols.quality(), SymbolQuality::kDynsym);
  EXPECT_THAT(symbols.reasons(), HasSubstr(".gnu_debugdata"));
}

// --- what a hostile or outdated hint names

TEST_F(SymbolSourceTest, AnotherBuildIsNotTakenForIt) {
  const auto refused = read(copy("library.so"), "another build ID");
  EXPECT_EQ(refused.quality(), SymbolQuality::kNone);
  EXPECT_THAT(refused.reasons(), HasSubstr("another build ID"));
}

TEST_F(SymbolSourceTest, NothingOutsideTheRootsIsOpened) {
  const std::string outside = folder_ / "outside.so";
  std::filesystem::copy_file(kFixturePath, outside);
  const std::string beside = allowed_ + "-beside/library.so";  // the root is a prefix of its text only
  copy_to(beside, kFixturePath);
  for (const std::string& path : {outside, beside, allowed_ + "/../outside.so"}) {
    const auto refused = read(path);
    EXPECT_EQ(refused.quality(), SymbolQuality::kNone) << path;
    EXPECT_THAT(refused.reasons(), HasSubstr("symbols.roots")) << path;
  }
}

TEST_F(SymbolSourceTest, ASymbolicLinkMayNotLeadOutOfTheRoots) {
  const std::string outside = folder_ / "outside.so";
  std::filesystem::copy_file(kFixturePath, outside);
  std::filesystem::create_symlink(outside, allowed_ + "/link.so");
  std::filesystem::create_symlink(folder_.path(), allowed_ + "/folder");
  EXPECT_EQ(read(allowed_ + "/link.so").quality(), SymbolQuality::kNone);
  EXPECT_EQ(read(allowed_ + "/folder/outside.so").quality(), SymbolQuality::kNone);
}

TEST_F(SymbolSourceTest, ASymbolicLinkWithinTheRootsIsFollowed) {
  copy("library.so.1");
  std::filesystem::create_symlink("library.so.1", allowed_ + "/library.so");
  EXPECT_EQ(read(allowed_ + "/library.so").quality(), SymbolQuality::kSymtab);
}

TEST_F(SymbolSourceTest, ARootMayBeReachedThroughALink) {
  copy("library.so");
  std::filesystem::create_symlink(allowed_, folder_ / "linked");
  EXPECT_EQ(find({folder_ / "linked/library.so"}, kFixtureBuildId, {{folder_ / "linked"}}).quality(),
            SymbolQuality::kSymtab);
}

TEST_F(SymbolSourceTest, WithoutRootsNothingIsRead) {
  EXPECT_EQ(find({copy("library.so")}, kFixtureBuildId, {}).quality(), SymbolQuality::kNone);
}

TEST_F(SymbolSourceTest, WhatIsNoRegularFileIsRefusedAtOnce) {
  ASSERT_EQ(::mkfifo((allowed_ + "/fifo").c_str(), 0600), 0);
  std::filesystem::create_directory(allowed_ + "/folder");
  for (const std::string name : {"fifo", "folder"}) {
    EXPECT_THAT(read(allowed_ + "/" + name).reasons(), HasSubstr(name + " is not a regular file"));
  }
}

TEST_F(SymbolSourceTest, AMissingOrForeignFileSaysSo) {
  EXPECT_THAT(read(allowed_ + "/gone.so").reasons(), HasSubstr("gone.so"));
  std::filesystem::copy_file("/etc/passwd", allowed_ + "/text");
  EXPECT_THAT(read(allowed_ + "/text").reasons(), HasSubstr("not an ELF file"));
  EXPECT_EQ(read("").quality(), SymbolQuality::kNone);
  EXPECT_THAT(read("two\nlines").reasons(), HasSubstr("line end"));
}

// --- when to look again

TEST_F(SymbolSourceTest, AnotherSearchIsDueWhenAFileThatItAskedForChanges) {
  const SymbolRoots roots{{allowed_}, {debug_}};
  const std::string path = copy("library.so", kStrippedPath);
  const std::string debug_path = debug_path_of(build_id_of(kStrippedPath));
  const std::string before = read(path, build_id_of(kStrippedPath)).looked_at();
  EXPECT_FALSE(FileSearch::has_changed(before, roots));
  copy("another.so");
  EXPECT_FALSE(FileSearch::has_changed(before, roots));
  EXPECT_TRUE(FileSearch::has_changed(before, {{allowed_}, {debug_, "/srv/debug"}}));
  copy_to(debug_path, kDebugPath);
  EXPECT_TRUE(FileSearch::has_changed(before, roots));
  std::filesystem::remove(debug_path);
  EXPECT_FALSE(FileSearch::has_changed(before, roots));
  std::filesystem::remove(path);
  EXPECT_TRUE(FileSearch::has_changed(before, roots));
}

// --- the vdso

TEST(VdsoSymbols, AreFoundByBuildIdOnly) {
  const auto vdso = elf::own_vdso();
  if (!vdso || vdso->build_id().empty()) {
    GTEST_SKIP() << "there is no vdso with a build ID here";
  }
  EXPECT_EQ(read_vdso_symbols(vdso->build_id()).quality(), SymbolQuality::kDynsym);
  EXPECT_EQ(read_vdso_symbols("another").quality(), SymbolQuality::kNone);
}

}  // namespace
}  // namespace plimsoll::symbolizer
