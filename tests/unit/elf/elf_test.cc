#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstring>

#include "base/file.h"
#include "elf/elf_file.h"
#include "tests/fuzz/mutate.h"
#include "tests/unit/elf/elf_image.h"

namespace plimsoll::elf {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string kBuildId("\x01\x00\xfe\xff", 4);

struct NamedSymbol {
  std::string name;
  uint64_t address;
  uint16_t section = 1;
};

// A symbol table and its names. Returns the table's section.
uint32_t add_symbols(ElfImage& image, uint32_t type, const std::vector<NamedSymbol>& symbols) {
  std::string names(1, '\0');
  std::string table = object_bytes(Elf64_Sym{});
  for (const NamedSymbol& symbol : symbols) {
    table += object_bytes(Elf64_Sym{static_cast<uint32_t>(names.size()), ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
                                    0, symbol.section, symbol.address, 16});
    names.append(symbol.name).push_back('\0');
  }
  const bool is_dynamic = type == SHT_DYNSYM;
  const uint32_t strings = image.section(is_dynamic ? ".dynstr" : ".strtab", SHT_STRTAB, names);
  return image.section(is_dynamic ? ".dynsym" : ".symtab", type, table, strings, sizeof(Elf64_Sym));
}

ElfImage sample_image() {
  ElfImage image;
  image.load({PF_R, 0, 0x400000, 0x1000});
  image.load({PF_R | PF_X, 0x1000, 0x401000, 0x2000});
  image.segment(PT_NOTE, note("Other", NT_GNU_BUILD_ID, "no") + note("GNU", NT_GNU_ABI_TAG, "no") +
                             note("GNU", NT_GNU_BUILD_ID, kBuildId));
  add_symbols(image, SHT_DYNSYM, {{"exported", 0x401100}});
  add_symbols(image, SHT_SYMTAB, {{"main", 0x401000}, {"elsewhere", 0, SHN_UNDEF}, {"helper", 0x401200}});
  return image;
}

std::vector<std::string> symbol_names(const ElfFile& file, uint32_t type) {
  std::vector<std::string> names;
  file.for_each_symbol(type, [&](const Symbol& symbol) { names.emplace_back(symbol.name); });
  return names;
}

TEST(Elf, ReadsWhatALinkerWrites) {
  for (const bool extended_numbering : {false, true}) {
    const std::string bytes = sample_image().bytes(extended_numbering);
    const auto file = ElfFile::parse(as_bytes(bytes));
    ASSERT_TRUE(file.has_value()) << file.error().text();
    EXPECT_EQ(file->build_id(), kBuildId);
    EXPECT_EQ(file->segments().size(), 3);
    std::vector<std::string> sections;
    for (const Section& section : file->sections()) {
      sections.emplace_back(section.name);
    }
    EXPECT_THAT(sections, ElementsAre("", ".dynstr", ".dynsym", ".strtab", ".symtab", ""));
    EXPECT_THAT(symbol_names(*file, SHT_SYMTAB), ElementsAre("main", "helper"));
    EXPECT_THAT(symbol_names(*file, SHT_DYNSYM), ElementsAre("exported"));
  }
}

TEST(Elf, TellsEverythingOfASymbol) {
  const std::string bytes = sample_image().bytes();
  std::vector<Symbol> symbols;
  ASSERT_TRUE(ElfFile::parse(as_bytes(bytes))->for_each_symbol(SHT_DYNSYM, [&](const Symbol& symbol) {
    symbols.push_back(symbol);
  }));
  const Symbol& exported = symbols.back();
  EXPECT_EQ(exported.address, 0x401100);
  EXPECT_EQ(exported.size_bytes, 16);
  EXPECT_EQ(exported.type, STT_FUNC);
  EXPECT_EQ(exported.binding, STB_GLOBAL);
}

TEST(Elf, TellsWhichSectionASymbolLiesIn) {
  ElfImage image;
  const auto text = static_cast<uint16_t>(image.loaded_section(".text", SHF_ALLOC, 0x1000, 0x1000));
  const uint32_t far_section = image.loaded_section(".text.far", SHF_ALLOC, 0x2000, 0x1000);
  const uint32_t table = add_symbols(image, SHT_SYMTAB,
                                     {{"main", 0x1000, text},
                                      {"absolute", 0x1004, SHN_ABS},
                                      {"common", 8, SHN_COMMON},
                                      {"far", 0x2000, SHN_XINDEX},
                                      {"nowhere", 0x1008, 999}});
  image.section(".symtab_shndx", SHT_SYMTAB_SHNDX,
                object_bytes(std::array<uint32_t, 6>{0, 0, 0, 0, far_section, 0}), table, sizeof(uint32_t));
  const std::string bytes = image.bytes();
  std::vector<std::string> found;
  ElfFile::parse(as_bytes(bytes))->for_each_symbol(SHT_SYMTAB, [&](const Symbol& symbol) {
    found.push_back(std::string(symbol.name) + ": " +
                    std::string(symbol.section == nullptr ? "none" : symbol.section->name));
  });
  EXPECT_THAT(
      found, ElementsAre("main: .text", "absolute: none", "common: none", "far: .text.far", "nowhere: none"));
}

// Kernel modules have no segments.
TEST(Elf, FindsABuildIdInANoteSection) {
  ElfImage image;
  image.section(".note.gnu.build-id", SHT_NOTE, note("GNU", NT_GNU_BUILD_ID, kBuildId));
  const std::string bytes = image.bytes();
  EXPECT_EQ(ElfFile::parse(as_bytes(bytes))->build_id(), kBuildId);
}

TEST(Elf, HasNoBuildIdOrSymbolsWhereThereAreNone) {
  const std::string bytes = ElfImage().bytes();
  const auto file = ElfFile::parse(as_bytes(bytes));
  ASSERT_TRUE(file.has_value());
  EXPECT_THAT(file->build_id(), IsEmpty());
  EXPECT_FALSE(file->for_each_symbol(SHT_SYMTAB, [](const Symbol&) {}));
  EXPECT_EQ(file->address_of(0), std::nullopt);
}

TEST(BuildIdNotes, AreFoundAmongOthersAndNeverBeyondTheEnd) {
  const std::string notes = note("GNU", NT_GNU_ABI_TAG, "abc") + note("GNU", NT_GNU_BUILD_ID, "12345");
  EXPECT_EQ(find_build_id(as_bytes(notes)), "12345");
  // The padding of the last note may be missing, its description may not.
  EXPECT_EQ(find_build_id(as_bytes(notes).first(notes.size() - 3)), "12345");
  for (size_t size = 0; size < notes.size() - 3; ++size) {
    EXPECT_THAT(find_build_id(as_bytes(notes).first(size)), IsEmpty()) << size;
  }
}

TEST(AddressOf, MapsFileOffsetsWithinSegmentsOnly) {
  const std::vector<Segment> segments{{PT_LOAD, false, 0x0, 0x1000, 0x400000, 0x1000},
                                      {PT_LOAD, true, 0x1000, 0x800, 0x402000, 0x900},
                                      {PT_NOTE, false, 0x3000, 0x100, 0x500000, 0x100}};
  EXPECT_EQ(address_of(segments, 0), 0x400000);
  EXPECT_EQ(address_of(segments, 0xfff), 0x400fff);
  EXPECT_EQ(address_of(segments, 0x1000), 0x402000);
  EXPECT_EQ(address_of(segments, 0x17ff), 0x4027ff);
  EXPECT_EQ(address_of(segments, 0x1800), std::nullopt) << "zero-filled memory is not in the file";
  EXPECT_EQ(address_of(segments, 0x3000), std::nullopt) << "a note is not loaded by its own header";
  EXPECT_EQ(address_of(segments, UINT64_MAX), std::nullopt);
}

TEST(AddressOf, PrefersExecutableSegments) {
  const Segment data{PT_LOAD, false, 0, 0x2000, 0x10000, 0x2000};
  const Segment code{PT_LOAD, true, 0x1000, 0x1000, 0x90000, 0x1000};
  for (const auto& segments : {std::vector{data, code}, std::vector{code, data}}) {
    EXPECT_EQ(address_of(segments, 0xfff), 0x10fff);
    EXPECT_EQ(address_of(segments, 0x1004), 0x90004);
  }
}

struct Damage {
  std::string name;
  std::function<void(Elf64_Ehdr&)> damage;
};

std::string with_header(const std::string& bytes, const std::function<void(Elf64_Ehdr&)>& change) {
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof header);
  change(header);
  return object_bytes(header) + bytes.substr(sizeof header);
}

