// llvm-profgen makes a profile of the same counts: the two agree.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <random>
#include <sstream>

#include "query/fdo/profile/llvm_text.h"
#include "query/fdo/profile/profile_math.h"
#include "query/fdo/profile/profile_of.h"
#include "tests/unit/query/fdo/profile/compiled.h"

namespace plimsoll::fdo {
namespace {

struct Instruction {
  uint64_t address = 0;
  std::string mnemonic;
};

bool ends_block(const Instruction& instruction) {
  return instruction.mnemonic.starts_with('j') || instruction.mnemonic.starts_with("ret") ||
         instruction.mnemonic.starts_with("call");
}

std::vector<Instruction> disassembly(const Workbench& bench) {
  std::istringstream lines(bench.run("llvm-objdump-19 -d --no-show-raw-insn --section=.text program"));
  std::vector<Instruction> instructions;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    Instruction instruction;
    char colon = 0;
    if (line.starts_with(' ') && words >> std::hex >> instruction.address >> colon >> instruction.mnemonic &&
        colon == ':') {
      instructions.push_back(instruction);
    }
  }
  return instructions;
}

// Blocks with random counts, some of them overlapping, some functions without any; calls between functions.
ExecutionCounts random_counts(const std::vector<Instruction>& code, const std::vector<elf::Symbol>& functions,
                              uint64_t seed) {
  std::mt19937_64 random(seed);
  ExecutionCounts counts{.from_branches = true};
  for (const elf::Symbol& function : functions) {
    const uint64_t end = function.address + function.size_bytes;
    const auto first = std::ranges::lower_bound(code, function.address, {}, &Instruction::address);
    const auto last = std::ranges::lower_bound(code, end, {}, &Instruction::address);
    if (first == last || random() % 8 == 0) {
      continue;
    }
    for (auto block = first; block != last;) {
      auto instruction = block;
      while (std::next(instruction) != last && !ends_block(*instruction)) {
        ++instruction;
      }
      const double count = random() % 4 == 0 ? 0 : static_cast<double>(1 + random() % 100'000);
      if (count > 0) {
        counts.ranges.push_back({block->address, instruction->address, count});
        // A range that goes on behind a branch that was not taken.
        const auto further = std::next(instruction);
        if (further != last && random() % 3 == 0) {
          counts.ranges.push_back(
              {block->address, further->address, static_cast<double>(1 + random() % 1000)});
        }
        if (instruction->mnemonic.starts_with("call")) {
          const elf::Symbol& callee = functions[random() % functions.size()];
          counts.branches.push_back({instruction->address, callee.address, std::ceil(count / 2)});
        }
      }
      block = std::next(instruction);
    }
  }
  for (const elf::Symbol& function : functions) {
    double entered = 0;
    for (const CountedBranch& branch : counts.branches) {
      entered += branch.to == function.address ? branch.count : 0;
    }
    counts.entries.push_back({function.address, function.address + function.size_bytes - 1, entered});
  }
  std::ranges::sort(counts.ranges, {},
                    [](const CountedRange& range) { return std::pair(range.first, range.last); });
  return counts;
}

std::string unsymbolized(const ExecutionCounts& counts) {
  std::string text = fmt::format("{}\n", counts.ranges.size());
  for (const CountedRange& range : counts.ranges) {
    text += fmt::format("{:x}-{:x}:{:.0f}\n", range.first, range.last, range.count);
  }
  text += fmt::format("{}\n", counts.branches.size());
  for (const CountedBranch& branch : counts.branches) {
    text += fmt::format("{:x}->{:x}:{:.0f}\n", branch.from, branch.to, branch.count);
  }
  return text;
}

void append_lines(const std::string& context, const FunctionSamples& function,
                  std::vector<std::string>& lines) {
  if (function.head != 0) {
    lines.push_back(fmt::format("{} entered {}", context, function.head));
  }
  for (const auto& [offset, samples] : function.body) {
    const std::string place = fmt::format("{} {}.{}", context, offset.line, offset.discriminator);
    lines.push_back(fmt::format("{}: {}", place, samples.count));
    for (const auto& [name, count] : samples.calls) {
      lines.push_back(fmt::format("{} calls {}: {}", place, name, count));
    }
  }
  for (const auto& [offset, callees] : function.inlined) {
    for (const auto& [name, callee] : callees) {
      append_lines(fmt::format("{} {}.{} {}", context, offset.line, offset.discriminator, name), callee,
                   lines);
    }
  }
}

// Lines of the text that only one of the profiles has; totals are left out.
std::string differences(SampleProfile ours, SampleProfile theirs) {
  std::vector<std::string> lines[2];
  SampleProfile* const profiles[2] = {&ours, &theirs};
  for (size_t i = 0; i < 2; ++i) {
    for (auto& [name, function] : profiles[i]->functions) {
      append_lines(name, function, lines[i]);
    }
    std::ranges::sort(lines[i]);
  }
  std::string only;
  for (size_t i = 0; i < 2; ++i) {
    std::vector<std::string> here;
    std::ranges::set_difference(lines[i], lines[1 - i], std::back_inserter(here));
    only +=
        here.empty() ? "" : fmt::format("only {}:\n{}\n", i == 0 ? "here" : "there", fmt::join(here, "\n"));
  }
  return only;
}

// Code of line 0 stands before the start of its function, so that its offset wraps around. We count it for no line on purpose: two instructions of a
// function without lines share no count.
void remove_line_zero(FunctionSamples& function) {
  const auto is_wrapped = [](const auto& entry) { return entry.first.line >= 0x8000; };
  std::erase_if(function.body, is_wrapped);
  std::erase_if(function.inlined, is_wrapped);
  for (auto& [offset, callees] : function.inlined) {
    for (auto& [name, callee] : callees) {
      remove_line_zero(callee);
    }
  }
}

TEST(Profgen, MakesTheSameProfileOfTheSameCounts) {
  for (const char* tool : {"clang++-19", "llvm-profgen-19", "llvm-objdump-19"}) {
    if (!is_installed(tool)) {
      GTEST_SKIP() << "there is no " << tool;
    }
  }
  const Workbench bench;
  bench.write("program.cc", kProgram);
  bench.run(
      "clang++-19 -std=c++17 -O2 -gmlt -fdebug-info-for-profiling -funique-internal-linkage-names program.cc "
      "-o program");
  const CompiledProgram program(bench.path("program"));
  const std::vector<Instruction> code = disassembly(bench);
  const auto symtab = *symbolizer::Symtab::open(as_bytes(program.table));
  double lowest = 1;
  for (const uint64_t seed : {1, 2, 3, 4, 5}) {
    ExecutionCounts counts = random_counts(code, program.functions(), seed);
    ASSERT_GT(counts.ranges.size(), 30U);
    bench.write("counts", unsymbolized(counts));
    bench.run(
        "llvm-profgen-19 --unsymbolized-profile=counts --binary=program --output=theirs --format=text "
        "--use-offset=0");
    const auto theirs = read_llvm_text(bench.read("theirs"));
    ASSERT_TRUE(theirs) << theirs.error().text();
    ProfileReport report;
    // In full: lines, calls, entries.
    EXPECT_EQ(differences(profile_of(counts, symtab, report, {.line_zero = true}), *theirs), "")
        << "seed " << seed;
    // Without entries, calls are branches to where symbols begin.
    ExecutionCounts without_entries = counts;
    without_entries.entries.clear();
    EXPECT_GT(overlap(profile_of(without_entries, symtab, report, {.line_zero = true}), *theirs), 0.9999);
    // As it is shipped, but for code of line 0.
    SampleProfile with_lines = *theirs;
    for (auto& [name, function] : with_lines.functions) {
      remove_line_zero(function);
    }
    lowest = std::min(lowest, overlap(profile_of(counts, symtab, report), with_lines));
    EXPECT_GT(report.no_line.weight, 0);
  }
  EXPECT_GE(lowest, 0.95);
  std::cout << "[ overlap  ] " << lowest << "\n";
}

}  // namespace
}  // namespace plimsoll::fdo
