// Damaged ELF and DWARF: whatever it does to the process that parses it, the one that asked goes on, and knows why it got no
// table. PLIMSOLL_TEST_FUZZ_SEED: other damage; PLIMSOLL_TEST_FUZZ_TABLES: how many damaged files (500).
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "base/file.h"
#include "symbolizer/process/table_process.h"
#include "tests/fuzz/damaged_elf.h"
#include "tests/fuzz/mutate.h"
#include "tests/fuzz/seed.h"
#include "tests/places.h"
#include "tests/temporary_directory.h"

namespace plimsoll::symbolizer {
namespace {

constexpr uint64_t kMaxMemoryBytes = uint64_t{256} << 20;

int damaged_files() {
  const char* const text = std::getenv("PLIMSOLL_TEST_FUZZ_TABLES");
  return text == nullptr ? 500 : std::atoi(text);
}

std::string fixture(const std::string& name) {
  return read_file(built_file("inline_") + name + ".so", 1 << 20).value();
}

class FuzzDwarf : public ::testing::TestWithParam<const char*> {
 protected:
  // What comes of the file, which has a reason where it is no table.
  Result<MadeTable> make(const std::string& image) {
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << image;
    const TableProcess process(
        {.argv = {built_file("plimsoll"), "symtab", "worker", "--zygote"}, .is_zygote = true});
    const TableQuery query{.roots = {{folder_.path()}, {}}, .named = {.binary = path_}};
    return process.make(
        query, {.limits = {.memory_bytes = kMaxMemoryBytes, .cpu_seconds = 2}, .folder = folder_.path()});
  }

  plimsoll::testing::TemporaryDirectory folder_;
  std::string path_ = folder_ / "damaged.so";
};

// Every address may be asked for, whatever the table came from.
void look_everything_up(const Symtab& table) {
  std::vector<SymtabFrame> frames;
  table.for_each_row([&](uint64_t address) {
    frames.clear();
    table.look_up(address, frames);
  });
}

INSTANTIATE_TEST_SUITE_P(OfEachForm, FuzzDwarf,
                         ::testing::Values("gcc5", "gcc4_gz", "gcc2_strict", "clang5", "clang4_gz"));

TEST_P(FuzzDwarf, EveryFailureHasAReasonAndHarmsNobody) {
  const std::string image = fixture(GetParam());
  std::mt19937_64 random(fuzz::seed(GetParam()[3]));
  int with_lines = 0;
  const int files = damaged_files() / 5;
  for (int i = 0; i < files; ++i) {
    const auto made =
        make(random() % 2 == 0 ? fuzz::with_damaged_section(image, random) : fuzz::mutated(image, random));
    if (!made) {
      // Damage is no excuse for a crash: our reader checks what it reads.
      EXPECT_EQ(made.error().message.find("crashed"), std::string::npos)
          << made.error().text() << ", file " << i;
      EXPECT_NE(made.error().message.find(path_), std::string::npos) << made.error().text();
      continue;
    }
    EXPECT_TRUE(made->mapped || !made->reasons.empty()) << "file " << i;
    if (made->mapped) {
      look_everything_up(made->mapped->table);
      with_lines += made->quality >= SymtabQuality::kLines ? 1 : 0;
    }
  }
  EXPECT_GT(with_lines, files / 10);
}

}  // namespace
}  // namespace plimsoll::symbolizer