TEST(DamagedElf, IsRefusedWhereItsProgramHeadersAreOutOfReach) {
  const std::vector<Damage> cases{
      {"magic", [](Elf64_Ehdr& h) { h.e_ident[0] = 0; }},
      {"32 bits", [](Elf64_Ehdr& h) { h.e_ident[EI_CLASS] = ELFCLASS32; }},
      {"big-endian", [](Elf64_Ehdr& h) { h.e_ident[EI_DATA] = ELFDATA2MSB; }},
      {"program headers beyond the end", [](Elf64_Ehdr& h) { h.e_phoff = 1 << 20; }},
      {"program headers at the end of the address space", [](Elf64_Ehdr& h) { h.e_phoff = UINT64_MAX; }},
      {"too many program headers", [](Elf64_Ehdr& h) { h.e_phnum = 1000; }},
      {"program headers of another size", [](Elf64_Ehdr& h) { h.e_phentsize = 32; }},
  };
  const std::string bytes = sample_image().bytes();
  for (const Damage& c : cases) {
    const auto file = ElfFile::parse(as_bytes(with_header(bytes, c.damage)));
    ASSERT_FALSE(file.has_value()) << c.name;
    EXPECT_THAT(file.error().message, HasSubstr("ELF")) << c.name;
  }
  EXPECT_FALSE(ElfFile::parse({}).has_value());
  EXPECT_FALSE(ElfFile::parse(as_bytes(bytes).first(sizeof(Elf64_Ehdr) - 1)).has_value());
}

