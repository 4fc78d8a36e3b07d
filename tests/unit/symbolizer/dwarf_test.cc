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
#include "symbolizer/dwarf/dwarf_file.h"
#include "symbolizer/dwarf/unit_tree.h"
#include "symbolizer/names/demangle.h"
#include "tests/temporary_directory.h"

namespace plimsoll::symbolizer {
namespace {

using ::testing::Contains;
using ::testing::EndsWith;
using ::testing::HasSubstr;

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
    auto mapped = MappedFile::open_copy_on_write(path, kMaxFixtureBytes);
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

std::vector<Chain> chains(Fixture& fixture, const std::vector<uint64_t>& addresses, bool qualified) {
  auto dwarf = DwarfFile::open(fixture.file.writable_bytes(), {});
  EXPECT_TRUE(dwarf) << dwarf.error().text();
  const auto looked_up = dwarf->look_up(addresses);
  EXPECT_TRUE(looked_up) << looked_up.error().text();
  std::vector<Chain> chains;
  for (const auto& frames : *looked_up) {
    Chain& chain = chains.emplace_back();
    for (const SourceFrame& frame : frames) {
      chain.push_back(fmt::format("{} {}:{}", qualified ? frame.function : identifier(frame.function),
                                  base_name(frame.file), frame.line));
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
  std::ifstream source(std::string(PLIMSOLL_SOURCE_DIR) + "/tests/data/" + file);
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
  for (const auto& entry : std::filesystem::directory_iterator(PLIMSOLL_BIN)) {
    const std::string name = entry.path().filename();
    if (name.starts_with("inline_") && name.ends_with(".so")) {
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
  Fixture fixture(GetParam());
  const auto addresses = fixture.code();
  auto ours = chains(fixture, addresses, false);
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
  Fixture fixture(GetParam());
  const auto all = chains(fixture, fixture.code(), false);
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
  Fixture gcc(PLIMSOLL_BIN "/inline_gcc5.so");
  const auto all = chains(gcc, gcc.code(), true);
  // gcc writes linkage names only of what has external linkage.
  EXPECT_THAT(all, Contains(Chain{in_header("_ZN7fixture9innermostEi", "innermost"),
                                  in_header("_ZN7fixture11Accumulator3addEi", "add"),
                                  in_source("fixture::(anonymous namespace)::middle", "middle"),
                                  in_source("_ZN7fixture9outermostEi", "outermost")}));
  EXPECT_THAT(all, Contains(Chain{in_source("fixture::outermost::(anonymous class)::operator()", "lambda"),
                                  in_source("_ZN7fixture9outermostEi", "outermost")}));
}

TEST_P(Dwarf, PathsAreAbsolute) {
  Fixture fixture(GetParam());
  const auto frames = *DwarfFile::open(fixture.file.writable_bytes(), {})->look_up(fixture.code());
  std::set<std::string> files;
  for (const auto& chain : frames) {
    for (const SourceFrame& frame : chain) {
      files.insert(frame.file);
    }
  }
  EXPECT_THAT(files, Contains(std::string(PLIMSOLL_SOURCE_DIR) + "/tests/data/inline_fixture.h"));
  EXPECT_THAT(files, Contains(std::string(PLIMSOLL_SOURCE_DIR) + "/tests/data/inline_fixture.cc"));
}

TEST_P(Dwarf, SaysNothingAboutAddressesWithoutCode) {
  Fixture fixture(GetParam());
  for (const auto& chain : chains(fixture, {0, 1, 0x7fff'0000'0000, UINT64_MAX}, false)) {
    EXPECT_TRUE(chain.empty());
  }
}

// --- files without DWARF, or with some that cannot be read

class DwarfOfCopies : public ::testing::Test {
 protected:
  // A copy of a fixture, changed by a command that ends with its path.
  std::string changed(const std::string& command) {
    const std::string path = folder_ / "copy.so";
    std::filesystem::copy_file(PLIMSOLL_BIN "/inline_gcc5.so", path,
                               std::filesystem::copy_options::overwrite_existing);
    EXPECT_EQ(std::system(fmt::format("{} '{}'", command, path).c_str()), 0);
    return path;
  }
  static Error refusal(const std::string& path) {
    Fixture fixture(path);
    const auto opened = DwarfFile::open(fixture.file.writable_bytes(), {});
    EXPECT_FALSE(opened);
    return opened ? Error() : opened.error();
  }

  plimsoll::testing::TemporaryDirectory folder_;
};

TEST_F(DwarfOfCopies, AStrippedFileHasNone) {
  EXPECT_EQ(refusal(changed("strip --strip-debug")).code, ErrorCode::kNotFound);
}

TEST_F(DwarfOfCopies, CompressionThatLibdwCannotReadIsNamed) {
  const std::string path = changed("true");
  if (std::system(fmt::format("objcopy --compress-debug-sections=zstd '{}' 2>/dev/null", path).c_str()) !=
      0) {
    GTEST_SKIP() << "this objcopy knows no zstd";
  }
  const Error error = refusal(path);
  EXPECT_EQ(error.code, ErrorCode::kUnsupported);
  EXPECT_THAT(error.message, HasSubstr("zstd"));
}

TEST_F(DwarfOfCopies, ASupplementThatIsNotAtHandIsAReason) {
  const std::string main = changed("true");
  const std::string twin = folder_ / "twin.so";
  std::filesystem::copy_file(main, twin);
  if (std::system(
          fmt::format("dwz -m '{}/common' '{}' '{}' 2>/dev/null", folder_.path(), main, twin).c_str()) != 0) {
    GTEST_SKIP() << "there is no dwz here, or it found nothing to share";
  }
  EXPECT_THAT(refusal(main).message, HasSubstr("supplementary file"));
  Fixture fixture(main);
  Fixture common(folder_ / "common");
  auto dwarf = DwarfFile::open(fixture.file.writable_bytes(), common.file.writable_bytes());
  ASSERT_TRUE(dwarf) << dwarf.error().text();
  Fixture original(PLIMSOLL_BIN "/inline_gcc5.so");
  const auto addresses = original.code();
  const auto expected = *DwarfFile::open(original.file.writable_bytes(), {})->look_up(addresses);
  const auto shared = *dwarf->look_up(addresses);
  for (size_t i = 0; i < addresses.size(); ++i) {
    ASSERT_EQ(shared[i].size(), expected[i].size());
    for (size_t depth = 0; depth < shared[i].size(); ++depth) {
      EXPECT_EQ(identifier(shared[i][depth].function), identifier(expected[i][depth].function));
      EXPECT_EQ(shared[i][depth].line, expected[i][depth].line);
    }
  }
}

TEST(DamagedDwarf, EntriesThatCallTheirChildrenSiblingsAreTakenOnce) {
  Fixture fixture(PLIMSOLL_BIN "/siblings.so");
  const auto code = fixture.code();
  ASSERT_FALSE(code.empty());
  const auto frames = DwarfFile::open(fixture.file.writable_bytes(), {})->look_up(code);
  ASSERT_TRUE(frames);
  ASSERT_EQ(frames->front().size(), 1);
  EXPECT_EQ(frames->front().front().function, "function");
}

// What the first unit's tree holds, read with that budget.
struct TreeSummary {
  size_t ranges = 0;
  size_t scoped = 0;  // of functions within a namespace or class
};

TreeSummary read_tree(const char* path, ReadBudget& budget) {
  const auto content = read_file(path, kMaxFixtureBytes);
  std::string image = *content;
  ::elf_version(EV_CURRENT);
  Elf* const elf = ::elf_memory(image.data(), image.size());
  auto* const dwarf = ::dwarf_begin_elf(elf, DWARF_C_READ, nullptr);
  Dwarf_CU* unit = nullptr;
  Dwarf_Die die{};
  EXPECT_EQ(::dwarf_get_units(dwarf, nullptr, &unit, nullptr, nullptr, &die, nullptr), 0);
  const UnitTree tree = UnitTree::read(die, budget);
  TreeSummary summary;
  tree.for_each_range([&](uint64_t from, uint64_t) {
    ++summary.ranges;
    summary.scoped += tree.scope_of(declaration_of(*tree.function_at(from))).empty() ? 0 : 1;
  });
  ::dwarf_end(dwarf);
  ::elf_end(elf);
  return summary;
}

TEST(DamagedDwarf, NoMoreIsReadThanTheBudgetCovers) {
  const char* const path = PLIMSOLL_BIN "/inline_gcc5.so";
  ReadBudget ample;
  const TreeSummary whole = read_tree(path, ample);
  EXPECT_GT(whole.ranges, 2);
  EXPECT_GT(whole.scoped, 0);
  ReadBudget two_ranges{.ranges = 2};
  EXPECT_EQ(read_tree(path, two_ranges).ranges, 2);
  EXPECT_EQ(two_ranges.ranges, 0);
  ReadBudget no_scopes{.scope_bytes = 10};
  const TreeSummary unscoped = read_tree(path, no_scopes);
  EXPECT_EQ(unscoped.ranges, whole.ranges);
  EXPECT_EQ(unscoped.scoped, 0);
}

}  // namespace
}  // namespace plimsoll::symbolizer
