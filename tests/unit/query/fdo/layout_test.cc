#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "query/fdo/code/read_code.h"
#include "query/fdo/layout/bolt_profile.h"
#include "query/fdo/layout/symbol_order.h"

namespace plimsoll::fdo::layout_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::vector<FunctionExtent> kExtents = {{"cold", 0x1000, 0x1100, false, 0},
                                              {"main", 0x1100, 0x1200, false, 0},
                                              {"hot", 0x1200, 0x1240, true, 2},
                                              {"leaf", 0x1300, 0x1340, false, 0},
                                              {"leaf.cold", 0x1400, 0x1440, true, 1}};

BinaryCounts samples_at(std::vector<std::pair<uint64_t, double>> samples) {
  BinaryCounts counts;
  counts.event = "cpu-clock";
  for (const auto& [address, value] : samples) {
    counts.addresses.push_back({address, value, value, 0});
  }
  return counts;
}

TEST(BoltProfile, OfSamplesIsBySymbol) {
  const BoltProfile profile =
      write_bolt(samples_at({{0x1104, 3}, {0x1200, 20}, {0x123c, 5}, {0x5000, 7}}), kExtents);
  EXPECT_EQ(profile.text,
            "no_lbr cpu-clock:\n"
            "1 main 4 3\n"
            "1 hot/2 0 20\n"
            "1 hot/2 3c 5\n");
  EXPECT_EQ(profile.value, 28);
  EXPECT_EQ(profile.value_elsewhere, 7);
}

TEST(BoltProfile, OfBranchesHasBothEnds) {
  BinaryCounts counts;
  counts.branches = {{0x1104, 0x1200, 5, 5, 0}, {0x1210, 0x9000, 2, 2, 0}, {0x8000, 0x9000, 1, 1, 0}};
  EXPECT_EQ(write_bolt(counts, kExtents).text,
            "1 main 4 1 hot/2 0 0 5\n"
            "1 hot/2 10 0 [unknown] 0 0 2\n");
}

TEST(BoltProfile, WithoutFunctionsIsAHeadingAlone) {
  const BoltProfile profile = write_bolt(samples_at({{0x5000, 7}}), kExtents);
  EXPECT_EQ(profile.text, "no_lbr cpu-clock:\n");
  EXPECT_EQ(profile.value, 0);
  BinaryCounts outside;
  outside.branches = {{0x8000, 0x9000, 1, 1, 0}};
  EXPECT_EQ(write_bolt(outside, kExtents).text, "");
  EXPECT_EQ(write_bolt({}, kExtents).text, "no_lbr cycles:\n");
}

TEST(SymbolOrder, PutsCalleesBehindTheirCallers) {
  const BinaryCounts counts = samples_at({{0x1000, 1}, {0x1104, 40}, {0x1200, 100}, {0x1300, 90}});
  EXPECT_EQ(write_symbol_order(counts, kExtents, {}), "hot\nleaf\nmain\ncold\n")
      << "without calls by samples a byte";
  const std::vector<CallCount> calls = {{0x1104, 0x1300, 500}, {0x1000, 0x1300, 1}, {0x1104, 0x1200, 20}};
  EXPECT_EQ(write_symbol_order(counts, kExtents, calls), "main\nhot\nleaf\ncold\n");
  EXPECT_EQ(write_symbol_order(samples_at({{0x1300, 2}, {0x1400, 1}}), kExtents, {}, Linker::kGold),
            ".text.leaf\n.text.unlikely.leaf\n");
}

// A program of two files, each with a static function of one name, compiled, linked, and as a file of counts.
class Tools : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* tool : {"gcc", "ld.lld", "llvm-bolt-19"}) {
      if (run(std::string("command -v ") + tool) != 0) {
        GTEST_SKIP() << tool << " is missing (scripts/install.sh --tests)";
      }
    }
    folder_ = std::filesystem::temp_directory_path() / ("plimsoll-layout-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
    write("a.c",
          "int b(int);\n"
          "__attribute__((noinline)) static int same(int x) { return x % 7 ? x * 3 : x + 1; }\n"
          "int main(int argc, char** argv) { (void)argv; int s = 0;\n"
          "  for (int i = 0; i < 1000; ++i) { s += i % 3 ? same(i + argc) : b(i); } return s == 42; }\n");
    write("b.c",
          "__attribute__((noinline)) static int same(int x) { return x & 8 ? x - 5 : x / 3; }\n"
          "int b(int x) { return same(x) + 1; }\n");
    ASSERT_EQ(run("gcc -O2 -ffunction-sections -c a.c && gcc -O2 -ffunction-sections -c b.c && "
                  "gcc -fuse-ld=lld -Wl,--emit-relocs a.o b.o -o program"),
              0);
    bytes_ = read("program");
    const auto binary = elf::ElfFile::parse(as_bytes(bytes_));
    ASSERT_TRUE(binary.has_value());
    extents_ = function_extents(*binary);
    std::vector<uint64_t> addresses;
    for (const FunctionExtent& extent : extents_) {
      if (extent.name == "main" || extent.name == "same" || extent.name == "b") {
        addresses.push_back(extent.from);
      }
    }
    const auto code = read_code(*binary, extents_, addresses);
    ASSERT_TRUE(code.has_value());
    counts_.event = "cpu-clock";
    for (const FunctionCode& function : code->functions) {
      for (const Instruction& instruction : function.instructions) {
        counts_.addresses.push_back({instruction.address, 10, 10, 0});
      }
    }
  }
  void TearDown() override {
    if (!folder_.empty()) {
      std::filesystem::remove_all(folder_);
    }
  }

  int run(const std::string& command) const {
    const std::string where = folder_.empty() ? "" : "cd '" + folder_.string() + "' && ";
    return std::system(
        (where + "{ " + command + "; } > " + (folder_.empty() ? "/dev/null" : "log") + " 2>&1").c_str());
  }
  std::string read(const std::string& name) const {
    std::ifstream in(folder_ / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void write(const std::string& name, std::string_view text) const { std::ofstream(folder_ / name) << text; }

  std::filesystem::path folder_;
  std::string bytes_;
  std::vector<FunctionExtent> extents_;
  BinaryCounts counts_;
};

TEST_F(Tools, BoltTakesTheProfileWithoutWarnings) {
  write("profile.fdata", write_bolt(counts_, extents_).text);
  ASSERT_EQ(run("llvm-bolt-19 program -o out --data=profile.fdata --reorder-blocks=ext-tsp "
                "--reorder-functions=hfsort && ./out; "
                "test $? -le 1"),
            0)
      << read("log");
  const std::string log = read("log");
  EXPECT_THAT(log, Not(HasSubstr("WARNING"))) << read("profile.fdata");
  EXPECT_THAT(log, HasSubstr("4 out of ")) << "main, b and both of same have a profile";
}

TEST_F(Tools, LldTakesTheOrderWithoutWarnings) {
  write("order.txt", write_symbol_order(counts_, extents_, {}));
  ASSERT_EQ(run("gcc -fuse-ld=lld -Wl,--symbol-ordering-file=order.txt a.o b.o -o ordered"), 0)
      << read("log");
  EXPECT_EQ(read("log"), "");
}

}  // namespace
}  // namespace plimsoll::fdo::layout_test