TEST(DamagedElf, LosesItsSectionsOnly) {
  const std::vector<Damage> cases{
      {"no section headers", [](Elf64_Ehdr& h) { h.e_shoff = 0; }},
      {"section headers beyond the end", [](Elf64_Ehdr& h) { h.e_shoff = 1 << 20; }},
      {"section headers at the end of the address space", [](Elf64_Ehdr& h) { h.e_shoff = UINT64_MAX; }},
      {"section headers of another size", [](Elf64_Ehdr& h) { h.e_shentsize = 8; }},
  };
  const std::string original = sample_image().bytes();
  for (const Damage& c : cases) {
    const std::string bytes = with_header(original, c.damage);
    const auto file = ElfFile::parse(as_bytes(bytes));
    ASSERT_TRUE(file.has_value()) << c.name;
    EXPECT_EQ(file->build_id(), kBuildId) << c.name;
    EXPECT_THAT(file->sections(), IsEmpty()) << c.name;
  }
}

TEST(DamagedElf, LosesTheNamesOfSectionsOnly) {
  const std::string bytes =
      with_header(sample_image().bytes(), [](Elf64_Ehdr& header) { header.e_shstrndx = 0x1234; });
  const auto file = ElfFile::parse(as_bytes(bytes));
  ASSERT_TRUE(file.has_value());
  EXPECT_EQ(file->sections().size(), 6);
  EXPECT_THAT(file->sections()[4].name, IsEmpty());
  EXPECT_THAT(symbol_names(*file, SHT_SYMTAB), Contains("main"));
}

TEST(DamagedElf, LosesTheSymbolsWhoseTableIsOutOfReach) {
  const std::string original = sample_image().bytes();
  Elf64_Ehdr header;
  std::memcpy(&header, original.data(), sizeof header);
  const size_t symtab = header.e_shoff + 4 * sizeof(Elf64_Shdr);
  const size_t strtab = header.e_shoff + 3 * sizeof(Elf64_Shdr);
  for (const size_t field :
       {symtab + offsetof(Elf64_Shdr, sh_offset), symtab + offsetof(Elf64_Shdr, sh_size),
        symtab + offsetof(Elf64_Shdr, sh_entsize), symtab + offsetof(Elf64_Shdr, sh_link),
        strtab + offsetof(Elf64_Shdr, sh_offset), strtab + offsetof(Elf64_Shdr, sh_size)}) {
    std::string bytes = original;
    bytes.replace(field, 4, 4, '\x7f');
    const auto file = ElfFile::parse(as_bytes(bytes));
    ASSERT_TRUE(file.has_value()) << field;
    EXPECT_FALSE(file->for_each_symbol(SHT_SYMTAB, [](const Symbol&) {})) << field;
    EXPECT_THAT(symbol_names(*file, SHT_DYNSYM), Contains("exported")) << field;
  }
}

