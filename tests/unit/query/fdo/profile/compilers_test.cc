// Compilers and their tools take what the writers write.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "query/fdo/profile/gcov.h"
#include "query/fdo/profile/llvm_binary.h"
#include "query/fdo/profile/llvm_text.h"
#include "query/fdo/profile/profile_math.h"
#include "query/fdo/profile/profile_of.h"
#include "tests/unit/query/fdo/profile/compiled.h"

namespace plimsoll::fdo {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

// Of kProgram.
constexpr std::string_view kProfile =
    "main:900000:1\n"
    " 4: 1000\n"
    " 5: 1000 _ZN6SquareC2El:1000\n"
    " 6: 1000\n"
    " 9: 1\n"
    " 10.1: 1000\n"
    " 9: _ZL3sumRKSt6vectorIlSaIlEE.__uniq.123:70000\n"
    "  2: 1000\n"
    "  3.1: 333\n"
    "  3: _ZL5clampll.__uniq.123:1000\n"
    "   0: 1000\n"
    "_ZN6SquareC2El:80000:1000\n"
    " 0: 1000 _ZN4BaseC2El:1000\n"
    " 1: 8000\n"
    " 2: 7000\n"
    "_ZN4BaseC2El:3000:1000\n"
    " 0: 1000\n"
    " 2: 142\n"
    "_ZNK6Square4areaEl:1000:1000\n"
    " 0: 1000\n";

SampleProfile profile_of_text(std::string_view text) {
  auto read = read_llvm_text(text);
  EXPECT_TRUE(read) << read.error().text();
  return std::move(*read);
}

// What LLVM's IR says of how often a function is entered: "{!"function_entry_count", i64 1001}".
std::string entry_count(const std::string& code, std::string_view name) {
  const auto text_from = [&](size_t at, char end) { return code.substr(at, code.find(end, at) - at); };
  for (size_t at = code.find("\ndefine "); at != std::string::npos; at = code.find("\ndefine ", at + 1)) {
    const std::string line = text_from(at + 1, '\n');
    const size_t mark = line.find("!prof ");
    if (line.find(fmt::format("@{}(", name)) != std::string::npos && mark != std::string::npos) {
      const std::string number = line.substr(mark + 6, line.find(' ', mark + 6) - mark - 6);
      const size_t meaning = code.find(fmt::format("\n{} = !", number));
      return meaning == std::string::npos ? "" : text_from(code.find('{', meaning), '\n');
    }
  }
  return "";
}

class Profdata : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!is_installed(GetParam())) {
      GTEST_SKIP() << "there is no " << GetParam();
    }
  }
  std::string as_text(const std::string& file) const {
    bench_.run(fmt::format("{} merge --sample --text {} -o {}.out", GetParam(), file, file));
    return bench_.read(file + ".out");
  }

  Workbench bench_;
};

// What comes back is equal to what was written, and so is the text: LLVM's writer has the same order.
TEST_P(Profdata, ReadsBothForms) {
  for (const SampleProfile& written :
       {profile_of_text(kProfile), profile_of_text("f:1:0\n 65535.4000000000: 1\n"),
        profile_of_text("f:18446744073709551615:5\n 1: 9223372036854775807\n")}) {
    bench_.write("text", write_llvm_text(written));
    bench_.write("binary", write_llvm_binary(written));
    EXPECT_EQ(as_text("text"), write_llvm_text(written));
    EXPECT_EQ(as_text("binary"), write_llvm_text(written));
  }
}

// All code of the program ran 1,000 times.
ExecutionCounts all_functions(const CompiledProgram& program, double entered) {
  ExecutionCounts counts;
  for (const elf::Symbol& function : program.functions()) {
    const uint64_t last = function.address + function.size_bytes - 1;
    counts.ranges.push_back({function.address, last, 1000});
    counts.entries.push_back({function.address, last, entered});
  }
  return counts;
}

// Of a real program: inlined calls within inlined calls, discriminators, calls with targets, counts that are no whole numbers, and what an
// older build adds by its weight.
TEST_P(Profdata, ReadsProfilesOfAProgram) {
  if (!is_installed("clang++-19")) {
    GTEST_SKIP() << "there is no clang++-19";
  }
  bench_.write("program.cc", kProgram);
  bench_.run(
      "clang++-19 -std=c++17 -O2 -gmlt -fdebug-info-for-profiling -funique-internal-linkage-names program.cc "
      "-o program");
  const CompiledProgram program(bench_.path("program"));
  const auto symtab = symbolizer::Symtab::open(as_bytes(program.table));
  ASSERT_TRUE(symtab);
  ExecutionCounts counts = all_functions(program, 10.25);
  counts.branches = {{counts.entries.front().first, counts.entries.back().first, 3.5}};
  ProfileReport report;
  const SampleProfile newer = profile_of(counts, *symtab, report);
  SampleProfile merged = newer;
  merge(merged, profile_of_text(kProfile), 0.37);
  for (const SampleProfile& written : {newer, merged}) {
    ASSERT_GT(written.functions.size(), 5U);
    bench_.write("text", write_llvm_text(written));
    bench_.write("binary", write_llvm_binary(written));
    EXPECT_EQ(as_text("text"), write_llvm_text(written));
    EXPECT_EQ(as_text("binary"), write_llvm_text(written));
  }
}

