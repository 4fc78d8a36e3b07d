// Annotated code of small binaries made from bytes and by compilers.
#include "query/annotate/annotate.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "base/file.h"
#include "elf/elf_file.h"
#include "query/annotate/annotation_forms.h"
#include "symbolizer/search/table_search.h"
#include "symbolizer/symtab/symtab_writer.h"
#include "tests/temporary_directory.h"
#include "tests/unit/query/fdo/made_elf.h"

namespace plimsoll::annotate::annotate_test {
namespace {

using fdo::testing::from_hex;
using fdo::testing::kCodeAddress;
using fdo::testing::made_elf;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

fdo::BinaryCounts counts_of(const std::map<uint64_t, double>& values, const std::string& event = "cycles") {
  fdo::BinaryCounts counts;
  counts.build_id = "4f5a";
  counts.event = event;
  counts.unit = "count";
  counts.path = "/srv/search";
  for (const auto& [address, value] : values) {
    counts.addresses.push_back({.address = address, .value = value, .samples = value / 10});
    counts.value += value;
    counts.samples += value / 10;
  }
  return counts;
}

Result<Annotation> annotated(const std::string& file, const std::vector<fdo::BinaryCounts>& counts,
                             const std::string& function, const symbolizer::Symtab* symbols = nullptr) {
  const auto elf = elf::ElfFile::parse(as_bytes(file));
  if (!elf) {
    return propagate(elf);
  }
  return annotate(
      {.binary = *elf, .symbols = symbols, .counts = counts, .function = function, .name = "search"});
}

double sum_of(const Annotation& annotation, size_t event) {
  double sum = 0;
  for (const AnnotatedFunction& function : annotation.functions) {
    for (size_t i = 0; i < function.instructions.size(); ++i) {
      sum += function.counts_of(i, annotation.events.size())[event].value;
    }
  }
  return sum;
}

// By address, of those with any.
std::map<uint64_t, double> values_of(const Annotation& annotation, size_t event = 0) {
  std::map<uint64_t, double> values;
  for (const AnnotatedFunction& function : annotation.functions) {
    for (size_t i = 0; i < function.instructions.size(); ++i) {
      const double value = function.counts_of(i, annotation.events.size())[event].value;
      if (value != 0) {
        values[function.instructions[i].address] += value;
      }
    }
  }
  return values;
}

std::vector<std::string> texts_of(const AnnotatedFunction& function) {
  std::vector<std::string> texts;
  for (const AnnotatedInstruction& instruction : function.instructions) {
    texts.push_back(instruction.text);
  }
  return texts;
}

// f has a loop and calls g.
const std::string kCode = from_hex(
    "85 ff"           // 1000 f: test edi, edi
    "74 07"           // 1002 je 100b
    "e8 0a 00 00 00"  // 1004 call 1013: g
    "eb 02"           // 1009 jmp 100d
    "ff c0"           // 100b inc eax
    "83 ef 01"        // 100d sub edi, 1
    "75 ee"           // 1010 jne 1000
    "c3"              // 1012 ret
    "ff c3"           // 1013 g: inc ebx
    "c3");            // 1015 ret
const std::string kFile = made_elf(kCode, {{"f", kCodeAddress, 0x13}, {"g", 0x1013, 3}});

TEST(Annotate, GivesEachSampleToItsInstruction) {
  const auto annotation =
      annotated(kFile, {counts_of({{0x1000, 10}, {0x100d, 70}, {0x1012, 20}, {0x1013, 900}})}, "f");
  ASSERT_TRUE(annotation) << annotation.error().text();
  ASSERT_EQ(annotation->functions.size(), 1);
  const AnnotatedFunction& f = annotation->functions[0];
  EXPECT_EQ(f.name, "f");
  EXPECT_THAT(texts_of(f), ElementsAre("test edi, edi", "je 0x100b", "call 0x1013 <g>", "jmp 0x100d",
                                       "inc eax", "sub edi, 1", "jne 0x1000", "ret"));
  EXPECT_EQ(values_of(*annotation), (std::map<uint64_t, double>{{0x1000, 10}, {0x100d, 70}, {0x1012, 20}}));
  EXPECT_EQ(annotation->events[0].function.value, 100);
  EXPECT_EQ(annotation->events[0].function.samples, 10);
  EXPECT_EQ(annotation->events[0].binary.value, 1000);
  EXPECT_EQ(annotation->build_id, "4f5a");
  EXPECT_EQ(annotation->binary, "/srv/search");
}

TEST(Annotate, SamplesWithinAnInstructionOrAtNoneCountToo) {
  // Bytes that are no instruction stand between the two.
  const std::string code = from_hex("83 ef 01 06 06 c3");
  const auto annotation = annotated(made_elf(code, {{"f", kCodeAddress, code.size()}}),
                                    {counts_of({{0x1001, 5}, {0x1003, 7}, {0x1005, 1}})}, "f");
  ASSERT_TRUE(annotation) << annotation.error().text();
  EXPECT_THAT(texts_of(annotation->functions[0]), ElementsAre("sub edi, 1", "(no instruction)", "ret"));
  EXPECT_EQ(values_of(*annotation), (std::map<uint64_t, double>{{0x1000, 5}, {0x1003, 7}, {0x1005, 1}}));
}

TEST(Annotate, AFunctionWithoutAnyInstructionIsRefusedAsSuch) {
  const std::string code = from_hex("06 06 06");
  const auto refused =
      annotated(made_elf(code, {{"f", kCodeAddress, code.size()}}), {counts_of({{0x1001, 5}})}, "f");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalid);
  EXPECT_THAT(refused.error().text(), HasSubstr("f in search has no instruction"));
}

TEST(Annotate, SetsEventsSideBySide) {
  const auto annotation = annotated(
      kFile, {counts_of({{0x100d, 70}}), counts_of({{0x1004, 3}, {0x1013, 2}}, "cache-misses:pp")}, "f");
  ASSERT_TRUE(annotation) << annotation.error().text();
  EXPECT_EQ(values_of(*annotation, 0), (std::map<uint64_t, double>{{0x100d, 70}}));
  EXPECT_EQ(values_of(*annotation, 1), (std::map<uint64_t, double>{{0x1004, 3}}));
  EXPECT_EQ(annotation->events[1].name, "cache-misses:pp");
  const std::string text = to_text(*annotation, Order::kAddress);
  EXPECT_THAT(text, AllOf(HasSubstr("cycles: not precise (skid)"), Not(HasSubstr("cache-misses:pp: not"))));
}

TEST(Annotate, ReadsAarch64) {
  const std::string code = from_hex("00 04 00 91 c0 03 5f d6");  // add x0, x0, #1; ret
  const auto annotation =
      annotated(made_elf(code, {{"f", kCodeAddress, 8}}, {}, EM_AARCH64), {counts_of({{0x1004, 5}})}, "f");
  ASSERT_TRUE(annotation) << annotation.error().text();
  EXPECT_THAT(texts_of(annotation->functions[0]), ElementsAre("add x0, x0, #1", "ret"));
  EXPECT_EQ(values_of(*annotation), (std::map<uint64_t, double>{{0x1004, 5}}));
}

TEST(Annotate, ShowsBranchesAsArrows) {
  fdo::BinaryCounts counts = counts_of({{0x100d, 70}});
  counts.branches = {{.from = 0x1004, .to = 0x1013, .value = 30},
                     {.from = 0x1010, .to = 0x1000, .value = 1200}};
  const auto annotation = annotated(kFile, {counts}, "f");
  ASSERT_TRUE(annotation) << annotation.error().text();
  ASSERT_EQ(annotation->functions[0].branches.size(), 2);
  EXPECT_EQ(annotation->functions[0].branches[0].other_name, "g");
  EXPECT_EQ(annotation->functions[0].branches[1].other_name, "");
  const std::string text = to_text(*annotation, Order::kAddress);
  EXPECT_THAT(text, AllOf(HasSubstr("jne 0x1000  -> 1000 1.2 k"), HasSubstr("test edi, edi  <- 1010 1.2 k"),
                          HasSubstr("call 0x1013 <g>  -> <g> 30")));
}

TEST(Annotate, ColdPartsBelongToTheirFunction) {
  const std::string code = from_hex(
      "85 ff"  // 1000 f: test edi, edi
      "75 0c"  // 1002 jne 1010
      "c3"     // 1004 ret
      "90 90 90 90 90 90 90 90 90 90 90"
      "ff c0"    // 1010 f.cold: inc eax
      "eb f0");  // 1012 jmp 1004
  const std::string file = made_elf(code, {{"f", kCodeAddress, 5}, {"f.cold", 0x1010, 4, true}});
  const auto annotation = annotated(file, {counts_of({{0x1000, 1}, {0x1012, 2}})}, "f");
  ASSERT_TRUE(annotation) << annotation.error().text();
  ASSERT_EQ(annotation->functions.size(), 1);
  EXPECT_EQ(values_of(*annotation), (std::map<uint64_t, double>{{0x1000, 1}, {0x1012, 2}}));
}

TEST(Annotate, AFunctionWithSamplesInItsColdPartAloneIsFoundByItsLinkedName) {
  const std::string code = from_hex("85 ff 75 01 c3 ff c0 c3");
  const std::string file = made_elf(code, {{"_Z1fv", kCodeAddress, 5}, {"_Z1fv.cold", 0x1005, 3, true}});
  for (const char* name : {"_Z1fv", "f()"}) {
    const auto annotation = annotated(file, {counts_of({{0x1005, 2}})}, name);
    ASSERT_TRUE(annotation) << name << ": " << annotation.error().text();
    EXPECT_EQ(values_of(*annotation), (std::map<uint64_t, double>{{0x1005, 2}}));
    EXPECT_EQ(annotation->functions[0].name, "f()");
  }
}

// `strip -x` leaves the global symbols.
TEST(Annotate, AFunctionWithoutASymbolIsFoundByTheSymbolTable) {
  symbolizer::SymtabWriter writer;
  const auto unit = writer.unit("", 0);
  const auto f = writer.scope({.function = writer.function({.name = "f", .unit = unit})});
  const auto hidden = writer.scope({.function = writer.function({.name = "hidden", .unit = unit})});
  writer.row({.from = 0x1000, .scope = f});
  writer.row({.from = 0x1013, .scope = hidden});
  writer.end(0x1016);
  const std::string table =
      std::move(writer).finish({wire::GNU_BUILD_ID, "4f5a"}, symbolizer::SymtabQuality::kSymtab);
  const auto symbols = symbolizer::Symtab::open(as_bytes(table));
  ASSERT_TRUE(symbols);
  const auto annotation = annotated(made_elf(kCode, {{"f", kCodeAddress, 0x13}}),
                                    {counts_of({{0x1000, 1}, {0x1015, 2}})}, "hidden", &*symbols);
  ASSERT_TRUE(annotation) << annotation.error().text();
  EXPECT_THAT(texts_of(annotation->functions[0]), ElementsAre("inc ebx", "ret"));
  EXPECT_EQ(values_of(*annotation), (std::map<uint64_t, double>{{0x1015, 2}}));
}

TEST(Annotate, StaticFunctionsOfOneNameAreAllShown) {
  const std::string code = from_hex("ff c0 c3 ff c3 c3");
  const std::string file = made_elf(code, {{"f", kCodeAddress, 3, true}, {"f", 0x1003, 3, true}});
  const auto annotation = annotated(file, {counts_of({{0x1000, 1}, {0x1005, 2}})}, "f");
  ASSERT_TRUE(annotation) << annotation.error().text();
  EXPECT_EQ(annotation->functions.size(), 2);
  EXPECT_EQ(sum_of(*annotation, 0), 3);
}

TEST(Annotate, WhatIsNotThereIsRefusedWithWhatIs) {
  const std::vector<fdo::BinaryCounts> counts{counts_of({{0x1000, 10}, {0x1013, 90}})};
  const auto unknown = annotated(kFile, counts, "h");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(unknown.error().field, "function");
  EXPECT_THAT(unknown.error().text(),
              AllOf(HasSubstr("no samples in a function called h"), HasSubstr("g (90.0 %), f (10.0 %)")));
  const auto stripped = annotated(made_elf(kCode, {}), counts, "f");
  ASSERT_FALSE(stripped);
  EXPECT_THAT(stripped.error().text(), HasSubstr("has no symbols"));
  const auto other_machine = annotated(made_elf(kCode, {{"f", kCodeAddress, 5}}, {}, EM_PPC64), counts, "f");
  ASSERT_FALSE(other_machine);
  EXPECT_EQ(other_machine.error().code, ErrorCode::kUnsupported);
}

TEST(Annotate, KnowsWhichEventsArePrecise) {
  for (const char* event : {"cycles:pp", "cycles:uppp", "cpu/event=0xc4/p", "ibs_op//", "page-faults",
                            "page-faults:u", "alloc-bytes", "sched:sched_switch"}) {
    EXPECT_TRUE(is_precise(event)) << event;
  }
  for (const char* event :
       {"cycles", "cycles:u", "cpu-clock", "cpu-clock:u", "cpu/event=0xc4/", "cache-misses"}) {
    EXPECT_FALSE(is_precise(event)) << event;
  }
}

// Ten thousand instructions and random samples: what each row has is what an independent count of the addresses gives.
TEST(Annotate, SumsOfALargeFunctionAreThoseOfItsSamples) {
  constexpr size_t kInstructions = 10'000;
  std::mt19937_64 random(7);
  std::string code;
  std::vector<uint64_t> begins;
  for (size_t i = 0; i + 1 < kInstructions; ++i) {
    begins.push_back(kCodeAddress + code.size());
    code += from_hex(random() % 2 == 0 ? "83 ef 01" : "ff c0");
  }
  begins.push_back(kCodeAddress + code.size());
  code += from_hex("c3");
  std::map<uint64_t, double> samples;
  std::map<uint64_t, double> expected;
  for (int i = 0; i < 50'000; ++i) {
    const uint64_t address = kCodeAddress + random() % code.size();
    samples[address] += 1;
    expected[*std::prev(std::ranges::upper_bound(begins, address))] += 1;
  }
  const auto annotation =
      annotated(made_elf(code, {{"f", kCodeAddress, code.size()}}), {counts_of(samples)}, "f");
  ASSERT_TRUE(annotation) << annotation.error().text();
  EXPECT_EQ(annotation->functions[0].instructions.size(), kInstructions);
  EXPECT_EQ(values_of(*annotation), expected);
  EXPECT_EQ(annotation->events[0].function.value, 50'000);
  EXPECT_EQ(sum_of(*annotation, 0), 50'000);
}

// A program of a compiler, with lines and inlined calls.
class CompiledCode : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::system("command -v gcc > /dev/null 2>&1") != 0) {
      GTEST_SKIP() << "gcc is missing";
    }
    std::ofstream(folder_ / "s.c")
        << "volatile int sink;\n"                                               // 1
           "static inline __attribute__((always_inline)) int twice(int x) {\n"  // 2
           "  sink = x;\n"                                                      // 3
           "  return x * 2;\n"                                                  // 4
           "}\n"                                                                // 5
           "__attribute__((noinline)) int work(int x) {\n"                      // 6
           "  int sum = 0;\n"                                                   // 7
           "  for (int i = 0; i < x; ++i) {\n"                                  // 8
           "    sum += twice(i);\n"                                             // 9
           "  }\n"                                                              // 10
           "  return sum;\n"                                                    // 11
           "}\n"                                                                // 12
           "int main(int argc, char** argv) { (void)argv; return work(argc); }\n";
    const std::string command =
        "cd '" + folder_.path() + "' && gcc -O1 -g -fno-pie -no-pie -Wl,--build-id=sha1 s.c -o s";
    ASSERT_EQ(std::system(command.c_str()), 0);
    file_ = read_file(folder_ / "s", 16 << 20).value();
    table_ = *symbolizer::find_table({.roots = {{folder_.path()}, {}}, .named = {.binary = folder_ / "s"}},
                                     [](uint64_t /*bytes*/) {});
    elf::ElfFile::parse(as_bytes(file_))->for_each_symbol(SHT_SYMTAB, [this](const elf::Symbol& symbol) {
      if (symbol.name == "work") {
        work_ = symbol.address;
        work_bytes_ = symbol.size_bytes;
      }
    });
    ASSERT_GT(work_bytes_, 0);
  }

