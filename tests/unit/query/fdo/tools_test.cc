// Blocks of real code, beside what compilers wrote and objdump reads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "query/fdo/code/read_code.h"

namespace plimsoll::fdo::tools_test {
namespace {

bool has(const std::string& tool) {
  return std::system(("command -v " + tool + " > /dev/null 2>&1").c_str()) == 0;
}

std::string text_in(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class Folder {
 public:
  explicit Folder(const std::string& name)
      : path_(std::filesystem::temp_directory_path() / ("plimsoll-" + name + std::to_string(::getpid()))) {
    std::filesystem::create_directories(path_);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

ProgramCode code_of_all(const elf::ElfFile& binary) {
  const auto extents = function_extents(binary);
  std::vector<uint64_t> addresses;
  for (const FunctionExtent& extent : extents) {
    addresses.push_back(extent.from);
  }
  return *read_code(binary, extents, addresses);
}

class CompiledSwitch : public ::testing::TestWithParam<std::string> {};

TEST_P(CompiledSwitch, HasItsTable) {
  const std::string compiler = GetParam().substr(0, GetParam().find(' '));
  if (!has(compiler)) {
    GTEST_SKIP() << compiler << " is missing (scripts/install.sh --tests)";
  }
  const Folder folder("switch");
  std::ofstream(folder / "s.c")
      << "int g(int);\n"
         "int f(int x) { switch (x) { case 0: return g(1); case 1: return g(7) + 1; case 2: return g(3) * "
         "5;\n"
         "case 3: return g(9) - 3; case 4: return g(12) / 3; case 5: g(2); return 4; case 6: return "
         "g(g(2));\n"
         "default: return -1; } }\n"
         "int main(int argc, char** argv) { (void)argv; return f(argc); }\n"
         "__attribute__((noinline)) int g(int a) { __asm__ volatile(\"\"); return a; }\n";
  ASSERT_EQ(std::system((GetParam() + " -fno-inline " + (folder / "s.c") + " -o " + (folder / "s")).c_str()),
            0);
  const std::string bytes = text_in(folder / "s");
  const auto binary = elf::ElfFile::parse(as_bytes(bytes));
  ASSERT_TRUE(binary.has_value());
  const ProgramCode code = code_of_all(*binary);
  const auto f = std::ranges::find(code.functions, "f", &FunctionCode::name);
  ASSERT_NE(f, code.functions.end());
  const auto table = std::ranges::find(f->blocks, BlockEnd::kTable, &Block::end);
  ASSERT_NE(table, f->blocks.end()) << to_text(*f);
  EXPECT_EQ(table->edges, 7) << to_text(*f);
  EXPECT_FALSE(f->has_unknown_jumps);
}

INSTANTIATE_TEST_SUITE_P(Compilers, CompiledSwitch,
                         ::testing::Values("gcc-12 -O2 -fno-pie -no-pie", "gcc-12 -O2 -fpie -pie",
                                           "clang-19 -O2 -fno-pie -no-pie", "clang-19 -O2 -fpie -pie"),
                         [](const auto& param) {
                           std::string name = param.param;
                           std::erase_if(
                               name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; });
                           return name;
                         });

// With what is compiled without optimization, or for AArch64, tables need not be read; but they are no tail calls, and tail calls no tables.
class CompiledJumps : public ::testing::TestWithParam<std::string> {};

TEST_P(CompiledJumps, AreToldApart) {
  const std::string compiler = GetParam().substr(0, GetParam().find(' '));
  if (!has(compiler) || (GetParam().find("lld") != std::string::npos && !has("ld.lld"))) {
    GTEST_SKIP() << compiler << " or lld is missing (scripts/install.sh --tests)";
  }
  const Folder folder("jumps");
  std::ofstream(folder / "s.c")
      << "int g(int);\n"
         "int f(int x) { switch (x) { case 0: return g(1); case 1: return g(7) + 1; case 2: return g(3) * "
         "5;\n"
         "case 3: return g(9) - 3; case 4: return g(12) / 3; case 5: g(2); return 4; case 6: return "
         "g(g(2));\n"
         "case 7: return g(21) ^ 7;\n"
         "case 8: return g(24) ^ 8;\n"
         "case 9: return g(27) ^ 9;\n"
         "case 10: return g(30) ^ 10;\n"
         "case 11: return g(33) ^ 11;\n"
         "case 12: return g(36) ^ 12;\n"
         "case 13: return g(39) ^ 13;\n"
         "case 14: return g(42) ^ 14;\n"
         "case 15: return g(45) ^ 15;\n"
         "case 16: return g(48) ^ 16;\n"
         "case 17: return g(51) ^ 17;\n"
         "case 18: return g(54) ^ 18;\n"
         "case 19: return g(57) ^ 19;\n"
         "case 20: return g(60) ^ 20;\n"
         "case 21: return g(63) ^ 21;\n"
         "case 22: return g(66) ^ 22;\n"
         "case 23: return g(69) ^ 23;\n"
         "default: return -1; } }\n"
         "int run(const unsigned char* p, int x) {\n"
         "  static void* const labels[] = {&&add, &&sub, &&mul, &&end};\n"
         "  goto *labels[*p++];\n"
         "add: x += g(x); goto *labels[*p++];\n"
         "sub: x -= 3; goto *labels[*p++];\n"
         "mul: x *= x; goto *labels[*p++];\n"
         "end: return x; }\n"
         "struct s { int (*call)(struct s*, int); };\n"
         "int by_argument(int (*p)(int), int x) { return p(x); }\n"
         "int by_argument_late(int (*p)(int), int x) { int y = g(x); return p(y); }\n"
         "int by_member(struct s* s, int x) { return s->call(s, x); }\n"
         "int by_array(struct s** s, int i) { return s[i]->call(s[i], 1); }\n"
         "__attribute__((noinline)) int g(int a) { __asm__ volatile(\"\"); return a; }\n";
  const std::string command = GetParam() + " -nostdlib -fno-inline -Wl,-e,f " + (folder / "s.c") + " -o " +
                              (folder / "s") + " 2> " + (folder / "errors");
  ASSERT_EQ(std::system(command.c_str()), 0) << text_in(folder / "errors");
  const std::string bytes = text_in(folder / "s");
  const auto binary = elf::ElfFile::parse(as_bytes(bytes));
  ASSERT_TRUE(binary.has_value());
  for (const FunctionCode& function : code_of_all(*binary).functions) {
    const bool has_jumps = std::ranges::any_of(function.blocks, [](const Block& block) {
      return block.end == BlockEnd::kTable || block.end == BlockEnd::kUnknownJump;
    });
    EXPECT_EQ(has_jumps, function.name == "f" || function.name == "run") << function.name << '\n'
                                                                         << to_text(function);
  }
}

INSTANTIATE_TEST_SUITE_P(Compilers, CompiledJumps,
                         ::testing::Values("gcc-12 -O0 -fno-pie -no-pie", "gcc-12 -O0 -fpie -pie",
                                           "clang-19 -O0 -fpie -pie", "gcc-12 -O2 -fpie -pie",
                                           "clang-19 -O2 -fpie -pie",
                                           "clang-19 --target=aarch64-linux-gnu -fuse-ld=lld -O0",
                                           "clang-19 --target=aarch64-linux-gnu -fuse-ld=lld -O2"),
                         [](const auto& param) {
                           std::string name = param.param;
                           std::erase_if(
                               name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; });
                           return name;
                         });

// This program itself.
TEST(Blocks, BeginWhereObjdumpReadsInstructions) {
  if (!has("objdump")) {
    GTEST_SKIP() << "objdump is missing (scripts/install.sh --tests)";
  }
  const Folder folder("blocks");
  ASSERT_EQ(std::system(("objdump -d --no-show-raw-insn /proc/" + std::to_string(::getpid()) + "/exe > " +
                         (folder / "text"))
                            .c_str()),
            0);
  std::set<uint64_t> instructions;
  std::ifstream in(folder / "text");
  for (std::string line; std::getline(in, line);) {
    if (const size_t colon = line.find(":\t"); colon != std::string::npos) {
      instructions.insert(std::stoull(line.substr(0, colon), nullptr, 16));
    }
  }
  const std::string bytes = text_in("/proc/self/exe");
  const auto binary = elf::ElfFile::parse(as_bytes(bytes));
  ASSERT_TRUE(binary.has_value());
  const ProgramCode code = code_of_all(*binary);
  size_t blocks = 0;
  for (const FunctionCode& function : code.functions) {
    for (const Block& block : function.blocks) {
      ASSERT_TRUE(instructions.contains(block.from)) << function.name << " " << block.from;
      ASSERT_TRUE(instructions.contains(block.last)) << function.name << " " << block.last;
      ++blocks;
    }
  }
  EXPECT_GT(blocks, 1000);
  EXPECT_EQ(code.unreadable_bytes, 0);
}

}  // namespace
}  // namespace plimsoll::fdo::tools_test
