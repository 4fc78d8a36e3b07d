#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "base/file.h"
#include "elf/elf_file.h"
#include "symbolizer/dwarf/table_builder.h"
#include "symbolizer/names/demangle.h"
#include "symbolizer/search/code_symbols.h"
#include "symbolizer/symtab/symtab.h"
#include "tests/places.h"
#include "tests/temporary_directory.h"

namespace plimsoll::symbolizer {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr uint64_t kMaxFixtureBytes = uint64_t{16} << 20;

// "innermost inline_fixture.h:11", innermost frame first.
using Chain = std::vector<std::string>;

std::string base_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

// The bare name: libbfd takes some names from the DWARF as they are, and some from the symbol table.
std::string identifier(const std::string& function) {
  std::string name = display_name(function);
  constexpr std::string_view kAnonymous = "(anonymous namespace)::";
  if (const size_t at = name.find(kAnonymous); at != std::string::npos) {
    name.erase(at, kAnonymous.size());
  }
  if (name.find("operator()") != std::string::npos) {
    return "operator()";
  }
  name = name.substr(0, name.find_first_of("(<"));
  return name.substr(name.find_last_of(": ") + 1);
}

struct Fixture {
  explicit Fixture(const std::string& fixture_path) : path(fixture_path) {
    auto mapped = MappedFile::open(path, kMaxFixtureBytes);
    EXPECT_TRUE(mapped) << mapped.error().text();
    file = std::move(*mapped);
  }

  // Every address of every function with a size in the symbol table.
  std::vector<uint64_t> code() const {
    std::vector<uint64_t> addresses;
    elf::ElfFile::parse(file.bytes())->for_each_symbol(SHT_SYMTAB, [&](const elf::Symbol& symbol) {
      for (uint64_t i = 0; symbol.type == STT_FUNC && i < symbol.size_bytes; ++i) {
        addresses.push_back(symbol.address + i);
      }
    });
    return addresses;
  }

  std::string path;
  MappedFile file;
};

BuiltTable build(const Fixture& fixture, const Fixture* supplement = nullptr) {
  const auto file = *elf::ElfFile::parse(fixture.file.bytes());
  return build_table({.debug = fixture.file.bytes(),
                      .supplement = supplement == nullptr ? Bytes() : supplement->file.bytes(),
                      .package = {},
                      .symbols = code_symbols(file, SHT_SYMTAB),
                      .sections = code_sections(file),
                      .segments = file.segments(),
                      .identity = {1, file.build_id()}});
}

// The frames at each address, with the text that they borrow.
struct Frames {
  std::string table;
  std::vector<std::vector<SymtabFrame>> at;
};

Frames frames_of(BuiltTable built, const std::vector<uint64_t>& addresses) {
  Frames frames{std::move(built.bytes), {}};
  const auto table = Symtab::open(as_bytes(frames.table));
  EXPECT_TRUE(table) << table.error().text();
  for (const uint64_t address : addresses) {
    table->look_up(address, frames.at.emplace_back());
  }
  return frames;
}

enum class Names { kIdentifiers, kQualified };

std::vector<Chain> chains(const Fixture& fixture, const std::vector<uint64_t>& addresses, Names names) {
  const Frames frames = frames_of(build(fixture), addresses);
  std::vector<Chain> chains;
  for (const auto& found : frames.at) {
    Chain& chain = chains.emplace_back();
    for (const SymtabFrame& frame : found) {
      const std::string name(frame.known_as.empty() ? frame.function : frame.known_as);
      chain.push_back(fmt::format("{} {}:{}", names == Names::kQualified ? name : identifier(name),
                                  base_name(std::string(frame.file)), frame.line));
    }
  }
  return chains;
}

// What binutils says, which reads DWARF with code of its own.
std::vector<Chain> chains_of_addr2line(const Fixture& fixture, const std::vector<uint64_t>& addresses) {
  const plimsoll::testing::TemporaryDirectory folder;
  {
    std::ofstream input(folder / "addresses");
    for (const uint64_t address : addresses) {
      input << fmt::format("{:#x}\n", address);
    }
  }
  EXPECT_EQ(std::system(fmt::format("addr2line -a -i -f -e '{0}' < '{1}/addresses' > '{1}/answers'",
                                    fixture.path, folder.path())
                            .c_str()),
            0);
  std::ifstream answers(folder / "answers");
  std::vector<Chain> chains;
  std::string line;
  while (std::getline(answers, line)) {
    if (line.starts_with("0x")) {
      chains.emplace_back();
      continue;
    }
    std::string place;
    std::getline(answers, place);
    place = place.substr(0, place.find(" (discriminator"));
    place = place.ends_with(":?") ? place.substr(0, place.size() - 1) + "0" : place;
    chains.back().push_back(identifier(line) + " " + base_name(place));
  }
  return chains;
}

std::string place_of(const std::string& frame) {
  return frame.substr(frame.find(' ') + 1);
}

// The number of the line that has the mark.
int line_of(const std::string& file, const std::string& mark) {
  std::ifstream source(source_file("tests/data/") + file);
  std::string line;
  for (int number = 1; std::getline(source, line); ++number) {
    if (line.ends_with("// MARK " + mark)) {
      return number;
    }
  }
  ADD_FAILURE() << "no mark " << mark << " in " << file;
  return 0;
}

std::string in_header(const std::string& function, const std::string& mark) {
  return fmt::format("{} inline_fixture.h:{}", function, line_of("inline_fixture.h", mark));
}

std::string in_source(const std::string& function, const std::string& mark) {
  return fmt::format("{} inline_fixture.cc:{}", function, line_of("inline_fixture.cc", mark));
}

std::vector<std::string> fixture_paths() {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(built_file())) {
    const std::string name = entry.path().filename();
    // That of split DWARF is half of one: table_builder_test reads it.
    const bool is_split = name.ends_with("_dwo.so");
    if (name.starts_with("inline_") && name.ends_with(".so") && !is_split) {
      paths.push_back(entry.path());
    }
  }
  return paths;
}

