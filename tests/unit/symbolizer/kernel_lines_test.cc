// Functions of kernels and modules: named by what profiles bring, and with files, lines and inlined calls
// once their files come.
#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "elf/elf_file.h"
#include "elf/module_layout.h"
#include "symbolizer/search/debug_links.h"
#include "tests/places.h"
#include "tests/unit/symbolizer/binding_fixture.h"
#include "tests/unit/symbolizer/build_id_of.h"

namespace plimsoll::symbolizer {
namespace kernel_lines_tests {
namespace {

using plimsoll::testing::add_sample;
using plimsoll::testing::make_profile;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

const std::string kKernelFile = built_file("kernel_fixture.vmlinux");
const std::string kModuleFile = built_file("module_fixture.ko");

struct NamedOffset {
  uint64_t offset;
  std::string name;
};

// As kallsyms has them, by offset.
void add_names(wire::RawProfile& profile, const std::vector<NamedOffset>& names) {
  wire::KernelImage& image = *profile.mutable_kernel_symbols()->add_images();
  image.set_binary(static_cast<uint32_t>(profile.binaries_size() - 1));
  std::string texts;
  uint64_t before = 0;
  for (const NamedOffset& named : names) {
    image.add_offset_delta(named.offset - before);
    before = named.offset;
    texts += named.name + '\0';
  }
  image.set_names(texts);
}

// "FILE:LINE" of the line of a fixture with that text.
std::string place_of(const std::string& fixture, const std::string& text) {
  const std::string source = *read_file(source_file("tests/data/" + fixture), 1 << 16);
  const size_t at = source.find(text);
  EXPECT_NE(at, std::string::npos) << text;
  const auto lines = std::count(source.begin(), source.begin() + static_cast<std::ptrdiff_t>(at), '\n');
  return fmt::format("{}:{}", fixture, lines + 1);
}

struct Code {
  uint64_t offset = 0;  // from where the kernel or the module begins
  uint64_t bytes = 0;
};

// By the file's own symbols: a kernel's count from `_text`, those of a module from where it was loaded.
Code code_of(const std::string& path, const std::string& function) {
  const std::string content = *read_file(path, uint64_t{1} << 24);
  const auto file = *elf::ElfFile::parse(as_bytes(content));
  const elf::ModuleLayout layout(file);
  uint64_t text = 0;
  Code code;
  file.for_each_symbol(SHT_SYMTAB, [&](const elf::Symbol& symbol) {
    if (symbol.name == "_text") {
      text = symbol.address;
    } else if (symbol.name == function && file.type() == ET_REL) {
      code = {
          *layout.address_of(static_cast<uint64_t>(symbol.section - file.sections().data())) + symbol.address,
          symbol.size_bytes};
    } else if (symbol.name == function) {
      code = {symbol.address, symbol.size_bytes};
    }
  });
  EXPECT_NE(code.bytes, 0) << function;
  return {code.offset - text, code.bytes};
}

class KernelLines : public BindingTest {
 protected:
  KernelLines() { std::filesystem::create_directory(debug_); }

  // Samples at each byte of a function.
  static void add_samples(wire::RawProfile& profile, const wire::Binary& image, wire::LocationKind kind,
                          const Code& code) {
    for (uint64_t i = 0; i < code.bytes; ++i) {
      add_sample(profile, image, kind, code.offset + i, 1);
    }
  }

  // Where distributions put the debug files of kernels, and the repository what is added.
  void add_debug_file(const std::string& path, const std::string& options = "") {
    const std::string place = build_id_path(debug_, build_id_of(path));
    std::filesystem::create_directories(std::filesystem::path(place).parent_path());
    const std::string command = fmt::format("objcopy {} '{}' '{}'", options, path, place);
    ASSERT_EQ(std::system(command.c_str()), 0) << command;
  }