TEST_P(Profdata, WritesTheSameSummary) {
  bench_.write("binary", write_llvm_binary(profile_of_text(kProfile)));
  const auto summary = [&](const std::string& file) {
    const std::string shown =
        bench_.run(fmt::format("{} show --sample --show-sec-info-only {}", GetParam(), file));
    return shown;
  };
  EXPECT_THAT(summary("binary"), ContainsRegex("NameTableSection.*Flags: .*uniq"));
  bench_.run(GetParam() + " merge --sample --extbinary binary -o other");
  // The summary stands first, in the same bytes.
  const std::string ours = bench_.read("binary");
  const std::string theirs = bench_.read("other");
  const auto section = [](const std::string& file) {
    const size_t header = 9 + 1 + 8;  // magic, version, number of sections
    uint64_t offset = 0;
    uint64_t size = 0;
    std::memcpy(&offset, file.data() + header + 16, 8);
    std::memcpy(&size, file.data() + header + 24, 8);
    return file.substr(offset, size);
  };
  EXPECT_EQ(section(ours), section(theirs));
  EXPECT_FALSE(section(ours).empty());
}

TEST_P(Profdata, FindsTheSameOverlap) {
  SampleProfile other = profile_of_text(kProfile);
  other.functions.at("main").body.at({4, 0}).count = 4000;
  other.functions.at("main").inlined.begin()->second.begin()->second.inlined.clear();
  other.functions.erase("_ZN4BaseC2El");
  bench_.write("a", std::string(kProfile));
  bench_.write("b", write_llvm_text(other));
  const std::string said = bench_.run(GetParam() + " overlap --sample a b");
  const double expected = 100 * overlap(profile_of_text(kProfile), other);
  EXPECT_THAT(said, HasSubstr(fmt::format("Whole program profile similarity: {:.3f}%", expected)));
  EXPECT_LT(expected, 95);
}

// Those of Debian are 14, 15, 16 and 19.
std::vector<std::string> of_each_version(const std::string& tool) {
  std::vector<std::string> tools;
  for (int version = 14; version <= 19; ++version) {
    tools.push_back(fmt::format("{}-{}", tool, version));
  }
  return tools;
}

std::string version_of(const ::testing::TestParamInfo<std::string>& tool) {
  return "Of" + tool.param.substr(tool.param.rfind('-') + 1);
}

INSTANTIATE_TEST_SUITE_P(All, Profdata, ::testing::ValuesIn(of_each_version("llvm-profdata")), version_of);

class Clang : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!is_installed(GetParam())) {
      GTEST_SKIP() << "there is no " << GetParam();
    }
  }
};

// Counts of functions in the program as it is optimized; one more than entries, as clang has it.
TEST_P(Clang, TakesBothForms) {
  const Workbench bench;
  bench.write("program.cc", kProgram);
  bench.write("text", std::string(kProfile));
  bench.write("binary", write_llvm_binary(profile_of_text(kProfile)));
  std::vector<std::string> made;
  for (const char* form : {"text", "binary"}) {
    EXPECT_EQ(bench.run(fmt::format("{} -std=c++17 -O2 -gmlt -fdebug-info-for-profiling "
                                    "-funique-internal-linkage-names -Wall -Werror -fprofile-sample-use={} "
                                    "-S -emit-llvm program.cc -o {}.ll",
                                    GetParam(), form, form)),
              "");
    made.push_back(bench.read(fmt::format("{}.ll", form)));
  }
  EXPECT_EQ(made[0], made[1]);
  EXPECT_EQ(entry_count(made[0], "_ZN6SquareC2El"), "{!\"function_entry_count\", i64 1001}");
  EXPECT_THAT(made[0], HasSubstr("\"branch_weights\", i32"));
}

INSTANTIATE_TEST_SUITE_P(All, Clang, ::testing::ValuesIn(of_each_version("clang++")), version_of);

