// All names of real binaries: what the tables of names in the other tests may have forgotten.
#include <dlfcn.h>
#include <elf.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
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

std::vector<std::string> demangled_by(std::string_view program, const std::set<std::string>& names) {
  const plimsoll::testing::TemporaryDirectory folder;
  {
    std::ofstream input(folder / "names");
    for (const std::string& name : names) {
      input << name << '\n';
    }
  }
  const std::string command = fmt::format("{1} < '{0}/names' > '{0}/demangled'", folder.path(), program);
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
  const auto expected = demangled_by("c++filt -i", names);
  ASSERT_EQ(expected.size(), names.size());
  size_t i = 0;
  size_t beyond_binutils =
      0;  // manglings of clang, where it compiled this program: the next test is about them
  for (const std::string& name : names) {
    const std::string& by_binutils = expected[i++];
    const std::string display = display_name(name, {.fold_clones = false});
    const bool is_read_here_alone = by_binutils == name && name.starts_with("_Z") && display != name;
    beyond_binutils += is_read_here_alone ? 1 : 0;
    EXPECT_EQ(display, is_read_here_alone ? display : by_binutils) << name;
  }
  EXPECT_LT(beyond_binutils, names.size() / 20);
}

std::string shared_library(const char* command) {
  std::array<char, 4096> path{};
  FILE* const output = ::popen(command, "r");
  const bool is_read = output != nullptr && std::fgets(path.data(), path.size(), output) != nullptr;
  if (output != nullptr) {
    ::pclose(output);
  }
  std::string text = is_read ? path.data() : "";
  text.resize(std::min(text.find('\n'), text.size()));
  return text;
}

// clang compiles itself, with manglings that binutils do not read.
TEST(RealNames, OfClangAreReadWhereLlvmReadsThem) {
  const std::string library = shared_library("ls /usr/lib/llvm-19/lib/libclang-cpp.so.19.1 2>/dev/null");
  if (library.empty() || std::system("command -v llvm-cxxfilt-19 >/dev/null") != 0) {
    GTEST_SKIP() << "libclang-cpp19 or llvm-cxxfilt-19 is missing (Debian packages libclang-cpp19, llvm-19)";
  }
  const auto file = MappedFile::open(library, kMaxFileBytes);
  ASSERT_TRUE(file) << file.error().text();
  std::set<std::string> names;
  elf::ElfFile::parse(file->bytes())->for_each_symbol(SHT_DYNSYM, [&](const elf::Symbol& symbol) {
    const bool is_cpp = symbol.name.starts_with("_Z");
    names.emplace(is_cpp ? symbol.name.substr(0, symbol.name.find('@')) : "");
  });
  names.erase("");
  ASSERT_GT(names.size(), 10'000);
  const auto by_llvm = demangled_by("llvm-cxxfilt-19", names);
  ASSERT_EQ(by_llvm.size(), names.size());
  size_t i = 0;
  for (const std::string& name : names) {
    const std::string display = display_name(name);
    EXPECT_EQ(display == name, by_llvm[i] == name) << name << "\nllvm: " << by_llvm[i];
    ++i;
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