  // Of each location of kernel code its frames, innermost first: "NAME FILE:LINE < NAME FILE:LINE"; the name
  // alone where no file is known.
  std::vector<std::string> chains() {
    auto catalogue = *store::Catalogue::open(catalogue_path_, sqlite::OpenMode::kRead);
    auto row = *catalogue.database().query(
        "SELECT location.id, coalesce(function.name, '?'), coalesce(path, ''), coalesce(line, 0) "
        "FROM location LEFT JOIN frame ON frame.location = location.id "
        "LEFT JOIN function ON function.id = frame.function LEFT JOIN source_file ON source_file.id = file "
        "WHERE kind IN (?, ?) ORDER BY location.id, depth",
        wire::KERNEL, wire::MODULE);
    std::vector<std::string> chains;
    for (int64_t last = 0; *row.step(); last = row.integer(0)) {
      const std::string file = std::filesystem::path(row.text(2)).filename().string();
      const std::string frame =
          std::string(row.text(1)) + (file.empty() ? "" : fmt::format(" {}:{}", file, row.integer(3)));
      if (row.integer(0) == last) {
        chains.back() += " < " + frame;
      } else {
        chains.push_back(frame);
      }
    }
    return chains;
  }

  int64_t quality_of(const std::string& path) {
    auto catalogue = *store::Catalogue::open(catalogue_path_, sqlite::OpenMode::kRead);
    return *catalogue.database().integer("SELECT quality FROM binary WHERE path = ?", -1, path);
  }

