#include "symbolizer/go/go_symbols.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "base/file.h"
#include "symbolizer/search/code_symbols.h"
#include "symbolizer/symtab/symtab.h"
#include "tests/places.h"
#include "tests/unit/elf/elf_image.h"

namespace plimsoll::symbolizer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// "callee file:line < caller file:line"
std::string chain_at(const Symtab& table, uint64_t address) {
  std::vector<SymtabFrame> frames;
  table.look_up(address, frames);
  std::string text;
  for (const SymtabFrame& frame : frames) {
    text += fmt::format("{}{} {}:{}", text.empty() ? "" : " < ", frame.function, frame.file, frame.line);
  }
  return text;
}

template <typename T>
std::string bytes_of(std::initializer_list<T> values) {
  std::string bytes;
  for (const T value : values) {
    bytes += elf::object_bytes(value);
  }
  return bytes;
}

std::string padded(std::string bytes) {
  bytes.resize((bytes.size() + 7) / 8 * 8);
  return bytes;
}

// A program of one function, main.outer at 0x401000 to 0x401020, into which main.inner was inlined at 0x401008 to 0x401010:
// as Go 1.20 and later (`has_start_lines`) or Go 1.18 and 1.19 write it.
struct GoProgram {
  bool has_start_lines = true;
  uint32_t magic = has_start_lines ? 0xfffffff1 : 0xfffffff0;
  uint64_t functions = 1;
  bool has_module_data = true;

  elf::ElfImage image() const {
    constexpr uint64_t kTableAddress = 0x500000;
    constexpr uint64_t kHeaderBytes = 72;
    constexpr uint64_t kTreesAddress = 0x600000;
    const std::string names = padded(std::string("\0main.outer\0main.inner\0", 24));
    const std::string units = bytes_of<uint32_t>({0, 5});
    const std::string files = padded(std::string("a.go\0b.go\0", 10));
    // Differences, zigzag-coded, from -1 on, each with the bytes that it holds for.
    const std::string values = padded(std::string("\0", 1) +                          // 0: none
                                      std::string("\x02\x08\x02\x08\x01\x10\0", 7) +  // 1: files 0, 1, 0
                                      std::string("\x16\x08\x28\x08\x25\x10\0", 7) +  // 8: lines 10, 30, 11
                                      std::string("\0\x08\x02\x08\x01\x10\0", 7));    // 15: calls -1, 0, -1
    std::string entries = bytes_of<uint32_t>({0, 12, 0x20}) +
                          bytes_of<uint32_t>({0, /*name*/ 1, 0, 0, 0, /*files*/ 1, /*lines*/ 8,
                                              /*tables of values*/ 3, /*unit*/ 0}) +
                          (has_start_lines ? bytes_of<uint32_t>({9}) : "") + std::string("\0\0\0\x04", 4) +
                          bytes_of<uint32_t>({0, 0, /*calls*/ 15}) +
                          bytes_of<uint32_t>({UINT32_MAX, UINT32_MAX, UINT32_MAX, /*call tree*/ 8});
    uint64_t at = kHeaderBytes;
    std::string offsets;
    for (const std::string& part : {names, units, files, values}) {
      offsets += bytes_of<uint64_t>({at});
      at += part.size();
    }
    offsets += bytes_of<uint64_t>({at});
    const std::string table = bytes_of<uint32_t>({magic}) + std::string("\0\0\x01\x08", 4) +
                              bytes_of<uint64_t>({functions, 2, 0x401000}) + offsets + names + units + files +
                              values + entries;
    const std::string tree =
        std::string(8, '\0') + (has_start_lines ? bytes_of<uint32_t>({0, /*name*/ 12, /*call at*/ 4, 29})
                                                : bytes_of<uint32_t>({0xffff, 0, 10, 12, 4}));
    std::string module_data =
        std::string(16, '\0') + bytes_of<uint64_t>({kTableAddress, kTableAddress + kHeaderBytes});
    module_data.resize(16 + (has_start_lines ? 40 : 38) * 8);
    module_data += bytes_of<uint64_t>({kTreesAddress, 0});
    elf::ElfImage image;
    image.loaded_content(".gopclntab", kTableAddress, table);
    image.loaded_content(".rodata", kTreesAddress, tree);
    if (has_module_data) {
      image.loaded_content(".noptrdata", 0x700000, module_data);
    }
    return image;
  }
};

BuiltTable built(const GoProgram& program) {
  const std::string bytes = program.image().bytes();
  const auto file = elf::ElfFile::parse(as_bytes(bytes));
  auto table = build_go_table(*file, {1, "id"});
  EXPECT_TRUE(table.has_value());
  return table ? std::move(*table) : BuiltTable{};
}

