#include "symbolizer/search/code_symbols.h"

#include <elf.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/elf/elf_image.h"

namespace plimsoll::symbolizer {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr uint64_t kData = SHF_ALLOC;
constexpr uint64_t kCode = SHF_ALLOC | SHF_EXECINSTR;

struct Entry {
  std::string name;
  uint16_t section;
  uint8_t type = STT_FUNC;
  uint8_t binding = STB_GLOBAL;
  uint64_t size_bytes = 16;
};

// Symbols 16 bytes one behind the other from 0x1000 on.
void add_symbols(elf::ElfImage& image, const std::vector<Entry>& entries) {
  std::string names(1, '\0');
  std::string table = elf::object_bytes(Elf64_Sym{});
  uint64_t address = 0x1000;
  for (const Entry& entry : entries) {
    table += elf::object_bytes(Elf64_Sym{static_cast<uint32_t>(names.size()),
                                         static_cast<unsigned char>(ELF64_ST_INFO(entry.binding, entry.type)),
                                         0, entry.section, address, entry.size_bytes});
    names.append(entry.name).push_back('\0');
    address += 16;
  }
  const uint32_t strings = image.section(".strtab", SHT_STRTAB, names);
  image.section(".symtab", SHT_SYMTAB, table, strings, sizeof(Elf64_Sym));
}

// "main (main.c)"
std::vector<std::string> names_in(const elf::ElfImage& image) {
  const std::string bytes = image.bytes();
  const auto file = elf::ElfFile::parse(as_bytes(bytes));
  EXPECT_TRUE(file) << file.error().text();
  std::vector<std::string> names;
  for (const NamedCode& symbol : code_symbols(*file, SHT_SYMTAB)) {
    names.push_back(std::string(symbol.name) +
                    (symbol.file.empty() ? "" : " (" + std::string(symbol.file) + ")"));
  }
  return names;
}

class CodeSymbols : public ::testing::Test {
 protected:
  uint16_t section(std::string_view name, uint64_t flags, uint64_t address = 0x1000,
                   uint64_t bytes = 0x1000) {
    return static_cast<uint16_t>(image_.loaded_section(name, flags, address, bytes));
  }

  elf::ElfImage image_;
};

TEST_F(CodeSymbols, AreOfEachKindThatIsLoaded) {
  const uint16_t text = section(".text", kCode);
  const uint16_t data = section(".data", kData, 0x2000);
  const uint16_t comment = section(".comment", 0, 0);
  add_symbols(image_, {{"function", text},
                       {"indirect", text, STT_GNU_IFUNC},
                       {"label", text, STT_NOTYPE},
                       {"table", text, STT_OBJECT},
                       {"data", data, STT_OBJECT},
                       {".text", text, STT_SECTION},
                       {"thread_local", data, STT_TLS},
                       {"", text},
                       {"not_loaded", comment, STT_NOTYPE},
                       {"absolute", SHN_ABS, STT_NOTYPE}});
  EXPECT_THAT(names_in(image_), ElementsAre("function", "indirect", "label", "table", "data"));
}

TEST_F(CodeSymbols, LabelsWithinAFunctionArePlacesInIt) {
  const uint16_t text = section(".text", kCode);
  add_symbols(image_, {{"copy", text, STT_FUNC, STB_GLOBAL, 64},
                       {"head_of_a_loop", text, STT_NOTYPE, STB_LOCAL, 0},
                       {"nested", text, STT_FUNC, STB_LOCAL},
                       {"tail", text, STT_NOTYPE, STB_GLOBAL, 16},
                       {"behind_it", text, STT_NOTYPE, STB_GLOBAL, 0},
                       {"of_unknown_size", text, STT_FUNC, STB_GLOBAL, 0},
                       {"label", text, STT_NOTYPE, STB_GLOBAL, 0}});
  EXPECT_THAT(names_in(image_), ElementsAre("copy", "nested", "behind_it", "of_unknown_size", "label"));
}

TEST_F(CodeSymbols, LocalOnesAreOfTheFileBeforeThem) {
  const uint16_t text = section(".text", kCode);
  add_symbols(image_, {{"before", text, STT_FUNC, STB_LOCAL},
                       {"a.c", SHN_ABS, STT_FILE, STB_LOCAL},
                       {"of_a", text, STT_FUNC, STB_LOCAL},
                       {"b.c", SHN_ABS, STT_FILE, STB_LOCAL},
                       {"of_b", text, STT_FUNC, STB_LOCAL},
                       {"global", text, STT_FUNC, STB_GLOBAL}});
  EXPECT_THAT(names_in(image_), ElementsAre("before", "of_a (a.c)", "of_b (b.c)", "global"));
}

TEST_F(CodeSymbols, AreNoneWhereAllAreData) {
  section(".text", kCode);
  add_symbols(image_, {{"stdout", section(".bss", kData, 0x3000), STT_OBJECT}});
  EXPECT_THAT(names_in(image_), IsEmpty());
}

TEST_F(CodeSymbols, SectionsWithCodeComeByAddressAndApart) {
  section(".text", kCode, 0x3000, 0x100);
  section(".data", kData, 0x2000, 0x100);
  section(".init", kCode, 0x1000, 0x20);
  section(".overlapping", kCode, 0x30f0, 0x20);
  section(".within", kCode, 0x3010, 0x10);
  section(".endless", kCode, UINT64_MAX - 1, 0x1000);
  section(".empty", kCode, 0x5000, 0);
  const std::string bytes = image_.bytes();
  std::vector<std::string> found;
  for (const CodeSection& code : code_sections(*elf::ElfFile::parse(as_bytes(bytes)))) {
    found.push_back(fmt::format("{} {:x}-{:x}", code.name, code.from, code.to));
  }
  EXPECT_THAT(found, ElementsAre(".init 1000-1020", ".text 3000-3100", ".overlapping 3100-3110",
                                 ".endless fffffffffffffffe-ffffffffffffffff"));
}

}  // namespace
}  // namespace plimsoll::symbolizer
