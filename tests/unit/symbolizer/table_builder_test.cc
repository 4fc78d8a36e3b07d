// Tables made of DWARF: the same bytes whenever and however often they are made. That their answers are right is compared with
// llvm-symbolizer's in tests/e2e.
#include "symbolizer/dwarf/table_builder.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "elf/elf_file.h"
#include "symbolizer/search/code_symbols.h"
#include "symbolizer/symtab/symtab.h"
#include "tests/places.h"

namespace plimsoll::symbolizer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr uint64_t kMaxProgramBytes = uint64_t{1} << 30;

struct Program {
  explicit Program(const std::string& path) {
    auto mapped = MappedFile::open(path, kMaxProgramBytes);
    EXPECT_TRUE(mapped) << mapped.error().text();
    file = std::move(*mapped);
    auto parsed = elf::ElfFile::parse(file.bytes());
    EXPECT_TRUE(parsed) << parsed.error().text();
    inputs.debug = file.bytes();
    inputs.segments = parsed->segments();
    inputs.symbol_quality = SymtabQuality::kSymtab;
    inputs.symbols = code_symbols(*parsed, SHT_SYMTAB);
    inputs.sections = code_sections(*parsed);
  }

  uint64_t address_of(std::string_view name) const {
    for (const NamedCode& symbol : inputs.symbols) {
      if (symbol.name == name) {
        return symbol.address;
      }
    }
    ADD_FAILURE() << "no symbol " << name;
    return 0;
  }

  MappedFile file;
  TableInputs inputs;
};

// Of one frame.
std::pair<std::string, std::string> name_and_known_as_at(const std::string& table, uint64_t address) {
  std::vector<SymtabFrame> frames;
  Symtab::open(as_bytes(table))->look_up(address, frames);
  EXPECT_EQ(frames.size(), 1U);
  return frames.empty() ? std::pair<std::string, std::string>()
                        : std::pair(std::string(frames[0].function), std::string(frames[0].known_as));
}

std::vector<std::string> functions_at(const std::string& table, uint64_t address) {
  std::vector<SymtabFrame> frames;
  Symtab::open(as_bytes(table))->look_up(address, frames);
  std::vector<std::string> names;
  for (const SymtabFrame& frame : frames) {
    names.emplace_back(frame.function);
  }
  return names;
}

// This program, of many units, by one thread and by several.
TEST(TableBuilder, MakesTheSameBytesEachTime) {
  Program program("/proc/self/exe");
  const std::string first = build_table(program.inputs).bytes;
  ASSERT_GT(first.size(), 10'000U);
  for (unsigned build = 1; build < 20; ++build) {
    program.inputs.threads = 1 + build % 3;
    ASSERT_EQ(build_table(program.inputs).bytes, first) << program.inputs.threads << " threads";
  }
}

TEST(TableBuilder, SaysHowMuchItsSourcesTold) {
  Program program(built_file("inline_gcc5.so"));
  EXPECT_EQ(build_table(program.inputs).quality, SymtabQuality::kFull);
  program.inputs.debug = {};
  EXPECT_EQ(build_table(program.inputs).quality, SymtabQuality::kSymtab);
  program.inputs.symbols.clear();
  program.inputs.symbol_quality = SymtabQuality::kNone;
  EXPECT_EQ(build_table(program.inputs).quality, SymtabQuality::kNone);
}

TEST(TableBuilder, HasSymbolsWhereDwarfCannotBeRead) {
  Program program(built_file("inline_gcc5.so"));
  const std::string damaged(as_text(program.file.bytes()).substr(0, 1000));
  program.inputs.debug = as_bytes(damaged);
  const BuiltTable built = build_table(program.inputs);
  EXPECT_EQ(built.quality, SymtabQuality::kSymtab);
  EXPECT_THAT(functions_at(built.bytes, program.address_of("plain_c")), ElementsAre("plain_c"));
  EXPECT_EQ(built.problems.size(), 1U);
}

// The label may be of any code further up: people then know what DWARF says.
TEST(TableBuilder, WhereALabelReachesAFunctionPeopleKnowTheFunction) {
  Program program(built_file("inline_gcc5.so"));
  const uint64_t address = program.address_of("plain_c");
  program.inputs.symbols = {{.address = address - 1, .name = "label"}};
  EXPECT_THAT(name_and_known_as_at(build_table(program.inputs).bytes, address), Pair("label", "plain_c"));
  program.inputs.symbols = {{.address = address, .size_bytes = 1, .name = "plain_c.cold"}};
  EXPECT_THAT(name_and_known_as_at(build_table(program.inputs).bytes, address), Pair("plain_c.cold", ""));
}

TEST(TableBuilder, SaysWhichSplitDwarfIsNotAtHand) {
  Program program(built_file("inline_gcc5_dwo.so"));
  EXPECT_THAT(build_table(program.inputs).problems, ElementsAre(HasSubstr("inline_gcc5_dwo.dwo: not found")));
  std::string asked;
  const auto dwo = MappedFile::open(built_file("inline_gcc5_dwo.dwo"), kMaxProgramBytes);
  ASSERT_TRUE(dwo) << dwo.error().text();
  program.inputs.find_split = [&](const SplitName& name) {
    asked = name.name;
    return dwo->bytes();
  };
  const BuiltTable built = build_table(program.inputs);
  EXPECT_THAT(built.problems, IsEmpty());
  EXPECT_THAT(asked, HasSubstr("inline_gcc5_dwo.dwo"));
  EXPECT_EQ(built.quality, SymtabQuality::kFull);
}

TEST(TableBuilder, RefusesSplitDwarfOfAnotherBuild) {
  Program program(built_file("inline_gcc5_dwo.so"));
  std::string other;
  {
    const auto dwo = MappedFile::open(built_file("inline_gcc5_dwo.dwo"), kMaxProgramBytes);
    ASSERT_TRUE(dwo) << dwo.error().text();
    other = as_text(dwo->bytes());
  }
  const auto file = elf::ElfFile::parse(as_bytes(other));
  ASSERT_TRUE(file) << file.error().text();
  for (const elf::Section& section : file->sections()) {
    if (section.name == ".debug_info.dwo") {
      constexpr size_t kIdAt =
          12;  // behind length, version, kind, address size and abbreviations (DWARF 5, 7.5.1.2)
      ++other[section.file_offset + kIdAt];
    }
  }
  program.inputs.find_split = [&](const SplitName&) { return as_bytes(other); };
  EXPECT_THAT(build_table(program.inputs).problems, ElementsAre(HasSubstr("another build's")));
}

}  // namespace
}  // namespace plimsoll::symbolizer