TEST(DamagedElf, LosesTheBuildIdWhoseNotesAreOutOfReach) {
  const std::string original = sample_image().bytes();
  const size_t note_segment = sizeof(Elf64_Ehdr) + 2 * sizeof(Elf64_Phdr);
  for (const size_t field : {offsetof(Elf64_Phdr, p_offset), offsetof(Elf64_Phdr, p_filesz)}) {
    std::string bytes = original;
    bytes.replace(note_segment + field, 8, 8, '\xff');
    const auto file = ElfFile::parse(as_bytes(bytes));
    ASSERT_TRUE(file.has_value());
    EXPECT_THAT(file->build_id(), IsEmpty());
  }
}

// Thousands of headers may refer to the same notes: all of them would be read for hours.
TEST(DamagedElf, LosesTheBuildIdBehindTooManyNotes) {
  const auto build_id_behind = [](size_t bytes) {
    ElfImage image;
    image.segment(PT_NOTE, std::string(bytes, '\0') + note("GNU", NT_GNU_BUILD_ID, kBuildId));
    const std::string content = image.bytes();
    return std::string(ElfFile::parse(as_bytes(content))->build_id());
  };
  constexpr size_t kNoteBytes = 12;  // of one without a name and content
  EXPECT_EQ(build_id_behind(1000 * kNoteBytes), kBuildId);
  EXPECT_EQ(build_id_behind(2'000'000 * kNoteBytes), "");
}

TEST(DamagedElf, NeverReadsOutsideItsBytes) {
  const std::string original = sample_image().bytes();
  std::mt19937_64 random(1);
  for (int i = 0; i < 2000; ++i) {
    // On the heap and of its exact size, so that AddressSanitizer sees a read past the end.
    const std::string bytes = fuzz::mutated(original, random);
    const std::vector<char> exact(bytes.begin(), bytes.end());
    const Bytes image = std::as_bytes(std::span(exact));
    const auto file = ElfFile::parse(image);
    if (!file) {
      EXPECT_FALSE(file.error().message.empty());
      continue;
    }
    EXPECT_LE(file->build_id().size(), bytes.size());
    size_t name_bytes = 0;
    for (const uint32_t type : {SHT_SYMTAB, SHT_DYNSYM}) {
      file->for_each_symbol(type,
                            [&](const Symbol& symbol) { name_bytes += std::string(symbol.name).size(); });
    }
    for (const Section& section : file->sections()) {
      name_bytes += std::string(section.name).size();
    }
    EXPECT_LE(name_bytes, bytes.size() * bytes.size());
    file->address_of(random());
  }
}

TEST(ThisProgram, HasABuildIdAndAMain) {
  const auto mapped = MappedFile::open("/proc/self/exe", uint64_t{1} << 30);
  ASSERT_TRUE(mapped.has_value());
  const auto file = ElfFile::parse(mapped->bytes());
  ASSERT_TRUE(file.has_value()) << file.error().text();
  EXPECT_FALSE(file->build_id().empty());
  EXPECT_THAT(symbol_names(*file, SHT_SYMTAB), Contains("main"));
}

TEST(OwnVdso, HasABuildIdAndCode) {
  const auto vdso = own_vdso();
  if (!vdso) {
    EXPECT_EQ(vdso.error().code, ErrorCode::kNotFound);
    GTEST_SKIP() << vdso.error().message;
  }
  EXPECT_FALSE(vdso->build_id().empty());
  EXPECT_THAT(vdso->segments(), Contains(::testing::Field(&Segment::executable, true)));
}

}  // namespace
}  // namespace plimsoll::elf
