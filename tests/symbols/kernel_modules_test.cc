// Debian's kernel modules with debug information: the lines that we and eu-addr2line say of random addresses.
// PLIMSOLL_TEST_SYMBOL_ADDRESSES: how many (10,000); PLIMSOLL_TEST_SYMBOL_SEED: others.
#include <elf.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "base/file.h"
#include "elf/elf_file.h"
#include "elf/module_layout.h"
#include "tests/places.h"
#include "tests/symbols/binary_table.h"
#include "tests/temporary_directory.h"

namespace plimsoll::testing::modules {
namespace {

constexpr double kMinShare = 0.999;
constexpr size_t kMaxModules = 5;
constexpr uint64_t kMaxModuleBytes = uint64_t{256} << 20;

uint64_t setting(const char* variable, uint64_t otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

// The largest of those with DWARF.
std::vector<std::string> modules_in(const std::string& folder) {
  std::vector<std::filesystem::directory_entry> found;
  std::error_code error;
  for (auto entry = std::filesystem::recursive_directory_iterator(folder, error);
       !error && entry != std::filesystem::recursive_directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename();
    if (entry->is_regular_file() && (name.ends_with(".ko") || name.ends_with(".ko.debug"))) {
      found.push_back(*entry);
    }
  }
  std::ranges::sort(found, std::greater<>(), [](const auto& entry) { return entry.file_size(); });
  std::vector<std::string> modules;
  for (const auto& entry : found) {
    const auto image = MappedFile::open(entry.path(), kMaxModuleBytes);
    const auto file = image ? elf::ElfFile::parse(image->bytes()) : propagate(image);
    if (file && !file->section_bytes(".debug_info").empty() && modules.size() < kMaxModules) {
      modules.push_back(entry.path());
    }
  }
  return modules;
}

// "file.c:12", without the folder and the column.
std::string place_of(std::string line) {
  line = line.substr(line.rfind('/') + 1);
  const size_t number = line.find(':');
  const size_t column = number == std::string::npos ? number : line.find(':', number + 1);
  return line.substr(0, column);
}

// What eu-addr2line says of each offset in .text.
std::vector<std::string> ask_eu_addr2line(const std::string& module, const std::vector<uint64_t>& offsets) {
  const TemporaryDirectory folder;
  {
    std::ofstream questions(folder / "offsets");
    for (const uint64_t offset : offsets) {
      questions << fmt::format("{:#x}\n", offset);
    }
  }
  const std::string command = fmt::format("eu-addr2line -j .text -e '{}' < '{}' > '{}' 2> /dev/null", module,
                                          folder / "offsets", folder / "answers");
  EXPECT_EQ(std::system(command.c_str()), 0);
  std::ifstream answers(folder / "answers");
  std::vector<std::string> places;
  for (std::string line; std::getline(answers, line);) {
    places.push_back(place_of(line));
  }
  return places;
}

struct Agreed {
  uint64_t compared = 0;
  uint64_t equal = 0;
};

Agreed compare(const std::string& module, uint64_t addresses, std::mt19937_64& random) {
  const auto image = MappedFile::open(module, kMaxModuleBytes);
  const auto file = *elf::ElfFile::parse(image->bytes());
  const auto text = std::ranges::find(file.sections(), ".text", &elf::Section::name);
  const auto table = BinaryTable::build({.binary = module});
  EXPECT_TRUE(table) << table.error().text();
  if (!table || text == file.sections().end() || text->size_bytes == 0) {
    return {};
  }
  const uint64_t start =
      *elf::ModuleLayout(file).address_of(static_cast<uint64_t>(text - file.sections().begin()));
  std::vector<uint64_t> offsets(addresses);
  std::ranges::generate(offsets, [&] { return random() % text->size_bytes; });
  const auto theirs = ask_eu_addr2line(module, offsets);
  EXPECT_EQ(theirs.size(), offsets.size());
  Agreed agreed;
  for (size_t i = 0; i < std::min(offsets.size(), theirs.size()); ++i) {
    // Code of no unit: eu-addr2line says ??:0.
    const Chain chain = table->chain_at(start + offsets[i]);
    const std::string ours = chain.empty() || chain.front().file.empty()
                                 ? "??:0"
                                 : place_of(fmt::format("{}:{}", chain.front().file, chain.front().line));
    ++agreed.compared;
    agreed.equal += ours == theirs[i] ? 1 : 0;
    if (ours != theirs[i] && agreed.compared - agreed.equal <= 3) {
      std::printf("  .text+%#lx: ours %s, eu-addr2line %s\n", static_cast<unsigned long>(offsets[i]),
                  ours.c_str(), theirs[i].c_str());
    }
  }
  return agreed;
}

TEST(KernelModules, HaveTheLinesThatEuAddr2lineTells) {
  const std::string folder = built_file("../bench-packages");
  const std::vector<std::string> modules = modules_in(folder);
  if (modules.empty()) {
    GTEST_SKIP() << "no kernel module with DWARF below " << folder
                 << ": unpack Debian's linux-image-*-dbg there (scripts/install.sh --bench-packages)";
  }
  std::mt19937_64 random(setting("PLIMSOLL_TEST_SYMBOL_SEED", 1));
  const uint64_t addresses = setting("PLIMSOLL_TEST_SYMBOL_ADDRESSES", 10'000) / modules.size();
  Agreed all;
  for (const std::string& module : modules) {
    const Agreed agreed = compare(module, addresses, random);
    std::printf("%s: %lu of %lu lines are equal\n", module.c_str(), static_cast<unsigned long>(agreed.equal),
                static_cast<unsigned long>(agreed.compared));
    all.compared += agreed.compared;
    all.equal += agreed.equal;
  }
  EXPECT_GT(all.compared, 0);
  EXPECT_GE(static_cast<double>(all.equal), kMinShare * static_cast<double>(all.compared));
}

}  // namespace
}  // namespace plimsoll::testing::modules