class Dwarf : public ::testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(OfEachCompilerAndVersion, Dwarf, ::testing::ValuesIn(fixture_paths()),
                         [](const auto& test) { return std::filesystem::path(test.param).stem().string(); });

// binutils 2.40 finds no inlined calls in DWARF 2 without extensions, nor clang's of several ranges in DWARF 5; of clang's
// line tables without types it makes wrong names.
enum class Comparable { kWholeChains, kLines, kNothing };

Comparable comparable_in(const std::string& path) {
  if (path.ends_with("gcc2_strict.so") || path.ends_with("clang5.so")) {
    return Comparable::kLines;
  }
  return path.ends_with("clang_mlt.so") ? Comparable::kNothing : Comparable::kWholeChains;
}

TEST_P(Dwarf, SaysOfEveryAddressWhatAddr2lineSays) {
  const Fixture fixture(GetParam());
  const auto addresses = fixture.code();
  auto ours = chains(fixture, addresses, Names::kIdentifiers);
  auto theirs = chains_of_addr2line(fixture, addresses);
  ASSERT_EQ(ours.size(), theirs.size());
  size_t compared = 0;
  for (size_t i = 0; i < ours.size(); ++i) {
    if (theirs[i].front().ends_with("??:0") || comparable_in(fixture.path) == Comparable::kNothing) {
      continue;
    }
    ++compared;
    ASSERT_FALSE(ours[i].empty()) << fmt::format("at {:#x}", addresses[i]);
    // The name that it gives to the first byte of an inlined lambda is the caller's.
    const bool is_lambda = ours[i].front().starts_with("operator()");
    if (comparable_in(fixture.path) == Comparable::kWholeChains && !is_lambda) {
      EXPECT_EQ(ours[i], theirs[i]) << fmt::format("at {:#x}", addresses[i]);
    } else {
      EXPECT_EQ(place_of(ours[i].front()), place_of(theirs[i].front()))
          << fmt::format("at {:#x}", addresses[i]);
    }
  }
  EXPECT_EQ(compared > 200, comparable_in(fixture.path) != Comparable::kNothing);
}

TEST_P(Dwarf, ShowsInlinedCallsFromTheInnermostOut) {
  const Fixture fixture(GetParam());
  const auto all = chains(fixture, fixture.code(), Names::kIdentifiers);
  if (fixture.path.ends_with("gcc2_strict.so")) {
    // DWARF 2 has no words for where an inlined call stands, nor for one in several parts.
    EXPECT_THAT(all,
                Contains(Chain{in_header("innermost", "innermost"), "add :0", "middle :0", "outermost :0"}));
    return;
  }
  EXPECT_THAT(all, Contains(Chain{in_header("innermost", "innermost"), in_source("plain_c", "plain_c")}));
  EXPECT_THAT(all, Contains(Chain{in_header("innermost", "innermost"), in_header("add", "add"),
                                  in_source("middle", "middle"), in_source("outermost", "outermost")}));
  EXPECT_THAT(all, Contains(Chain{in_source("operator()", "lambda"), in_source("outermost", "outermost")}));
}

