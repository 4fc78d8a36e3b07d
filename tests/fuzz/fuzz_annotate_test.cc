// Damaged ELF and DWARF through annotate: each file gets an answer whose sums are right, or an error that says why; the process that
// parses does not crash. PLIMSOLL_TEST_FUZZ_SEED: other damage; PLIMSOLL_TEST_FUZZ_TABLES: how many damaged files (500).
#include <elf.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/hex.h"
#include "elf/elf_file.h"
#include "query/annotate/annotate.h"
#include "query/annotate/annotation_forms.h"
#include "query/annotate/process/annotate_process.h"
#include "symbolizer/search/table_search.h"
#include "tests/fuzz/damaged_elf.h"
#include "tests/fuzz/mutate.h"
#include "tests/fuzz/seed.h"
#include "tests/places.h"
#include "tests/temporary_directory.h"

namespace plimsoll::annotate {
namespace {

constexpr uint64_t kMaxMemoryBytes = uint64_t{256} << 20;

int damaged_files() {
  const char* const text = std::getenv("PLIMSOLL_TEST_FUZZ_TABLES");
  return text == nullptr ? 500 : std::atoi(text);
}

std::string fixture(const std::string& name) {
  return read_file(built_file("inline_") + name + ".so", 1 << 20).value();
}

struct Sampled {
  std::string function = {};  // the largest
  fdo::BinaryCounts counts = {};
};

// A sample at each fourth byte of each function.
Sampled sampled(const std::string& image) {
  Sampled all;
  const auto elf = *elf::ElfFile::parse(as_bytes(image));
  all.counts.build_id = to_hex(elf.build_id());
  all.counts.event = "cycles";
  all.counts.unit = "count";
  std::map<uint64_t, double> samples;
  uint64_t largest = 0;
  elf.for_each_symbol(SHT_SYMTAB, [&](const elf::Symbol& symbol) {
    if (symbol.type != STT_FUNC) {
      return;
    }
    for (uint64_t offset = 0; offset < symbol.size_bytes; offset += 4) {
      samples[symbol.address + offset] = 1;
    }
    if (symbol.size_bytes > largest) {
      largest = symbol.size_bytes;
      all.function = symbol.name;
    }
  });
  for (const auto& [address, value] : samples) {
    all.counts.addresses.push_back({.address = address, .value = value, .samples = value});
    all.counts.value += value;
    all.counts.samples += value;
  }
  return all;
}

// Whatever the file was: each sample counts once, and all of it can be shown.
void check(const Annotation& annotation) {
  double sum = 0;
  for (const AnnotatedFunction& function : annotation.functions) {
    for (const Count& count : function.counts) {
      sum += count.value;
    }
  }
  EXPECT_DOUBLE_EQ(sum, annotation.events[0].function.value);
  EXPECT_LE(sum, annotation.events[0].binary.value + 0.5);
  for (const Order order : {Order::kSource, Order::kAddress}) {
    EXPECT_FALSE(to_text(annotation, order).empty());
    EXPECT_FALSE(to_json(annotation, order).empty());
  }
}

class FuzzAnnotate : public ::testing::TestWithParam<const char*> {
 protected:
  Result<Annotation> make(const std::string& image, const Sampled& sound) {
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << image;
    const AnnotateProcess process({.argv = {built_file("plimsoll"), "symtab", "annotate"}});
    return process.make(
        {.function = sound.function,
         .counts = {sound.counts},
         .files = {.roots = {{folder_.path()}, {}}, .named = {.binary = path_}}},
        {.limits = {.memory_bytes = kMaxMemoryBytes, .table_bytes = 16U << 20U, .cpu_seconds = 2},
         .folder = folder_.path()});
  }

  plimsoll::testing::TemporaryDirectory folder_;
  std::string path_ = folder_ / "damaged.so";
};

INSTANTIATE_TEST_SUITE_P(OfEachForm, FuzzAnnotate,
                         ::testing::Values("gcc5", "gcc4_gz", "gcc2_strict", "clang5", "clang4_gz"));

TEST_P(FuzzAnnotate, EveryFailureHasAReasonAndHarmsNoOther) {
  const std::string image = fixture(GetParam());
  const Sampled sound = sampled(image);
  std::mt19937_64 random(fuzz::seed(GetParam()[3]));
  int annotated = 0;
  const int files = damaged_files() / 5;
  for (int i = 0; i < files; ++i) {
    const auto made = make(
        random() % 2 == 0 ? fuzz::with_damaged_section(image, random) : fuzz::mutated(image, random), sound);
    if (!made) {
      EXPECT_EQ(made.error().message.find("crashed"), std::string::npos)
          << made.error().text() << ", file " << i;
      continue;
    }
    ++annotated;
    check(*made);
  }
  EXPECT_GT(annotated, files / 10);
}

// The symbol table that a data directory keeps: used where it is sound, else made of the binary again.
TEST_P(FuzzAnnotate, ADamagedKeptTableChangesNothing) {
  const std::string image = fixture(GetParam());
  const Sampled sound = sampled(image);
  std::ofstream(path_, std::ios::binary) << image;
  const symbolizer::TableQuery files{.identity_kind = wire::GNU_BUILD_ID,
                                     .identity = from_hex(sound.counts.build_id).value(),
                                     .paths = {path_},
                                     .roots = {{folder_.path()}, {}}};
  const auto table = symbolizer::find_table(files, [](uint64_t /*bytes*/) {});
  ASSERT_TRUE(table) << table.error().text();
  const AnnotateProcess process({.argv = {built_file("plimsoll"), "symtab", "annotate"}});
  const auto shown_with = [&](const std::string& kept) {
    std::ofstream(folder_ / "kept", std::ios::binary | std::ios::trunc) << kept;
    const auto made = process.make({.function = sound.function,
                                    .counts = {sound.counts},
                                    .files = files,
                                    .kept_table = folder_ / "kept"},
                                   {.folder = folder_.path()});
    return made ? to_json(*made, Order::kSource) : made.error().text();
  };
  const std::string expected = shown_with("");
  EXPECT_NE(expected.find("\"instructions\""), std::string::npos) << expected;
  EXPECT_EQ(shown_with(table->bytes), expected);
  std::mt19937_64 random(fuzz::seed(GetParam()[3]) + 2);
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(shown_with(fuzz::mutated(table->bytes, random)), expected);
  }
}

// In this process, where sanitizers look: code and symbols without DWARF.
TEST_P(FuzzAnnotate, DamagedCodeAndSymbolsAreReadWithinTheirBytes) {
  const std::string image = fixture(GetParam());
  const Sampled sound = sampled(image);
  const std::vector<fdo::BinaryCounts> counts{sound.counts};
  std::mt19937_64 random(fuzz::seed(GetParam()[3]) + 1);
  for (int i = 0; i < 500; ++i) {
    const std::string damaged =
        random() % 2 == 0 ? fuzz::with_damaged_section(image, random) : fuzz::mutated(image, random);
    const auto elf = elf::ElfFile::parse(as_bytes(damaged));
    if (!elf) {
      continue;
    }
    const auto made =
        annotate({.binary = *elf, .counts = counts, .function = sound.function, .name = "damaged"});
    if (made) {
      check(*made);
    }
  }
}

}  // namespace
}  // namespace plimsoll::annotate
