// Damaged relocatable files and damaged DWARF, read by libdw: in the process that parses, since the code is not ours. Every
// failure has a reason, and the one that asked goes on. PLIMSOLL_TEST_FUZZ_SEED: other damage; PLIMSOLL_TEST_FUZZ_TABLES: how many
// damaged files (10,000).
#include <gtest/gtest.h>

#include <cstdio>
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
namespace libdw_fuzz {
namespace {

constexpr uint64_t kMaxMemoryBytes = uint64_t{256} << 20;
constexpr int kFiles = 4;  // that are damaged

int damaged_files() {
  const char* const text = std::getenv("PLIMSOLL_TEST_FUZZ_TABLES");
  return (text == nullptr ? 10'000 : std::atoi(text)) / kFiles;
}

struct Damaged {
  const char* file;
  ReaderChoice reader;
};

void PrintTo(const Damaged& damaged, std::ostream* stream) {
  *stream << damaged.file;
}

class FuzzLibdw : public ::testing::TestWithParam<Damaged> {
 protected:
  Result<MadeTable> make(const std::string& image) {
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << image;
    const TableQuery query{
        .roots = {{folder_.path()}, {}}, .named = {.binary = path_}, .reader = GetParam().reader};
    return process_.make(
        query, {.limits = {.memory_bytes = kMaxMemoryBytes, .cpu_seconds = 2}, .folder = folder_.path()});
  }

  const plimsoll::testing::TemporaryDirectory folder_;
  const std::string path_ = folder_ / "damaged.so";
  const TableProcess process_ =
      TableProcess({.argv = {built_file("plimsoll"), "symtab", "worker", "--zygote"}, .is_zygote = true});
};

// Every address may be asked for, whatever the table came from.
void look_all_up(const Symtab& table) {
  std::vector<SymtabFrame> frames;
  table.for_each_row([&](uint64_t address) {
    frames.clear();
    table.look_up(address, frames);
  });
}

INSTANTIATE_TEST_SUITE_P(OfEachKind, FuzzLibdw,
                         ::testing::Values(Damaged{"relocatable_gcc5.o", ReaderChoice::kBoth},
                                           Damaged{"relocatable_gz.o", ReaderChoice::kBoth},
                                           Damaged{"inline_gcc5.so", ReaderChoice::kSecondAlone},
                                           Damaged{"inline_gcc2_strict.so", ReaderChoice::kSecondAlone}));

TEST_P(FuzzLibdw, EveryFailureHasAReasonAndHarmsNoOther) {
  const std::string image = read_file(built_file(GetParam().file), uint64_t{16} << 20).value();
  std::mt19937_64 random(fuzz::seed(GetParam().file[7]));
  const int files = damaged_files();
  int by_libdw = 0;
  int crashes = 0;
  for (int i = 0; i < files; ++i) {
    const auto made =
        make(random() % 2 == 0 ? fuzz::with_damaged_section(image, random) : fuzz::mutated(image, random));
    if (!made) {
      EXPECT_NE(made.error().message.find(path_), std::string::npos) << made.error().text();
      crashes += made.error().message.find("crashed") != std::string::npos ? 1 : 0;
      continue;
    }
    EXPECT_TRUE(made->mapped || !made->reasons.empty()) << "file " << i;
    if (made->mapped) {
      look_all_up(made->mapped->table);
      by_libdw += made->mapped->table.readers() != SymtabReaders() ? 1 : 0;
    }
  }
  RecordProperty("crashes", crashes);
  std::printf("%s: %d damaged files, %d read by libdw, %d crashes\n", GetParam().file, files, by_libdw,
              crashes);
  EXPECT_GT(by_libdw, files / 10);
  // What crashes libdw costs one table. That it is rare is why it may read at all.
  EXPECT_LE(crashes, files / 1000);
}

}  // namespace
}  // namespace libdw_fuzz
}  // namespace plimsoll::symbolizer