std::vector<std::string> chains_of(const GoProgram& program) {
  const BuiltTable table = built(program);
  const auto symtab = Symtab::open(as_bytes(table.bytes));
  std::vector<std::string> chains;
  for (const uint64_t address : {0x400fff, 0x401000, 0x401008, 0x40100f, 0x401010, 0x40101f, 0x401020}) {
    chains.push_back(symtab ? chain_at(*symtab, address) : symtab.error().text());
  }
  return chains;
}

TEST(GoSymbols, HaveFilesLinesAndInlinedCalls) {
  for (const bool is_new : {false, true}) {
    EXPECT_THAT(chains_of({.has_start_lines = is_new}),
                ElementsAre("", "main.outer a.go:10", "main.inner b.go:30 < main.outer a.go:10",
                            "main.inner b.go:30 < main.outer a.go:10", "main.outer a.go:11",
                            "main.outer a.go:11", ""))
        << is_new;
    EXPECT_EQ(built({.has_start_lines = is_new}).quality, SymtabQuality::kFull);
  }
}

TEST(GoSymbols, LinesWithinCallsThatCannotBeToldAreLeftOut) {
  EXPECT_THAT(chains_of({.has_module_data = false}),
              ElementsAre("", "main.outer a.go:10", "main.outer :0", "main.outer :0", "main.outer a.go:11",
                          "main.outer a.go:11", ""));
  const BuiltTable table = built({.has_module_data = false});
  EXPECT_EQ(table.quality, SymtabQuality::kLines);
  EXPECT_THAT(table.problems, ElementsAre(HasSubstr("which calls were inlined")));
}

TEST(GoSymbols, TablesThatAreNotKnownOrDamagedAreSaid) {
  EXPECT_THAT(built({.magic = 0xfffffffb}).problems, ElementsAre(HasSubstr("Go before 1.18")));
  EXPECT_THAT(built({.magic = 7}).problems, ElementsAre(HasSubstr("does not begin as one")));
  EXPECT_THAT(built({.functions = 1'000'000}).problems, ElementsAre(HasSubstr("1000000 functions")));
  EXPECT_EQ(built({.magic = 7}).quality, SymtabQuality::kNone);
  const std::string other = elf::ElfImage().bytes();
  EXPECT_FALSE(build_go_table(*elf::ElfFile::parse(as_bytes(other)), {1, "id"}));
}

// Where both name the same otherwise: assembly, files that compilers made up, and types within brackets, which the runtime
// has as "...".
std::string comparable(std::string chain) {
  for (size_t at = chain.find('['); at != std::string::npos; at = chain.find('[', at + 1)) {
    chain.erase(at + 1, chain.find(']', at) - at - 1);
  }
  for (const std::string_view part : {".abi0", "./"}) {
    for (size_t at = chain.find(part); at != std::string::npos; at = chain.find(part, at)) {
      chain.erase(at, part.size());
    }
  }
  return chain;
}

// What the same program's DWARF says of each address, with all of its runtime and library.
TEST(GoSymbols, OfAStrippedProgramAreThoseOfItsDwarf) {
  const std::string path = built_file("go_load");
  if (!std::filesystem::exists(path)) {
    GTEST_SKIP() << "there is no Go here";
  }
  const auto mapped = MappedFile::open(path, uint64_t{100} << 20);
  ASSERT_TRUE(mapped) << mapped.error().text();
  const auto file = elf::ElfFile::parse(mapped->bytes());
  const auto by_dwarf = build_table({.debug = mapped->bytes(),
                                     .supplement = {},
                                     .package = {},
                                     .symbols = code_symbols(*file, SHT_SYMTAB),
                                     .sections = code_sections(*file),
                                     .segments = file->segments(),
                                     .identity = {1, "id"}});
  const auto by_runtime = build_go_table(*file, {1, "id"});
  ASSERT_TRUE(by_runtime);
  EXPECT_EQ(by_runtime->quality, SymtabQuality::kFull);
  EXPECT_THAT(by_runtime->problems, SizeIs(0));
  const auto expected = Symtab::open(as_bytes(by_dwarf.bytes));
  const auto found = Symtab::open(as_bytes(by_runtime->bytes));
  size_t addresses = 0;
  std::vector<std::string> differences;
  file->for_each_symbol(SHT_SYMTAB, [&](const elf::Symbol& symbol) {
    for (uint64_t i = 0; symbol.type == STT_FUNC && i < symbol.size_bytes; i += 5) {
      const std::string right = comparable(chain_at(*expected, symbol.address + i));
      const std::string ours = comparable(chain_at(*found, symbol.address + i));
      ++addresses;
      if (right != ours) {
        differences.push_back(fmt::format("{:#x}: {} | {}", symbol.address + i, ours, right));
      }
    }
  });
  EXPECT_GT(addresses, 10'000);
  // Some lines within inlined calls are other ones in the two, and DWARF leaves out calls inlined into wrappers.
  EXPECT_LT(differences.size() * 1000, addresses) << fmt::format("{}", fmt::join(differences, "\n"));
}

}  // namespace
}  // namespace plimsoll::symbolizer
