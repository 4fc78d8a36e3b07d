#include <elf.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "elf/elf_file.h"
#include "symbolizer/dwarf/dwarf_file.h"
#include "tests/fuzz/mutate.h"

namespace plimsoll::symbolizer {
namespace {

constexpr int kMutations = 10'000;

std::string fixture(const std::string& name) {
  return read_file(PLIMSOLL_BIN "/inline_" + name + ".so", 1 << 20).value();
}

// Some addresses of every function.
std::vector<uint64_t> code_of(const std::string& image) {
  std::vector<uint64_t> addresses;
  elf::ElfFile::parse(as_bytes(image))->for_each_symbol(SHT_SYMTAB, [&](const elf::Symbol& symbol) {
    for (uint64_t i = 0; symbol.type == STT_FUNC && i < symbol.size_bytes; i += 7) {
      addresses.push_back(symbol.address + i);
    }
  });
  return addresses;
}

// True where there was DWARF to read. It may say anything, but must come to an end.
bool looks_up(std::string image, const std::vector<uint64_t>& addresses) {
  const auto bytes = std::as_writable_bytes(std::span(image.data(), image.size()));
  auto dwarf = DwarfFile::open(bytes, {});
  if (!dwarf) {
    EXPECT_FALSE(dwarf.error().message.empty());
    return false;
  }
  const auto frames = dwarf->look_up(addresses);
  EXPECT_TRUE(!frames || frames->size() == addresses.size());
  return true;
}

// The damage of one section, which keeps its size, so that all else is still found.
std::string with_damage(std::string image, const elf::Section& section, std::mt19937_64& random) {
  const std::string_view content(image.data() + section.file_offset, section.size_bytes);
  std::string damaged = fuzz::mutated(content, random);
  damaged.resize(content.size());
  image.replace(section.file_offset, damaged.size(), damaged);
  return image;
}

class FuzzDwarf : public ::testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(OfEachVersion, FuzzDwarf, ::testing::Values("gcc5", "gcc4_gz", "gcc2_strict"));

TEST_P(FuzzDwarf, DamagedSectionsAreReadToAnEnd) {
  const std::string image = fixture(GetParam());
  const auto addresses = code_of(image);
  ASSERT_GT(addresses.size(), 20);
  const auto file = *elf::ElfFile::parse(as_bytes(image));
  std::vector<elf::Section> sections;
  std::ranges::copy_if(file.sections(), std::back_inserter(sections),
                       [](const elf::Section& section) { return section.name.starts_with(".debug_"); });
  std::mt19937_64 random(1);
  int readable = 0;
  for (int i = 0; i < kMutations; ++i) {
    const elf::Section& section = sections[random() % sections.size()];
    readable += looks_up(with_damage(image, section, random), addresses) ? 1 : 0;
  }
  EXPECT_GT(readable, kMutations / 20);
}

TEST(FuzzElf, DamagedFilesAreReadToAnEnd) {
  const std::string image = fixture("gcc5");
  const auto addresses = code_of(image);
  std::mt19937_64 random(2);
  for (int i = 0; i < kMutations; ++i) {
    looks_up(fuzz::mutated(image, random), addresses);
  }
}

}  // namespace
}  // namespace plimsoll::symbolizer
