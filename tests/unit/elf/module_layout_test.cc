#include "elf/module_layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <optional>
#include <string>

#include "tests/unit/elf/elf_image.h"

namespace plimsoll::elf {
namespace {

constexpr uint64_t kCodeFlags = SHF_ALLOC | SHF_EXECINSTR;

// An image with another type, and other alignments of its sections.
std::string with(std::string bytes, uint16_t type, uint64_t alignment_bytes) {
  Elf64_Ehdr header{};
  std::memcpy(&header, bytes.data(), sizeof header);
  header.e_type = type;
  std::memcpy(bytes.data(), &header, sizeof header);
  for (uint16_t i = 0; i < header.e_shnum; ++i) {
    const size_t at = header.e_shoff + i * sizeof(Elf64_Shdr) + offsetof(Elf64_Shdr, sh_addralign);
    std::memcpy(bytes.data() + at, &alignment_bytes, sizeof alignment_bytes);
  }
  return bytes;
}

ElfImage module() {
  ElfImage image;
  image.loaded_section(".text", kCodeFlags, 0, 0x21);          // number 1
  image.loaded_section(".rodata", SHF_ALLOC, 0, 0x100);        // 2
  image.loaded_section(".init.text", kCodeFlags, 0, 0x40);     // 3
  image.loaded_section(".text.unlikely", kCodeFlags, 0, 0x8);  // 4
  image.loaded_section(".exit.text", kCodeFlags, 0, 0x10);     // 5
  return image;
}

TEST(ModuleLayout, HasExecutableSectionsThatStayOneBehindTheOther) {
  const std::string bytes = with(module().bytes(), ET_REL, 16);
  const auto file = ElfFile::parse(as_bytes(bytes));
  ASSERT_TRUE(file) << file.error().text();
  const ModuleLayout layout(*file);
  EXPECT_EQ(layout.address_of(1), 0);
  EXPECT_EQ(layout.address_of(2), std::nullopt) << "no code";
  EXPECT_EQ(layout.address_of(3), std::nullopt) << "freed after the start";
  EXPECT_EQ(layout.address_of(4), 0x30);
  EXPECT_EQ(layout.address_of(5), 0x40);
  EXPECT_EQ(layout.end(), 0x50);
  EXPECT_EQ(layout.address_of(100), std::nullopt);
}

TEST(ModuleLayout, IsThatOfRelocatableFilesAlone) {
  const std::string bytes = with(module().bytes(), ET_DYN, 16);
  const auto file = ElfFile::parse(as_bytes(bytes));
  ASSERT_TRUE(file) << file.error().text();
  EXPECT_EQ(ModuleLayout(*file).address_of(1), std::nullopt);
}

TEST(ModuleLayout, StaysBelowALimitWhateverTheSizes) {
  ElfImage image;
  image.loaded_section(".text", kCodeFlags, 0, UINT64_MAX - 8);
  image.loaded_section(".text.hot", kCodeFlags, 0, 0x10);
  for (const uint64_t alignment_bytes : {uint64_t{0}, uint64_t{3}, uint64_t{16}, uint64_t{1} << 63}) {
    const std::string bytes = with(image.bytes(), ET_REL, alignment_bytes);
    const auto file = ElfFile::parse(as_bytes(bytes));
    ASSERT_TRUE(file) << file.error().text();
    const ModuleLayout layout(*file);
    EXPECT_EQ(layout.address_of(1), std::nullopt);
    EXPECT_LE(layout.end(), 0x10) << alignment_bytes;
  }
}

}  // namespace
}  // namespace plimsoll::elf
