// Counts by address -> a compiler profile by function and line, through the symbol table of the binary.
#pragma once

#include <cstdint>
#include <string>

#include "query/fdo/code/execution_counts.h"
#include "query/fdo/profile/sample_profile.h"
#include "symbolizer/symtab/symtab.h"

namespace plimsoll::fdo {

// What FunctionSamples::total of a function with code of its own, or of an inlined call, is made of. Compilers compare it with the counts of
// lines to decide whether a call is worth inlining.
enum class Totals : uint8_t {
  kBytes,  // count x bytes of code, as llvm-profgen: its authors measured that programs got slower with the other
  kLines,  // the sum of the counts in `body`, here and in all that was inlined
};

struct ProfileOptions {
  Totals totals = Totals::kBytes;
  // Code of functions in `entries` that ran, which no range covers, gets the count 0: "did not run", which is more than "unknown". Only with
  // branch records: samples do not say so. Ranges whose count is 0 say so in either case.
  bool fill_zeros = true;
  // Code of line 0, which belongs to no line, counts for the line with that offset, as in llvm-profgen. Off, as in AutoFDO: all such code of a
  // function would share one count, the largest. For comparisons.
  bool line_zero = false;
};

// Code that was counted: `weight` is count x bytes of code, before scaling.
struct CountedCode {
  double weight = 0;
  uint64_t pieces = 0;  // of ranges, each within one row of the symbol table

  void add(double more) {
    weight += more;
    ++pieces;
  }
};

// What became of the counts.
struct ProfileReport {
  CountedCode counted = {};  // all
  CountedCode used = {};     // became counts of lines
  // Became nothing: no function is known there, the function has no start line (no -gmlt, or assembly), the code has no line.
  CountedCode no_function = {};
  CountedCode no_start_line = {};
  CountedCode no_line = {};
  // Inlined through a call whose line is unknown: part of the total of the function around it, of no line.
  CountedCode no_call_line = {};
  // Used, but its line or its call's stands before the start of its function (an #include or a macro within it) or 65,536 or more
  // behind it: the offset wraps around, as it does in the compiler.
  CountedCode wrapped = {};
  double calls = 0;              // of branches that became calls of lines
  double calls_no_line = 0;      // to the entry of a function, from code without a line
  double other_branches = 0;     // to other places
  double scale = 1;              // counts in the profile = counts x scale, rounded; a power of two
  uint64_t largest_count = 0;    // of a line, scaled
  uint64_t rounded_to_zero = 0;  // lines that ran, and whose scaled count is under one half
  uint64_t functions = 0;        // with code of their own and counts
  uint64_t renamed = 0;          // of them, parts and clones that count for the function they came from
};

// The largest count of a line in a profile that is made here.
inline constexpr uint64_t kMaxLineCount = uint64_t{1} << 48U;

// Counts that are whole numbers up to kMaxLineCount keep their value (scale 1); others are multiplied by a power of two, so that
// the smallest is not lost. Pure; costs a look-up for each row of the symbol table within the ranges. Any thread.
SampleProfile profile_of(const ExecutionCounts& counts, const symbolizer::Symtab& symtab,
                         ProfileReport& report, const ProfileOptions& options = {});

}  // namespace plimsoll::fdo
