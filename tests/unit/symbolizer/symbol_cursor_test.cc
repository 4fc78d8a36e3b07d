#include "symbolizer/dwarf/symbol_cursor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <string>
#include <vector>

namespace plimsoll::symbolizer {
namespace {

using ::testing::ElementsAre;

const std::vector<CodeSection> kAllIsCode{{0, UINT64_MAX, ".text"}};

std::optional<CodeName> found_at(const std::vector<NamedCode>& symbols, uint64_t address,
                                 const std::vector<CodeSection>& sections = kAllIsCode) {
  SymbolCursor cursor(symbols, sections);
  const uint32_t name = cursor.at(address);
  return name == kNoName ? std::nullopt : std::optional(cursor.name(name));
}

// As linked; "-" where there is none.
std::string name_at(const std::vector<NamedCode>& symbols, uint64_t address,
                    const std::vector<CodeSection>& sections = kAllIsCode) {
  const auto found = found_at(symbols, address, sections);
  return std::string(found ? found->name : "-");
}

// As people know it.
std::string known_at(const std::vector<NamedCode>& symbols, uint64_t address,
                     const std::vector<CodeSection>& sections = kAllIsCode) {
  const auto found = found_at(symbols, address, sections);
  return std::string(!found ? "-" : found->known_as.empty() ? found->name : found->known_as);
}

TEST(SymbolCursor, ASymbolReachesToItsEnd) {
  const std::vector<NamedCode> symbols{{10, 5, "a"}, {20, 0, "unsized"}, {30, 5, "b"}};
  EXPECT_EQ(name_at(symbols, 9), "-");
  EXPECT_EQ(name_at(symbols, 14), "a");
  EXPECT_EQ(name_at(symbols, 15), "-");
  EXPECT_EQ(name_at(symbols, 29), "unsized");
  EXPECT_EQ(name_at(symbols, 34), "b");
  EXPECT_EQ(name_at(symbols, 35), "-");
}

TEST(SymbolCursor, OfAliasesTheLargestNamesAndThenTheLast) {
  EXPECT_EQ(name_at({{10, 8, "large"}, {10, 4, "small"}}, 10), "large");
  EXPECT_EQ(name_at({{10, 8, "first"}, {10, 8, "last"}}, 10), "last");
  EXPECT_EQ(name_at({{10, 0, "unsized"}, {10, 4, "sized"}}, 13), "sized");
  EXPECT_EQ(name_at({{10, 0, "unsized"}, {10, 4, "sized"}}, 14), "-");
}

TEST(SymbolCursor, ASymbolWithinAnotherEndsIt) {
  const std::vector<NamedCode> symbols{{10, 20, "outer"}, {15, 5, "inner"}};
  EXPECT_EQ(name_at(symbols, 14), "outer");
  EXPECT_EQ(name_at(symbols, 15), "inner");
  EXPECT_EQ(name_at(symbols, 20), "-");
}

TEST(SymbolCursor, TellsTheAliasThatPeopleKnow) {
  const std::vector<NamedCode> symbols{{10, 8, "__libc_malloc", {}, STB_GLOBAL},
                                       {10, 8, "malloc", {}, STB_GLOBAL},
                                       {10, 8, "a_local", {}, STB_LOCAL},
                                       {10, 8, "__GI___libc_malloc", {}, STB_LOCAL},
                                       {30, 8, "free", {}, STB_WEAK}};
  EXPECT_EQ(name_at(symbols, 10), "__GI___libc_malloc");
  EXPECT_EQ(known_at(symbols, 10), "malloc");
  EXPECT_EQ(known_at(symbols, 30), "free");
}

// As .symver makes them: a function of the library's own, and the versions that programs are linked with.
TEST(SymbolCursor, AnOldVersionIsNotTheNameThatPeopleKnow) {
  const std::vector<NamedCode> symbols{
      {10, 8, "open_v2", {}, STB_LOCAL},         {10, 8, "open@@LIB_2.0", {}, STB_GLOBAL},
      {10, 8, "access@LIB_1.0", {}, STB_GLOBAL}, {30, 8, "open_v1", {}, STB_LOCAL},
      {30, 8, "open@LIB_1.0", {}, STB_GLOBAL},   {50, 8, "close@@LIB_1.0", {}, STB_GLOBAL},
      {50, 8, "close", {}, STB_GLOBAL}};
  EXPECT_EQ(known_at(symbols, 10), "open@@LIB_2.0");
  EXPECT_EQ(known_at(symbols, 30), "open@LIB_1.0") << "there is no other";
  EXPECT_EQ(known_at(symbols, 50), "close");
}

// As every linker lays out what the C library's _init and _fini begin.
const std::vector<CodeSection> kSections{
    {100, 120, ".init"}, {128, 160, ".plt"}, {160, 300, ".text"}, {300, 310, ".fini"}};

TEST(SymbolCursor, OneWithoutASizeReachesToTheNextOfWhateverSection) {
  const std::vector<NamedCode> symbols{{100, 0, "_init"}, {200, 50, "main"}, {300, 0, "_fini"}};
  EXPECT_EQ(name_at(symbols, 99, kSections), "-");
  EXPECT_EQ(name_at(symbols, 119, kSections), "_init");
  EXPECT_EQ(name_at(symbols, 128, kSections), "_init");
  EXPECT_EQ(name_at(symbols, 199, kSections), "_init");
  EXPECT_EQ(name_at(symbols, 249, kSections), "main");
  EXPECT_EQ(name_at(symbols, 250, kSections), "-");
  EXPECT_EQ(name_at(symbols, 309, kSections), "_fini");
}

TEST(SymbolCursor, PeopleSeeTheSectionThatItReaches) {
  const std::vector<NamedCode> symbols{{100, 0, "_init"}, {200, 50, "main"}};
  EXPECT_EQ(known_at(symbols, 119, kSections), "_init");
  EXPECT_EQ(known_at(symbols, 128, kSections), ".plt");
  EXPECT_EQ(known_at(symbols, 159, kSections), ".plt");
  EXPECT_EQ(known_at(symbols, 160, kSections), ".text");
  EXPECT_EQ(known_at(symbols, 200, kSections), "main");
}

TEST(SymbolCursor, OutsideOfTheSectionsNothingHasAName) {
  const std::vector<NamedCode> symbols{{100, 200, "sized"}, {300, 0, "unsized"}};
  EXPECT_EQ(name_at(symbols, 119, kSections), "sized");
  EXPECT_EQ(name_at(symbols, 120, kSections), "-");
  EXPECT_EQ(name_at(symbols, 128, kSections), "sized");
  EXPECT_EQ(name_at(symbols, 310, kSections), "-");
}

// Data may lie before code, and after the label that would name it.
TEST(SymbolCursor, DataEndsWhatIsWithoutASize) {
  const std::vector<NamedCode> symbols{{10, 0, "__ehdr_start"}, {80, 4, "table", {}, STB_LOCAL}};
  EXPECT_EQ(name_at(symbols, 100, kSections), "-");
  EXPECT_EQ(name_at({symbols[0]}, 100, kSections), "__ehdr_start");
}

TEST(SymbolCursor, SizesAtTheEndOfTheAddressesDoNotOverflow) {
  EXPECT_EQ(name_at({{UINT64_MAX - 5, UINT64_MAX, "last"}}, UINT64_MAX - 1), "last");
}

TEST(SymbolCursor, SaysHowFarAnAnswerHolds) {
  const std::vector<NamedCode> symbols{{10, 5, "a"}, {20, 5, "b"}};
  SymbolCursor cursor(symbols, kAllIsCode);
  std::vector<uint64_t> changes;
  for (uint64_t at = 0; at != UINT64_MAX; at = cursor.next_change()) {
    cursor.at(at);
    changes.push_back(at);
  }
  EXPECT_THAT(changes, ElementsAre(0, 10, 15, 20, 25));
  EXPECT_EQ(cursor.end(), 25);
  EXPECT_EQ(SymbolCursor({}, kAllIsCode).end(), 0);
}

// What the header says, address by address.
std::string expected_name(const std::vector<NamedCode>& symbols, const std::vector<CodeSection>& sections,
                          uint64_t address) {
  const NamedCode* nearest = nullptr;
  for (const NamedCode& symbol : symbols) {
    const bool is_better = nearest == nullptr || symbol.address > nearest->address ||
                           (symbol.address == nearest->address && symbol.size_bytes >= nearest->size_bytes);
    if (symbol.address <= address && is_better) {
      nearest = &symbol;
    }
  }
  bool is_code = false;
  for (const CodeSection& section : sections) {
    is_code = is_code || (section.from <= address && address < section.to);
  }
  const bool reaches = is_code && nearest != nullptr &&
                       (nearest->size_bytes == 0 || address - nearest->address < nearest->size_bytes);
  return std::string(reaches ? nearest->name : "-");
}

TEST(SymbolCursor, AgreesWithASimpleModel) {
  std::mt19937_64 random(1);
  const std::vector<std::string> names{"a", "b", "c", "d", "e", "f", "g", "h"};
  for (int round = 0; round < 500; ++round) {
    std::vector<NamedCode> symbols;
    for (const std::string& name : names) {
      symbols.push_back({random() % 60, random() % 3 == 0 ? 0 : random() % 20, name});
    }
    std::vector<CodeSection> sections;
    for (uint64_t from = random() % 20; from < 70; from += 1 + random() % 10) {
      const uint64_t to = from + 1 + random() % 20;
      sections.push_back({from, to, ".text"});
      from = to;
    }
    SymbolCursor cursor(symbols, sections);
    for (uint64_t address = 0; address < 100; ++address) {
      const uint32_t name = cursor.at(address);
      ASSERT_EQ(std::string(name == kNoName ? "-" : cursor.name(name).name),
                expected_name(symbols, sections, address))
          << "round " << round << ", address " << address;
    }
  }
}

}  // namespace
}  // namespace plimsoll::symbolizer