  std::string debug_ = folder_ / "debug";
  Symbolizer symbolizer_ = symbolizer_for({{}, {debug_}});
  wire::Binary kernel_ = binary(build_id_of(kKernelFile), "[kernel]");
  wire::Binary module_ = binary(build_id_of(kModuleFile), "ext4");
  Code schedule_ = code_of(kKernelFile, "schedule");
  std::vector<NamedOffset> kernel_names_{{schedule_.offset, "schedule"},
                                         {code_of(kKernelFile, "do_exit").offset, "do_exit"}};
};

TEST_F(KernelLines, ComeWithAVmlinuxThatArrivesAfterTheRows) {
  auto profile = make_profile({.stacks = "main 1\n"});
  add_samples(profile, kernel_, wire::KERNEL, schedule_);
  add_names(profile, kernel_names_);
  ingest(profile);
  EXPECT_EQ(bind(symbolizer_).named, schedule_.bytes);
  EXPECT_THAT(chains(), Each("schedule"));
  EXPECT_EQ(bind(symbolizer_).renamed, 0) << "nothing has come";

  add_debug_file(kKernelFile, "--only-keep-debug");
  const SymbolizeReport report = bind(symbolizer_);
  EXPECT_EQ(report.locations, 0);
  EXPECT_EQ(report.renamed, schedule_.bytes);
  EXPECT_THAT(report.improved, ElementsAre(HasSubstr("[kernel]")));
  EXPECT_THAT(chains(),
              Contains(fmt::format("pick_next {} < schedule {}", place_of("kernel_fixture.c", "// the pick"),
                                   place_of("kernel_fixture.c", "// the call of the pick"))));
  EXPECT_THAT(chains(), Each(HasSubstr("schedule kernel_fixture.c:")));
  EXPECT_EQ(quality_of("[kernel]"), static_cast<int>(store::SymbolQuality::kFull));
}

TEST_F(KernelLines, ComeWithTheDebugFileOfAModule) {
  const Code lookup = code_of(kModuleFile, "ext4_lookup");
  const Code error = code_of(kModuleFile, "ext4_error");  // in a section of its own
  auto profile = make_profile({.stacks = "main 1\n"});
  add_samples(profile, module_, wire::MODULE, lookup);
  add_samples(profile, module_, wire::MODULE, error);
  add_names(profile, {{lookup.offset, "ext4_lookup"}, {error.offset, "ext4_error"}});
  ingest(profile);
  bind(symbolizer_);
  EXPECT_THAT(chains(), Each(StartsWith("ext4_")));

  add_debug_file(kModuleFile);
  EXPECT_EQ(bind(symbolizer_).renamed, lookup.bytes + error.bytes);
  EXPECT_THAT(chains(), Contains(fmt::format("hash_name {} < ext4_lookup {}",
                                             place_of("module_fixture.c", "// the hash"),
                                             place_of("module_fixture.c", "// the call of the hash"))));
  EXPECT_THAT(chains(), Contains("ext4_error " + place_of("module_fixture.c", "return name[3]")));
  EXPECT_EQ(quality_of("ext4"), static_cast<int>(store::SymbolQuality::kFull));
}

TEST_F(KernelLines, NeedNoNamesOfProfiles) {
  auto profile = make_profile({.stacks = "main 1\n"});
  add_samples(profile, kernel_, wire::KERNEL, schedule_);
  ingest(profile);
  add_debug_file(kKernelFile);
  EXPECT_THAT(bind(symbolizer_).missing, IsEmpty());
  EXPECT_THAT(chains(), Each(HasSubstr("schedule kernel_fixture.c:")));
}

TEST_F(KernelLines, LeaveNamesOfProfilesWhereTheFileHasNone) {
  constexpr uint64_t kBehindTheFile = 0x100000;
  auto profile = make_profile({.stacks = "main 1\n"});
  add_sample(profile, kernel_, wire::KERNEL, kBehindTheFile + 4, 1);
  kernel_names_.push_back({kBehindTheFile, "patched_in"});
  add_names(profile, kernel_names_);
  ingest(profile);
  add_debug_file(kKernelFile);
  bind(symbolizer_);
  EXPECT_THAT(chains(), ElementsAre("patched_in"));
}

TEST_F(KernelLines, AFileWithSymbolsAloneChangesNoName) {
  auto profile = make_profile({.stacks = "main 1\n"});
  add_samples(profile, kernel_, wire::KERNEL, schedule_);
  add_names(profile, {{schedule_.offset, "__pi_schedule"}});  // another name of it
  ingest(profile);
  add_debug_file(kKernelFile, "--strip-debug");
  bind(symbolizer_);
  EXPECT_THAT(chains(), Each("__pi_schedule"));
}

TEST_F(KernelLines, AFileThatDoesNotSayWhereItsTextBeginsChangesNothing) {
  auto profile = make_profile({.stacks = "main 1\n"});
  add_samples(profile, kernel_, wire::KERNEL, schedule_);
  add_names(profile, kernel_names_);
  ingest(profile);
  add_debug_file(kKernelFile, "--redefine-sym _text=elsewhere");
  bind(symbolizer_);
  EXPECT_THAT(chains(), Each("schedule"));
  EXPECT_EQ(quality_of("[kernel]"), static_cast<int>(store::SymbolQuality::kSymtab));
}

TEST_F(KernelLines, AFileOfAnotherBuildIsNotTakenForIt) {
  auto profile = make_profile({.stacks = "main 1\n"});
  add_samples(profile, kernel_, wire::KERNEL, schedule_);
  add_names(profile, kernel_names_);
  ingest(profile);
  const std::string place = build_id_path(debug_, kernel_.identity());
  std::filesystem::create_directories(std::filesystem::path(place).parent_path());
  std::filesystem::copy_file(built_file("inline_gcc5.so"), place);
  bind(symbolizer_);
  EXPECT_THAT(chains(), Each("schedule"));
}

// A machine may report a program's build as a kernel's: the program keeps its names.
TEST_F(KernelLines, OfABuildThatAProgramHasTooHideNothingOfTheProgram) {
  const std::string program = built_file("inline_gcc5.so");
  auto profile = make_profile({.stacks = "main 1\n"});
  add_sample(profile, binary(build_id_of(program), "[kernel]"), wire::KERNEL, 0x1000, 1);
  add_sample(profile, binary(build_id_of(program), program), wire::ELF, code_of(program, "plain_c").offset,
             1);
  ingest(profile);
  EXPECT_EQ(bind({{built_file()}, {debug_}}).named, 1);
  EXPECT_THAT(chains(), ElementsAre("?"));
}

}  // namespace
}  // namespace kernel_lines_tests
}  // namespace plimsoll::symbolizer
