#include "query/fdo/profile/older_build.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "query/fdo/making/older_builds.h"
#include "query/fdo/profile/function_name.h"
#include "query/fdo/profile/profile_math.h"
#include "tests/unit/query/fdo/profile/compiled.h"
#include "tests/unit/query/fdo/profile/profile_text.h"

namespace plimsoll::fdo {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

// A program as rows of a symbol table.
class Shaped {
 public:
  explicit Shaped(const std::string& rows)
      : table_(table_of(rows)), symtab_(*symbolizer::Symtab::open(as_bytes(table_))), shape_(symtab_) {}

  const ProgramShape& operator*() const { return shape_; }
  const ProgramShape* get() const { return &shape_; }
  const FunctionShape& function(std::string_view name) const { return *shape_.find(name); }

 private:
  const std::string table_;
  const symbolizer::Symtab symtab_;
  const ProgramShape shape_;
};

SampleProfile profile_in(std::string_view text) {
  auto read = read_llvm_text(text);
  EXPECT_TRUE(read) << read.error().text();
  return std::move(*read);
}

TEST(StableNames, AreTheSameInAllBuilds) {
  for (const auto& [linked, stable] : {
           std::pair("_ZL1fv.__uniq.2345.llvm.1", "_ZL1fv"),
           std::pair("f.part.0.__uniq.2345.cold", "f"),
           std::pair("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "_ZN4core3fmt9Formatter3pad"),
           std::pair("_ZN4core3fmt17h0123456789abcdegE", "_ZN4core3fmt17h0123456789abcdegE"),
           std::pair("f.__uniq.", "f.__uniq."),
           std::pair("_Z1fv", "_Z1fv"),
       }) {
    EXPECT_EQ(stable_name(linked), stable) << linked;
  }
}

constexpr const char* kFourLines =
    "10 f/100:101@3\n"
    "14 f/100:102@5\n"
    "18 f/100:103@7\n"
    "1c f/100:104@3\n"
    "20\n";

TEST(AlignedLines, GoWithWhatWasInsertedBeforeThem) {
  const Shaped older(kFourLines);
  const Shaped newer(
      "10 f/200:201@3\n"
      "14 f/200:202@5\n"
      "16 f/200:203@11\n"
      "17 f/200:204@9\n"
      "18 f/200:205@7\n"
      "1c f/200:206@3\n"
      "20\n");
  EXPECT_THAT(align_lines(older.function("f"), newer.function("f")),
              ElementsAre(Pair(1, 1), Pair(2, 2), Pair(3, 5), Pair(4, 6)));
  EXPECT_THAT(align_lines(newer.function("f"), older.function("f")),
              ElementsAre(Pair(1, 1), Pair(2, 2), Pair(5, 3), Pair(6, 4)));
}

TEST(AlignedLines, ThatWereRewrittenAreMissing) {
  const Shaped older(kFourLines);
  const Shaped newer(
      "10 f/200:201@3\n"
      "14 f/200:202@25\n"
      "18 f/200:203@7\n"
      "20\n");
  EXPECT_THAT(align_lines(older.function("f"), newer.function("f")), ElementsAre(Pair(1, 1), Pair(3, 3)));
}

// Both lines have code in the same column; what was inlined tells them apart.
TEST(AlignedLines, AreKnownByTheirCallees) {
  const Shaped older(
      "10 g.__uniq.1/20:21 f/100:101@3\n"
      "14 h/30:31 f/100:102@3\n"
      "18\n");
  const Shaped newer(
      "10 h/30:31 f/100:101@3\n"
      "14 g.__uniq.2/20:21 f/100:102@3\n"
      "18 h/30:31 f/100:103@3\n"
      "1c\n");
  EXPECT_THAT(align_lines(older.function("f"), newer.function("f")), ElementsAre(Pair(1, 2), Pair(2, 3)));
}

TEST(CarriedProfiles, HaveTheNewerNamesAndLines) {
  const Shaped older(
      "10 _ZL1gv.__uniq.1/20:21@9 f/100:101@3\n"
      "14 f/100:102@5\n"
      "18 gone/50:51\n"
      "1c\n");
  const Shaped newer(
      "10 f/200:201@17\n"
      "12 _ZL1gv.__uniq.2/30:31@9 f/200:202@3\n"
      "14 f/200:203@5\n"
      "1c\n");
  const CarriedProfile carried = carry_over(profile_in("f:100:7\n"
                                                       " 2.4: 30 _ZL1gv.__uniq.1:30\n"
                                                       " 1: _ZL1gv.__uniq.1:50\n"
                                                       "  1: 50\n"
                                                       "gone:20:1\n"
                                                       " 1: 20\n"),
                                            older.get(), *newer);
  EXPECT_EQ(write_llvm_text(carried.profile),
            "f:100:7\n"
            " 3.4: 30 _ZL1gv.__uniq.2:30\n"
            " 2: _ZL1gv.__uniq.2:50\n"
            "  1: 50\n");
  ASSERT_EQ(carried.stale.size(), 1U);
  EXPECT_EQ(carried.stale.front().name, "gone");
  EXPECT_EQ(carried.stale.front().reason, StaleReason::kGone);
  EXPECT_DOUBLE_EQ(carried.stale.front().share, 0.2);
  EXPECT_DOUBLE_EQ(carried.share, 0.8);
}

// Which of two files a local function belongs to is not known once their names have changed.
TEST(CarriedProfiles, LeaveOutWhatIsAmbiguousOrOtherCode) {
  const Shaped older(kFourLines);
  const Shaped newer(
      "10 f/100:101@33\n"
      "14 f/100:102@35\n"
      "18 f/100:103@7\n"
      "1c f/100:104@33\n"
      "20 g.__uniq.1/1:2\n"
      "24 g.__uniq.2/1:2\n"
      "28\n");
  const CarriedProfile carried = carry_over(
      profile_in("f:90:1\n 1: 50\n 2: 20\n 3: 20\ng.__uniq.3:10:1\n 1: 10\n"), older.get(), *newer);
  EXPECT_THAT(carried.profile.functions, IsEmpty());
  ASSERT_EQ(carried.stale.size(), 2U);
  EXPECT_EQ(carried.stale[0].name, "f");
  EXPECT_EQ(carried.stale[0].reason, StaleReason::kChanged);
  EXPECT_EQ(carried.stale[1].name, "g.__uniq.3");
  EXPECT_EQ(carried.stale[1].reason, StaleReason::kGone);
}

TEST(CarriedProfiles, OfAnUnknownProgramKeepTheirLines) {
  const Shaped newer(kFourLines);
  const CarriedProfile carried =
      carry_over(profile_in("f:12:1\n 1: 5\n 3.2: 5\n 9: 2\ng:9:1\n 1: 9\n"), nullptr, *newer);
  EXPECT_EQ(write_llvm_text(carried.profile), "f:10:1\n 1: 5\n 3.2: 5\n");
  EXPECT_THAT(carry_over(profile_in("f:12:1\n 1: 5\n 8: 9\n"), nullptr, *newer).profile.functions, IsEmpty());
}

// Twenty functions of twelve lines. In a newer build, half of them begin with three more lines, or have them after the fifth.
class Rewritten {
 public:
  static constexpr int kFunctions = 20;
  static constexpr int kLines = 12;

  static uint32_t line_in(bool is_newer, int function, int line) {
    const int inserted_after = function % 4 == 1 ? 0 : function % 4 == 2 ? 5 : kLines;
    return static_cast<uint32_t>(line + (is_newer && line > inserted_after ? 3 : 0));
  }
  static std::string name(int function) { return fmt::format("_Z3f{:02}v", function); }

  static std::string rows(bool is_newer) {
    std::string rows;
    uint64_t address = 0x1000;
    for (int function = 0; function < kFunctions; ++function) {
      for (int line = 1; line <= kLines; ++line) {
        rows += fmt::format("{:x} {}/1000:{}@{}\n", address, name(function),
                            1000 + line_in(is_newer, function, line), 1 + (line * 7 + function) % 23);
        address += 4;
      }
    }
    return rows + fmt::format("{:x}\n", address);
  }

  // `samples` by chance, of lines that run `work` often; 0: exactly as often.
  static SampleProfile profile(bool is_newer, const std::vector<double>& work, int samples) {
    std::vector<double> counts = work;
    if (samples > 0) {
      counts.assign(work.size(), 0);
      std::mt19937_64 random(static_cast<uint64_t>(samples) * 2 + (is_newer ? 1 : 0));
      std::discrete_distribution<size_t> line_of(work.begin(), work.end());
      for (int i = 0; i < samples; ++i) {
        counts[line_of(random)] += 64;
      }
    }
    SampleProfile profile;
    for (size_t i = 0; i < counts.size(); ++i) {
      const int function = static_cast<int>(i) / kLines;
      const int line = static_cast<int>(i) % kLines + 1;
      if (counts[i] > 0) {
        FunctionSamples& into = profile.functions[name(function)];
        into.body[{line_in(is_newer, function, line), 0}].count = static_cast<uint64_t>(counts[i]);
        into.total += static_cast<uint64_t>(counts[i]);
      }
    }
    return profile;
  }

  static std::vector<double> work(uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<double> work;
    for (int i = 0; i < kFunctions * kLines; ++i) {
      const auto small = static_cast<double>(random() % 100);
      work.push_back(small * small * small);
    }
    return work;
  }
};

struct MergeTrial {
  double alone = 0;
  double merged = 0;
  MergedBuild report;
};

MergeTrial merge_trial(int newer_samples, int older_samples, uint64_t older_work, double age_s = 0,
                       bool knows_shape = true) {
  const Shaped older(Rewritten::rows(false));
  const Shaped newer(Rewritten::rows(true));
  const SampleProfile truth = Rewritten::profile(true, Rewritten::work(1), 0);
  const SampleProfile alone = Rewritten::profile(true, Rewritten::work(1), newer_samples);
  ProfileMerge merge(alone, newer_samples, *newer);
  MergeTrial trial;
  trial.report = merge.add({.name = "older",
                            .profile = Rewritten::profile(false, Rewritten::work(older_work), older_samples),
                            .samples = static_cast<double>(older_samples),
                            .age_s = age_s,
                            .shape = knows_shape ? older.get() : nullptr});
  trial.alone = overlap(alone, truth);
  trial.merged = overlap(merge.profile(), truth);
  return trial;
}

TEST(MergedBuilds, AreBetterThanTheNewerAloneThoughLinesWereInserted) {
  for (const int newer_samples : {100, 300, 2000, 20'000}) {
    const MergeTrial trial = merge_trial(newer_samples, 20'000, 1);
    EXPECT_GT(trial.merged, trial.alone) << newer_samples;
    EXPECT_GT(trial.report.weighted_samples(), 3 * std::min(newer_samples, 5000)) << newer_samples;
    EXPECT_DOUBLE_EQ(trial.report.carried_share, 1);
    EXPECT_THAT(trial.report.stale, IsEmpty());
  }
  EXPECT_GT(merge_trial(300, 20'000, 1).merged, 0.9);
  EXPECT_LT(merge_trial(300, 20'000, 1).alone, 0.8);
}

// Without the older program, lines after the inserted ones are taken for others: less is gained.
TEST(MergedBuilds, GainByKnowingTheOlderProgram) {
  const MergeTrial known = merge_trial(300, 20'000, 1);
  const MergeTrial unknown = merge_trial(300, 20'000, 1, 0, false);
  EXPECT_GT(known.merged, unknown.merged + 0.02);
  EXPECT_LT(unknown.report.weight, known.report.weight);
}

TEST(MergedBuilds, ThatDidOtherWorkOutweighNothing) {
  for (const int newer_samples : {1000, 20'000}) {
    const MergeTrial trial = merge_trial(newer_samples, 200'000, 2);
    EXPECT_GT(trial.merged, trial.alone - 0.02) << newer_samples;
    EXPECT_LT(trial.report.weighted_samples(), 500) << newer_samples;
  }
}

TEST(MergedBuilds, CountHalfForEachWeek) {
  const double now = merge_trial(300, 20'000, 1).report.weight;
  EXPECT_NEAR(merge_trial(300, 20'000, 1, 14 * 86'400).report.weight, now / 4, 1e-9);
}

TEST(MergedBuilds, WithNothingInCommonAreNotMerged) {
  const Shaped newer("10 f/1:2\n14 g/1:2\n18\n");
  ProfileMerge merge(profile_in("f:5:1\n 1: 5\n"), 5, *newer);
  const MergedBuild report =
      merge.add({.name = "older", .profile = profile_in("g:5:1\n 1: 5\n"), .samples = 5});
  EXPECT_EQ(report.weight, 0);
  EXPECT_EQ(write_llvm_text(merge.profile()), "f:5:1\n 1: 5\n");
}

// Lines of source by which two compiled programs are compared: each line of the older that is found has the same text in the newer.
class RealCompilers : public ::testing::TestWithParam<std::string> {};

TEST_P(RealCompilers, LinesAreFoundAgainBetweenTwoBuilds) {
  if (!is_installed(GetParam().substr(0, GetParam().find(' ')))) {
    GTEST_SKIP() << "there is no " << GetParam();
  }
  const Workbench bench;
  std::string changed = kProgram;
  const auto insert_before = [&changed](std::string_view line, std::string_view text) {
    const size_t at = changed.find(line);
    ASSERT_NE(at, std::string::npos) << line;
    changed.insert(at, text);
  };
  insert_before("struct Base {", "static int added_function(int number) {\n  return number * 3;\n}\n");
  insert_before("    case 2: return clamp", "    case 7: return value * 5 + added_function(3);\n");
  insert_before("    total += clamp", "    if (value == 77) {\n      total += value * 5;\n    }\n");
  insert_before("    scale(values,", "    std::putchar('a' + added_function(argc));\n");
  bench.write("older.cc", kProgram);
  bench.write("newer.cc", changed);
  for (const char* name : {"older", "newer"}) {
    bench.run(fmt::format("{} -O2 {}.cc -o {} -Wl,--build-id=sha1", GetParam(), name, name));
  }
  const CompiledProgram older(bench.path("older"));
  const CompiledProgram newer(bench.path("newer"));
  const symbolizer::Symtab older_table = *symbolizer::Symtab::open(as_bytes(older.table));
  const symbolizer::Symtab newer_table = *symbolizer::Symtab::open(as_bytes(newer.table));
  const ProgramShape older_shape(older_table);
  const ProgramShape newer_shape(newer_table);
  const auto lines_of = [](const std::string& text) {
    std::vector<std::string> lines{""};
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) {
      lines.push_back(line);
    }
    return lines;
  };
  const std::vector<std::string> older_lines = lines_of(kProgram);
  const std::vector<std::string> newer_lines = lines_of(changed);
  int found = 0;
  int all = 0;
  for (const char* name : {"main", "_Z5scalePfif", "_ZN4BaseC2El", "_ZN6SquareC2El", "_ZL6choosell",
                           "_ZL3sumRKSt6vectorIlSaIlEE", "_ZL5clampll", "_ZNK6Square4areaEl"}) {
    const FunctionShape* const before = older_shape.find(name);
    const FunctionShape* const after = newer_shape.find(name);
    if (before == nullptr || after == nullptr) {
      continue;
    }
    all += static_cast<int>(before->marks_by_line.size());
    for (const auto& [from, to] : align_lines(*before, *after)) {
      EXPECT_EQ(older_lines.at(before->start_line + from), newer_lines.at(after->start_line + to))
          << name << " " << from << " " << to;
      ++found;
    }
  }
  EXPECT_GT(all, 20);
  EXPECT_GT(found, all * 4 / 5);
}

INSTANTIATE_TEST_SUITE_P(OlderBuilds, RealCompilers,
                         ::testing::Values("clang++-19 -gmlt -fdebug-info-for-profiling", "g++ -g"),
                         [](const auto& test) { return test.param.front() == 'c' ? "Clang" : "Gcc"; });

TEST(CarriedProfiles, KeepCountsAtTheirLimit) {
  const Shaped program(kFourLines);
  SampleProfile most = profile_in("f:5:1\n 1: 5\n");
  most.functions.begin()->second.total = UINT64_MAX;
  EXPECT_EQ(carry_over(most, program.get(), *program).profile.functions.at("f").total, UINT64_MAX);
}

// A build, with `samples` and `records` of branches.
class Measured {
 public:
  Measured(std::string build_id, double samples, double records)
      : build_id_(std::move(build_id)), table_(table_of(kFourLines)) {
    counts_.samples = samples;
    counts_.branches.push_back({.from = 0x14, .to = 0x10, .value = records, .samples = records});
    execution_.counts = counts_of("10-1b:5", records > 0);
  }

  MeasuredBuild operator*() const { return {build_id_, counts_, execution_, symtab_}; }

 private:
  const std::string build_id_;
  const std::string table_;
  const symbolizer::Symtab symtab_ = *symbolizer::Symtab::open(as_bytes(table_));
  BinaryCounts counts_;
  Execution execution_;
};

TEST(OlderBuilds, CountByWhatTheirExecutionsAreMadeOf) {
  const Measured newest("newest", 0, 1600);
  const Measured same_basis("branches", 1'000'000, 3200);
  const Measured other_basis("samples", 5000, 0);
  const Measured unmeasured("none", 0, 0);
  OlderBuilds older(*newest, profile_in("f:20:1\n 1: 5\n 2: 5\n 3: 5\n"));
  for (const Measured* const build : {&same_basis, &other_basis, &unmeasured}) {
    older.add(**build);
  }
  ASSERT_EQ(older.builds().size(), 3U);
  EXPECT_EQ(older.builds()[0].samples, 200) << "recordings";
  EXPECT_GT(older.builds()[0].weight, 0);
  EXPECT_FALSE(older.builds()[0].has_other_basis);
  EXPECT_EQ(older.builds()[1].samples, 5000);
  EXPECT_EQ(older.builds()[1].weight, 0);
  EXPECT_TRUE(older.builds()[1].has_other_basis);
  EXPECT_EQ(older.builds()[2].name, "none");
  EXPECT_EQ(older.builds()[2].samples, 0);
}

}  // namespace
}  // namespace plimsoll::fdo