TEST(Gcc, TakesGcov) {
  if (!is_installed("g++-12")) {
    GTEST_SKIP() << "there is no g++-12";
  }
  const Workbench bench;
  bench.write("program.c",
              "int twice(int);\n"
              "static int odd(int i) {\n"
              "  return i & 1;\n"
              "}\n"
              "int work(int n) {\n"
              "  int sum = 0;\n"
              "  for (int i = 0; i < n; ++i)\n"
              "    if (odd(i))\n"
              "      sum += twice(i);\n"
              "  return sum;\n"
              "}\n");
  bench.write("profile", write_gcov(profile_of_text("work:0:5\n"
                                                    " 1: 5\n"
                                                    " 2: 700\n"
                                                    " 2.3: 612\n"
                                                    " 4: 311 twice:311\n"
                                                    " 5: 5\n"
                                                    " 3: odd:633\n"
                                                    "  1: 633\n")));
  EXPECT_EQ(
      bench.run(
          "gcc-12 -O2 -Wall -Werror -fauto-profile=profile -fdump-ipa-afdo -dumpbase work -c program.c"),
      "");
  const std::string dump = bench.run("cat *.afdo");
  for (const char* count : {"count: 5]", "count: 700]", "count: 311]"}) {
    EXPECT_THAT(dump, HasSubstr(count));
  }
  EXPECT_THAT(dump, Not(HasSubstr("count: 612]"))) << "of blocks on one line, that which ran most";
}

// From its debug information to its optimizer: functions, inlined calls and constructors.
TEST(Gcc, FindsWhatItsOwnProgramDid) {
  if (!is_installed("g++-12")) {
    GTEST_SKIP() << "there is no g++-12";
  }
  const Workbench bench;
  bench.write("program.cc", kProgram);
  bench.run("g++-12 -std=c++17 -O2 -g1 program.cc -o program");
  const CompiledProgram program(bench.path("program"));
  ProfileReport report;
  const SampleProfile made =
      profile_of(all_functions(program, 1000), *symbolizer::Symtab::open(as_bytes(program.table)), report);
  bench.write("profile", write_gcov(made));
  EXPECT_EQ(bench.run("g++-12 -std=c++17 -O2 -g1 -Wall -Werror -fauto-profile=profile "
                      "-fdump-ipa-afdo -c program.cc"),
            "");
  const std::string dump = bench.run("cat *.afdo");
  for (const char* head : {"int main (", "void Square::Square (", "void Base::Base (",
                           "void Square::~Square (", "long int choose (", "void scale ("}) {
    const size_t at = dump.find(std::string("\n") + head);
    ASSERT_NE(at, std::string::npos) << head << "\n" << dump;
    EXPECT_THAT(dump.substr(at, dump.find("\n}\n", at) - at), HasSubstr("[count: 1000]")) << head;
  }
}

// The symbols of the constructor and destructor of complete objects have the same address: the profile has the names that clang looks up.
TEST(Clang, FindsConstructorsByTheirName) {
  if (!is_installed("clang++-19")) {
    GTEST_SKIP() << "there is no clang++-19";
  }
  const Workbench bench;
  bench.write("program.cc", kProgram);
  bench.run(
      "clang++-19 -std=c++17 -O2 -gmlt -fdebug-info-for-profiling -funique-internal-linkage-names program.cc "
      "-o program");
  const CompiledProgram program(bench.path("program"));
  const ExecutionCounts counts = all_functions(program, 10);
  ProfileReport report;
  const SampleProfile made = profile_of(counts, *symbolizer::Symtab::open(as_bytes(program.table)), report);
  for (const char* name :
       {"_ZN6SquareC2El", "_ZN6SquareD2Ev", "_ZN4BaseC2El", "_ZN4BaseD2Ev", "_ZN4BaseD0Ev", "main"}) {
    ASSERT_TRUE(made.functions.contains(name)) << write_llvm_text(made);
    EXPECT_EQ(made.functions.at(name).head, 10U) << name;
  }
  for (const char* name : {"_ZN6SquareC1El", "_ZN6SquareD1Ev", "_ZN4BaseC1El", "_ZN4BaseD1Ev"}) {
    EXPECT_FALSE(made.functions.contains(name)) << name;
  }
  bench.write("profile", write_llvm_binary(made));
  EXPECT_EQ(bench.run("clang++-19 -std=c++17 -O2 -gmlt -fdebug-info-for-profiling "
                      "-funique-internal-linkage-names -Wall -Werror "
                      "-fprofile-sample-use=profile -S -emit-llvm program.cc -o program.ll"),
            "");
  const std::string code = bench.read("program.ll");
  for (const char* name : {"_ZN6SquareC2El", "_ZN6SquareD2Ev", "main"}) {
    EXPECT_EQ(entry_count(code, name), "{!\"function_entry_count\", i64 11}") << name;
  }
}

}  // namespace
}  // namespace plimsoll::fdo