TEST(DwarfNames, AreAsLinkedOrElseHaveTheirScopes) {
  const Fixture gcc(built_file("inline_gcc5.so"));
  const auto all = chains(gcc, gcc.code(), Names::kQualified);
  // gcc writes linkage names only of what has external linkage.
  EXPECT_THAT(all, Contains(Chain{in_header("_ZN7fixture9innermostEi", "innermost"),
                                  in_header("_ZN7fixture11Accumulator3addEi", "add"),
                                  in_source("fixture::(anonymous namespace)::middle", "middle"),
                                  in_source("_ZN7fixture9outermostEi", "outermost")}));
  EXPECT_THAT(all,
              Contains(ElementsAre(in_source("fixture::outermost::(anonymous class)::operator()", "lambda"),
                                   in_source("_ZN7fixture9outermostEi", "outermost"))));
}

TEST_P(Dwarf, PathsAreAbsolute) {
  const Fixture fixture(GetParam());
  const Frames frames = frames_of(build(fixture), fixture.code());
  std::set<std::string, std::less<>> files;
  for (const auto& chain : frames.at) {
    for (const SymtabFrame& frame : chain) {
      files.emplace(frame.file);
    }
  }
  EXPECT_THAT(files, Contains(source_file("tests/data/inline_fixture.h")));
  EXPECT_THAT(files, Contains(source_file("tests/data/inline_fixture.cc")));
}

TEST_P(Dwarf, SaysNothingAboutAddressesWithoutCode) {
  const Fixture fixture(GetParam());
  for (const auto& chain : chains(fixture, {0, 1, 0x7fff'0000'0000, UINT64_MAX}, Names::kIdentifiers)) {
    EXPECT_TRUE(chain.empty());
  }
}

// --- files without DWARF, or with some that cannot be read

class DwarfOfCopies : public ::testing::Test {
 protected:
  // A copy of a fixture, changed by a command that ends with its path.
  Fixture changed(const std::string& command) {
    const std::string path = folder_ / "copy.so";
    std::filesystem::copy_file(built_file("inline_gcc5.so"), path,
                               std::filesystem::copy_options::overwrite_existing);
    EXPECT_EQ(std::system(fmt::format("{} '{}'", command, path).c_str()), 0);
    return Fixture(path);
  }

  plimsoll::testing::TemporaryDirectory folder_;
  Fixture original_{built_file("inline_gcc5.so")};
};

TEST_F(DwarfOfCopies, AStrippedFileHasOnlyWhatItsSymbolsSay) {
  const Fixture stripped = changed("strip --strip-debug");
  const auto all = chains(stripped, original_.code(), Names::kQualified);
  EXPECT_THAT(all, Contains(Chain{"plain_c :0"}));
  EXPECT_THAT(all, Not(Contains(Contains(HasSubstr("inline_fixture.h")))));
}

TEST_F(DwarfOfCopies, SectionsThatZstdCompressesAreRead) {
  const Fixture compressed = changed("objcopy --compress-debug-sections=zstd");
  EXPECT_EQ(chains(compressed, original_.code(), Names::kQualified),
            chains(original_, original_.code(), Names::kQualified));
}

TEST_F(DwarfOfCopies, ASupplementHasWhatDwzMovedThere) {
  const Fixture untouched = changed("true");
  const std::string main = folder_ / "main.so";
  std::filesystem::copy_file(untouched.path, main);
  if (std::system(
          fmt::format("dwz -m '{}/common' '{}' '{}' 2>/dev/null", folder_.path(), main, untouched.path)
              .c_str()) != 0) {
    GTEST_SKIP() << "there is no dwz here, or it found nothing to share";
  }
  const Fixture shared(main);
  const Fixture common(folder_ / "common");
  const auto addresses = original_.code();
  const Frames expected = frames_of(build(original_), addresses);
  const Frames found = frames_of(build(shared, &common), addresses);
  for (size_t i = 0; i < addresses.size(); ++i) {
    ASSERT_EQ(found.at[i].size(), expected.at[i].size());
    for (size_t depth = 0; depth < found.at[i].size(); ++depth) {
      EXPECT_EQ(found.at[i][depth].function, expected.at[i][depth].function);
      EXPECT_EQ(found.at[i][depth].line, expected.at[i][depth].line);
    }
  }
}

TEST(DamagedDwarf, EntriesThatCallTheirChildrenSiblingsAreTakenOnce) {
  const Fixture fixture(built_file("siblings.so"));
  const auto code = fixture.code();
  ASSERT_FALSE(code.empty());
  EXPECT_THAT(chains(fixture, {code.front()}, Names::kQualified).front(),
              ElementsAre(StartsWith("function ")));
}

}  // namespace
}  // namespace plimsoll::symbolizer
