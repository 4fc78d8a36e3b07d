// What is kept of a binary where its symbols alone are sent.
#include "elf/binary_part.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "tests/unit/elf/elf_image.h"
#include "tests/unit/elf/part_of.h"

namespace plimsoll::elf::binary_part_test {
namespace {

using ::testing::HasSubstr;

struct Sample {
  bool has_symtab = true;
  bool has_dwarf = true;
};

std::string symbol_table() {
  Elf64_Sym work{};
  work.st_name = 1;
  work.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
  work.st_shndx = 1;
  work.st_value = 0x1000;
  work.st_size = 64;
  return object_bytes(Elf64_Sym{}) + object_bytes(work);
}

std::string image_of(const Sample& sample) {
  ElfImage image;
  image.load({PF_R | PF_X, 0x400, 0x1000, 64});
  image.code(".text", 0x1000, std::string(64, '\x90'));
  image.loaded_content(".data", 0x3000, "secrets of the program");
  image.section(".note.gnu.build-id", SHT_NOTE, note("GNU", NT_GNU_BUILD_ID, "a build ID"));
  image.loaded_content(".gopclntab", 0x4000, "functions of Go");
  const uint32_t exported = image.section(".dynstr", SHT_STRTAB, std::string("\0exported\0", 10));
  image.section(".dynsym", SHT_DYNSYM, symbol_table(), exported, sizeof(Elf64_Sym));
  if (sample.has_symtab) {
    const uint32_t names = image.section(".strtab", SHT_STRTAB, std::string("\0work\0", 6));
    image.section(".symtab", SHT_SYMTAB, symbol_table(), names, sizeof(Elf64_Sym));
  }
  if (sample.has_dwarf) {
    image.section(".debug_info", SHT_PROGBITS, "units");
    image.section(".debug_str", SHT_PROGBITS, "strings");
  }
  image.section(".comment", SHT_PROGBITS, "made by a test");
  return image.bytes();
}

// "name", one a line, of all that have content.
std::vector<std::string> contents_of(const std::string& image) {
  const auto file = ElfFile::parse(as_bytes(image));
  EXPECT_TRUE(file) << file.error().text();
  std::vector<std::string> names;
  for (const Section& section : file ? file->sections() : std::vector<Section>()) {
    if (section.type != SHT_NULL && section.type != SHT_NOBITS && !section.name.empty()) {
      names.emplace_back(section.name);
    }
  }
  return names;
}

std::string part(const Sample& sample, BinaryPart kind) {
  const auto made = part_of(image_of(sample), kind);
  EXPECT_TRUE(made) << made.error().text();
  return made.value_or("");
}

TEST(BinaryPart, HasTheSymbolsOrTheDwarfTooAndNeverTheCode) {
  using ::testing::ElementsAre;
  EXPECT_THAT(contents_of(part({}, BinaryPart::kSymbolsOnly)),
              ElementsAre(".note.gnu.build-id", ".strtab", ".symtab", ".plimsoll.part"));
  EXPECT_THAT(
      contents_of(part({}, BinaryPart::kDebugSections)),
      ElementsAre(".note.gnu.build-id", ".strtab", ".symtab", ".debug_info", ".debug_str", ".plimsoll.part"));
  for (const BinaryPart kind : {BinaryPart::kSymbolsOnly, BinaryPart::kDebugSections}) {
    for (const bool has_dwarf : {false, true}) {
      const std::string made = part({.has_symtab = has_dwarf, .has_dwarf = has_dwarf}, kind);
      EXPECT_EQ(made.find("secrets"), std::string::npos);
      EXPECT_EQ(made.find("\x90\x90\x90"), std::string::npos);
      EXPECT_EQ(made.find("made by a test"), std::string::npos);
    }
  }
  EXPECT_EQ(part({}, BinaryPart::kWholeFile), image_of({}));
}

TEST(BinaryPart, HasTheNextBestWhereThereAreNoSymbols) {
  using ::testing::ElementsAre;
  const std::vector<std::string> stripped{".note.gnu.build-id", ".gopclntab", ".dynstr", ".dynsym",
                                          ".plimsoll.part"};
  const Sample sample{.has_symtab = false, .has_dwarf = false};
  EXPECT_EQ(contents_of(part(sample, BinaryPart::kSymbolsOnly)), stripped);
  EXPECT_EQ(contents_of(part(sample, BinaryPart::kDebugSections)), stripped);
  EXPECT_THAT(contents_of(part({.has_symtab = true, .has_dwarf = false}, BinaryPart::kDebugSections)),
              ElementsAre(".note.gnu.build-id", ".gopclntab", ".strtab", ".symtab", ".plimsoll.part"));
}

TEST(BinaryPart, IsAnElfFileOfTheSameBuildAndPlaces) {
  const std::string whole = image_of({});
  const std::string made = part({}, BinaryPart::kDebugSections);
  const auto before = ElfFile::parse(as_bytes(whole));
  const auto after = ElfFile::parse(as_bytes(made));
  ASSERT_TRUE(before && after);
  EXPECT_EQ(after->build_id(), "a build ID");
  EXPECT_EQ(before->address_of(0x410), 0x1010);
  EXPECT_EQ(after->address_of(0x410), 0x1010) << "file offsets are those of the whole file";
  ASSERT_EQ(after->sections().size(), before->sections().size() + 1);
  for (size_t i = 0; i < before->sections().size(); ++i) {
    const Section& section = after->sections()[i];
    EXPECT_EQ(section.name, before->sections()[i].name);
    EXPECT_EQ(section.address, before->sections()[i].address);
    if (section.type != SHT_NULL && section.type != SHT_NOBITS && !section.name.empty()) {
      EXPECT_EQ(as_text(after->bytes_of(section)), as_text(before->bytes_of(before->sections()[i])));
    }
  }
  std::vector<std::string> symbols;
  EXPECT_TRUE(after->for_each_symbol(SHT_SYMTAB, [&](const Symbol& symbol) {
    symbols.emplace_back(symbol.name);
    EXPECT_EQ(symbol.section->name, ".text");
  }));
  EXPECT_THAT(symbols, ::testing::ElementsAre("work"));
  EXPECT_EQ(whole_file_hash(*after), kSampleHash);
  EXPECT_FALSE(whole_file_hash(*before));
}

TEST(BinaryPart, OfAFileWithoutSectionHeadersThereIsNone) {
  std::string stripped = image_of({});
  Elf64_Ehdr header{};
  std::memcpy(&header, stripped.data(), sizeof header);
  header.e_shoff = 0;
  header.e_shnum = 0;
  std::memcpy(stripped.data(), &header, sizeof header);
  const auto made = part_of(stripped, BinaryPart::kSymbolsOnly);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(made.error().text(), HasSubstr("no section headers"));
  EXPECT_FALSE(part_of("no ELF file", BinaryPart::kSymbolsOnly));
}

// A part is no larger than the file, its headers and its names.
TEST(BinaryPart, OfADamagedFileIsBoundedOrRefused) {
  std::mt19937_64 random(41);
  const std::string whole = image_of({});
  int made_parts = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string damaged = whole;
    for (uint64_t count = 1 + random() % 4; count > 0; --count) {
      damaged[random() % damaged.size()] = static_cast<char>(random() % 256);
    }
    const auto made =
        part_of(damaged, random() % 2 == 0 ? BinaryPart::kSymbolsOnly : BinaryPart::kDebugSections);
    if (made) {
      ++made_parts;
      EXPECT_LE(made->size(), 12 * whole.size() + 4096);
    }
  }
  EXPECT_GT(made_parts, 1000);
}

TEST(BinaryPart, HasAName) {
  for (const BinaryPart kind :
       {BinaryPart::kSymbolsOnly, BinaryPart::kDebugSections, BinaryPart::kWholeFile}) {
    EXPECT_EQ(parse_binary_part(name_of(kind)), kind);
  }
  EXPECT_FALSE(parse_binary_part("all"));
  EXPECT_FALSE(parse_binary_part(""));
}

}  // namespace
}  // namespace plimsoll::elf::binary_part_test