  plimsoll::testing::TemporaryDirectory folder_;
  std::string file_;
  symbolizer::FoundTable table_;
  uint64_t work_ = 0;
  uint64_t work_bytes_ = 0;
};

TEST_F(CompiledCode, InlinedCodeStandsBelowItsCall) {
  std::map<uint64_t, double> samples;
  for (uint64_t address = work_; address < work_ + work_bytes_; ++address) {
    samples[address] = 1;
  }
  const auto symbols = symbolizer::Symtab::open(as_bytes(table_.bytes));
  ASSERT_TRUE(symbols);
  const auto annotation = annotated(file_, {counts_of(samples)}, "work", &*symbols);
  ASSERT_TRUE(annotation) << annotation.error().text();
  EXPECT_EQ(sum_of(*annotation, 0), static_cast<double>(work_bytes_));
  bool has_inlined = false;
  for (const Chain& chain : annotation->chains) {
    EXPECT_EQ(annotation->names[chain[0].function], "work");
    if (chain.size() == 2) {
      has_inlined = true;
      EXPECT_EQ(chain[0].line, 9);
      EXPECT_EQ(annotation->names[chain[1].function], "twice");
      EXPECT_THAT(chain[1].line, ::testing::AllOf(::testing::Ge(2), ::testing::Le(5)));
      EXPECT_THAT(annotation->files[chain[1].file].path, ::testing::EndsWith("/s.c"));
    }
  }
  EXPECT_TRUE(has_inlined);
  const std::string text = to_text(*annotation, Order::kSource);
  EXPECT_THAT(text, AllOf(HasSubstr("s.c:9"), HasSubstr("inlined twice, s.c:3")));
}

TEST_F(CompiledCode, AFunctionThatWasInlinedEverywhereNamesThoseAroundIt) {
  std::map<uint64_t, double> samples;
  for (uint64_t address = work_; address < work_ + work_bytes_; ++address) {
    samples[address] = 1;
  }
  const auto symbols = symbolizer::Symtab::open(as_bytes(table_.bytes));
  ASSERT_TRUE(symbols);
  const auto refused = annotated(file_, {counts_of(samples)}, "twice", &*symbols);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().text(),
              AllOf(HasSubstr("twice was inlined wherever it has samples"), HasSubstr("work (100.0 %)")));
}

}  // namespace
}  // namespace plimsoll::annotate::annotate_test
