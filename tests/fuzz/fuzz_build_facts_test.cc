// What damaged binaries say of their making: texts of bounded length that can be printed, or nothing.
#include <gtest/gtest.h>

#include <cstdint>

#include "base/printable.h"
#include "elf/build_facts.h"
#include "elf/go_build_info.h"
#include "tests/fuzz/mutate.h"
#include "tests/fuzz/seed.h"
#include "tests/unit/elf/elf_image.h"

namespace plimsoll::elf {
namespace {

constexpr int kMutations = 10'000;
constexpr size_t kMaxFactBytes = 256 + sizeof "+dirty";

std::string go_info() {
  const std::string modules =
      std::string(16, '<') + "mod\tjob\tv1.2.3\th1:x\nbuild\tvcs.revision=abc\n" + std::string(16, '>');
  std::string info = "\xff Go buildinf:";
  info += {8, 2};
  info.resize(32);
  info += "\x06go1.19";
  return info + static_cast<char>(modules.size()) + modules;
}

std::string original() {
  ElfImage image;
  image.load({PF_R, 0, 0, 1200});
  image.segment(PT_NOTE, note("FDO", 0xcafe1a7e, R"({"type":"rpm","version":"1-2","os":"fedora"})") +
                             note(std::string("Go\0", 3), 4, "id"));
  image.section(".go.buildinfo", SHT_PROGBITS, go_info());
  image.section(".comment", SHT_PROGBITS, std::string("GCC: (GNU) 13.1.1\0rustc version 1.70.0\0", 39));
  return image.bytes();
}

void expect_fact(const std::string& fact) {
  EXPECT_LE(fact.size(), kMaxFactBytes);
  EXPECT_EQ(fact, printable(fact));
}

TEST(FuzzBuildFacts, DamagedFilesGivePrintableTexts) {
  const std::string whole = original();
  std::mt19937_64 random(fuzz::seed(11));
  int told = 0;
  for (int i = 0; i < kMutations; ++i) {
    const std::string bytes = fuzz::mutated(whole, random);
    const auto image = LoadedImage::from_file(read_at_of(as_bytes(bytes)));
    const BuildFacts facts = image ? read_build_facts(*image) : BuildFacts();
    for (const std::string& fact : {facts.compiler, facts.revision, facts.builder}) {
      expect_fact(fact);
      told += fact.empty() ? 0 : 1;
    }
  }
  EXPECT_GT(told, kMutations) << "nearly all damage was to headers";
}

TEST(FuzzBuildFacts, DamagedPartsGivePrintableTexts) {
  const std::string json = R"({"type":"rpm","version":"1-2\u00e9","osCpe":"cpe:/o:fedoraproject:fedora:33"})";
  const std::string comment("GCC: (GNU) 13.1.1\0rustc version 1.70.0\0", 39);
  const std::string modules = "mod\tjob\tv1.2.3\th1:x\nbuild\tvcs.revision=abc\nbuild\tvcs.modified=true\n";
  std::mt19937_64 random(fuzz::seed(12));
  int told = 0;
  for (int i = 0; i < kMutations; ++i) {
    const BuildFacts package = package_facts(fuzz::mutated(json, random));
    const BuildFacts go = go_module_facts(fuzz::mutated(modules, random));
    for (const std::string& fact :
         {package.revision, package.builder, go.revision, main_compiler(fuzz::mutated(comment, random))}) {
      expect_fact(fact);
      told += fact.empty() ? 0 : 1;
    }
  }
  EXPECT_GT(told, kMutations);
}

}  // namespace
}  // namespace plimsoll::elf
