#include "symbolizer/symtab/symbol_table.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace plimsoll::symbolizer::symbol_table_test {
namespace {

struct Entry {
  std::string name;
  uint64_t address;
  uint64_t size_bytes;
  uint8_t binding = STB_GLOBAL;
  uint8_t type = STT_FUNC;
};

template <typename T>
void append(std::string& out, const T& value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

struct Code {
  uint64_t address;
  uint64_t size_bytes;
};

// An ELF image of nothing but a symbol table, in the order given, and a section of code that it describes.
std::string image_with(const std::vector<Entry>& entries, Code code) {
  std::string names(1, '\0');
  std::string symbols(sizeof(Elf64_Sym), '\0');
  for (const Entry& entry : entries) {
    Elf64_Sym symbol{};
    symbol.st_name = static_cast<uint32_t>(names.size());
    symbol.st_info = static_cast<unsigned char>(ELF64_ST_INFO(entry.binding, entry.type));
    symbol.st_shndx = 1;
    symbol.st_value = entry.address;
    symbol.st_size = entry.size_bytes;
    append(symbols, symbol);
    names += entry.name + '\0';
  }
  Elf64_Shdr sections[4]{};
  sections[1].sh_type = SHT_SYMTAB;
  sections[1].sh_offset = sizeof(Elf64_Ehdr) + sizeof sections;
  sections[1].sh_size = symbols.size();
  sections[1].sh_entsize = sizeof(Elf64_Sym);
  sections[1].sh_link = 2;
  sections[2].sh_type = SHT_STRTAB;
  sections[2].sh_offset = sections[1].sh_offset + symbols.size();
  sections[2].sh_size = names.size();
  sections[3].sh_type = SHT_PROGBITS;
  sections[3].sh_addr = code.address;
  sections[3].sh_size = code.size_bytes;
  Elf64_Ehdr header{};
  std::copy_n(ELFMAG, SELFMAG, header.e_ident);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_shoff = sizeof header;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 4;
  std::string image;
  append(image, header);
  append(image, sections);
  return image + symbols + names;
}

SymbolTable table_of(const std::vector<Entry>& entries, Code code = {0, 0}) {
  const std::string image = image_with(entries, code);
  const auto file = elf::ElfFile::parse(as_bytes(image));
  EXPECT_TRUE(file) << file.error().text();
  return SymbolTable::from_elf(*file, SHT_SYMTAB);
}

std::string name_at(const SymbolTable& table, uint64_t address) {
  const FunctionSymbol* const symbol = table.find(address);
  return symbol == nullptr ? "-" : symbol->name;
}

TEST(SymbolTable, AFunctionReachesAsFarAsItsSize) {
  const SymbolTable table = table_of({{"b", 200, 50}, {"a", 100, 10}});
  EXPECT_EQ(table.size(), 2);
  EXPECT_EQ(name_at(table, 99), "-");
  EXPECT_EQ(name_at(table, 100), "a");
  EXPECT_EQ(name_at(table, 109), "a");
  EXPECT_EQ(name_at(table, 110), "-");  // a gap
  EXPECT_EQ(name_at(table, 199), "-");
  EXPECT_EQ(name_at(table, 249), "b");
  EXPECT_EQ(name_at(table, 250), "-");
  EXPECT_EQ(name_at(table, UINT64_MAX), "-");
}

TEST(SymbolTable, WithoutASizeItReachesToTheNext) {
  const SymbolTable table = table_of({{"_start", 100, 0}, {"main", 200, 10}, {"end", 300, 0}});
  EXPECT_EQ(name_at(table, 199), "_start");
  EXPECT_EQ(name_at(table, 200), "main");
  EXPECT_EQ(name_at(table, 299), "-");
  EXPECT_EQ(name_at(table, 1'000'000), "end");
}

TEST(SymbolTable, WithoutASizeItStaysWithinItsSection) {
  // As _init does before .plt, and _fini before whatever follows.
  const SymbolTable table = table_of({{"_init", 100, 0}, {"main", 300, 10}}, {90, 50});
  EXPECT_EQ(name_at(table, 139), "_init");
  EXPECT_EQ(name_at(table, 140), "-");
  EXPECT_EQ(name_at(table, 299), "-");
}

TEST(SymbolTable, SizesAtTheEndOfTheAddressSpaceDoNotWrap) {
  const SymbolTable table = table_of({{"last", UINT64_MAX - 1, UINT64_MAX}});
  EXPECT_EQ(name_at(table, UINT64_MAX - 1), "last");
  EXPECT_EQ(name_at(table, 5), "-");
}

TEST(SymbolTable, OfAliasesTheOneChosenDoesNotDependOnTheirOrder) {
  std::vector<Entry> aliases = {
      {"aa_local", 100, 10, STB_LOCAL}, {"aa_weak", 100, 10, STB_WEAK}, {"zz_global", 100, 10},
      {"mm_global", 100, 10},           {"aa_without_size", 100, 0},
  };
  std::mt19937_64 random(1);
  for (int i = 0; i < 50; ++i) {
    std::ranges::shuffle(aliases, random);
    EXPECT_EQ(name_at(table_of(aliases), 105), "mm_global");
  }
  EXPECT_EQ(name_at(table_of({{"weak", 1, 1, STB_WEAK}, {"a_local", 1, 1, STB_LOCAL}}), 1), "weak");
}

TEST(SymbolTable, OnlyFunctionsCount) {
  const SymbolTable table = table_of({{"variable", 100, 10, STB_GLOBAL, STT_OBJECT},
                                      {"", 200, 10},
                                      {"resolver", 300, 10, STB_GLOBAL, STT_GNU_IFUNC},
                                      {"file.c", 0, 0, STB_LOCAL, STT_FILE},
                                      {"label", 400, 0, STB_LOCAL, STT_NOTYPE}});
  EXPECT_EQ(table.size(), 1);
  EXPECT_EQ(name_at(table, 305), "resolver");
}

TEST(SymbolTable, AFunctionGoesOnBehindOneThatLiesWithinIt) {
  // Hand-written assembly has entry points of their own sizes inside of functions.
  const SymbolTable table = table_of({{"outer", 100, 100}, {"inner", 120, 30}, {"innermost", 130, 5}});
  EXPECT_EQ(name_at(table, 119), "outer");
  EXPECT_EQ(name_at(table, 120), "inner");
  EXPECT_EQ(name_at(table, 132), "innermost");
  EXPECT_EQ(name_at(table, 135), "inner");
  EXPECT_EQ(name_at(table, 150), "outer");
  EXPECT_EQ(name_at(table, 199), "outer");
  EXPECT_EQ(name_at(table, 200), "-");
}

TEST(SymbolTable, AgreesWithTheDefinitionForRandomSymbols) {
  // Among the functions that contain an address: the one that starts last.
  std::mt19937_64 random(2);
  for (int round = 0; round < 200; ++round) {
    std::vector<Entry> entries;
    for (uint64_t address = 0; address < 200; ++address) {
      if (random() % 8 == 0) {
        entries.push_back({fmt::format("f{}", address), address, 1 + random() % 40});
      }
    }
    const SymbolTable table = table_of(entries);
    for (uint64_t address = 0; address < 260; ++address) {
      std::string expected = "-";
      for (const Entry& entry : entries) {
        if (entry.address <= address && address - entry.address < entry.size_bytes) {
          expected = entry.name;
        }
      }
      ASSERT_EQ(name_at(table, address), expected) << "round " << round << ", address " << address;
    }
  }
}

TEST(SymbolTable, OffsetsReachToTheNextAndTheLastToTheEnd) {
  const SymbolTable table = SymbolTable::from_offsets({{200, 0, "b"}, {100, 0, "a"}}, 250);
  EXPECT_EQ(name_at(table, 99), "-");
  EXPECT_EQ(name_at(table, 199), "a");
  EXPECT_EQ(name_at(table, 249), "b");
  EXPECT_EQ(name_at(table, 250), "-");
}

TEST(SymbolTable, AnEmptyTableHasNoAnswers) {
  EXPECT_TRUE(table_of({}).empty());
  EXPECT_EQ(SymbolTable().find(0), nullptr);
}

}  // namespace
}  // namespace plimsoll::symbolizer::symbol_table_test
