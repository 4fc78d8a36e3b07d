// All names of real binaries: what the tables of names in the other tests may have forgotten.
#include <dlfcn.h>
#include <elf.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <set>

#include "base/file.h"
#include "elf/elf_file.h"
#include "symbolizer/names/demangle.h"
#include "tests/temporary_directory.h"

namespace plimsoll::symbolizer {
namespace {

constexpr uint64_t kMaxFileBytes = uint64_t{256} << 20;

std::string path_of_libstdcxx() {
  Dl_info info{};
  EXPECT_NE(::dladdr(::dlsym(RTLD_DEFAULT, "_ZSt9terminatev"), &info), 0);
  return info.dli_fname;
}

// This program has templates and lambdas of every kind; libstdc++ is loaded into it.
std::set<std::string> real_names() {
  std::set<std::string> names;
  for (const auto& [path, table] :
       {std::pair(std::string("/proc/self/exe"), SHT_SYMTAB), std::pair(path_of_libstdcxx(), SHT_DYNSYM)}) {
    const auto file = MappedFile::open(path, kMaxFileBytes);
    EXPECT_TRUE(file) << file.error().text();
    elf::ElfFile::parse(file->bytes())->for_each_symbol(table, [&](const elf::Symbol& symbol) {
      names.emplace(symbol.name.substr(0, symbol.name.find('@')));
    });
  }
  names.erase("");
  return names;
}

std::vector<std::string> demangled_by_binutils(const std::set<std::string>& names) {
  const plimsoll::testing::TemporaryDirectory folder;
  {
    std::ofstream input(folder / "names");
    for (const std::string& name : names) {
      input << name << '\n';
    }
  }
  const std::string command = fmt::format("c++filt -i < '{0}/names' > '{0}/demangled'", folder.path());
  EXPECT_EQ(std::system(command.c_str()), 0);
  std::ifstream output(folder / "demangled");
  std::vector<std::string> demangled;
  for (std::string line; std::getline(output, line);) {
    demangled.push_back(line);
  }
  return demangled;
}

TEST(RealNames, AreDemangledAsBinutilsDoes) {
  const auto names = real_names();
  ASSERT_GT(names.size(), 5'000);
  const auto expected = demangled_by_binutils(names);
  ASSERT_EQ(expected.size(), names.size());
  size_t i = 0;
  for (const std::string& name : names) {
    EXPECT_EQ(display_name(name, {.fold_clones = false}), expected[i++]) << name;
  }
}

// The folded name is the beginning of the name with its clone.
TEST(RealNames, FoldingTakesNothingButTheClone) {
  size_t folded = 0;
  for (const std::string& name : real_names()) {
    const std::string with_clone = display_name(name, {.fold_clones = false});
    const std::string display = display_name(name);
    EXPECT_TRUE(with_clone.starts_with(display)) << name;
    const std::string_view rest = std::string_view(with_clone).substr(display.size());
    EXPECT_TRUE(rest.empty() || rest.starts_with(" [clone .") || rest.starts_with('.')) << name;
    folded += rest.empty() ? 0 : 1;
  }
  EXPECT_GT(folded, 100) << "an optimized program has parts";
}

TEST(RealNames, AShortNameHasNoArguments) {
  for (const std::string& name : real_names()) {
    const std::string shortened = display_name(name, {.shorten_templates = true});
    EXPECT_EQ(shortened.find("allocator<char>"), std::string::npos) << name;
    EXPECT_EQ(shortened.find("> >"), std::string::npos) << name;
    EXPECT_LE(shortened.size(), 2 * display_name(name).size());
  }
}

}  // namespace
}  // namespace plimsoll::symbolizer
