// How good a compiler profile is, before a compiler believes it.
//
//   QualityReport report = measure_quality({counts, execution, code, symbols});
//   if (report.usefulness < wanted) ...
//
// Pure; the same input gives the same report. docs/fdo.md says what the figures mean.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "query/fdo/code/execution.h"
#include "query/fdo/code/program_code.h"
#include "query/fdo/counts/binary_counts.h"
#include "query/fdo/profile/older_build.h"
#include "query/fdo/profile/profile_of.h"
#include "symbolizer/symtab/symtab.h"

namespace plimsoll::fdo {

// By rising usefulness.
enum class Usefulness : uint8_t { kNone, kPoor, kFair, kGood };

std::string_view name_of(Usefulness usefulness);  // "none", "poor", "fair", "good"

// Which share of the value of a binary's samples becomes counts of lines.
struct MatchedShares {
  double matched = 0;        // function, start line and line, also of inlined calls around it
  double no_function = 0;    // no symbol at the address, or no code that was read
  double no_start_line = 0;  // a function without the line it starts at: compiled without -gmlt
  double no_line = 0;        // a function, but code of no line, or inlined by a call of no line
};

struct HotFunction {
  std::string name;  // as linked
  double share = 0;  // of the value of the binary's samples
  double samples = 0;
};

// Two random halves of the machines, function by function.
struct HalvesCompared {
  double distance = 0;            // Manhattan, over the largest 20 of either: 0 to 2
  double distance_by_chance = 0;  // mean of what so many samples differ by, were all machines alike
  double entropy = 0;             // of one half, in bits
  double other_entropy = 0;

  // By more than twice what chance explains.
  bool differ() const { return distance > 0.2 && distance > 2 * distance_by_chance; }
};

// A function with most of the samples that jumps to hundreds of places by one indirect jump: samples do not say from which of them to which.
struct SwitchHeavy {
  std::string function;
  double share = 0;      // of the value of the binary's samples
  uint64_t targets = 0;  // of the jump
};

struct QualityReport {
  std::string binary;                  // the local file
  std::vector<std::string> build_ids;  // whose samples were used; first that of `binary`
  std::string event;
  double samples = 0;
  int64_t machines = 0;
  int64_t draws = 0;
  int64_t from_ns = 0;  // wall clock
  int64_t to_ns = 0;
  bool is_of_branches = false;
  double branch_records = 0;
  double bogus_share = 0;  // of the branches and ranges between them: those that cannot be
  double share_of_process =
      0;  // of the CPU time (value) of the processes: what compiling this binary better can change
  double in_functions = 1;  // of the value of the binary's samples: in functions whose code was read
  double in_unknown_jumps =
      0;  // of that in functions: in those with an indirect jump whose targets are unknown
  std::optional<MatchedShares> lines = {};  // none: the profile needs no lines
  double profile_density =
      0;  // samples per byte of the code that ran, of the thinnest function of those with 99 % of the samples
  double samples_per_function = 0;            // on the mean of functions with samples
  uint64_t functions = 0;                     // with samples
  std::vector<HotFunction> hot = {};          // that have 90 % of the samples together, the hottest first
  std::vector<HotFunction> thin = {};         // of these, those with fewer than kMinSamples samples
  std::optional<HalvesCompared> halves = {};  // none: fewer than two machines
  std::optional<SwitchHeavy> switch_heavy = {};
  std::vector<MergedBuild> older = {};  // builds and profiles that were added
  Usefulness usefulness = Usefulness::kNone;
  std::vector<std::string> reasons = {};  // why it is not better, and what to do
  std::vector<std::string> notes = {};
};

// Fewer samples do not tell which blocks of a function are hot.
inline constexpr double kMinSamples = 20;

struct QualityInput {
  const BinaryCounts& counts;
  const Execution& execution;
  const ProgramCode& code;
  const symbolizer::Symtab* symbols = nullptr;  // none: of a profile that needs no lines
  const ProfileReport* profile = nullptr;       // what became of the counts; none: of a profile without lines
  std::vector<MergedBuild> older = {};
  std::string binary = {};
};

QualityReport measure_quality(const QualityInput& input);

// Samples of branch records count by recordings: a 16th of the records. Sets `usefulness` and `reasons` from all the rest.
void grade(QualityReport& report);

// kUnsupported where the samples would mislead a compiler, kNotFound where the report is below `wanted`; with `wanted` kNone nothing is
// refused.
Status check_quality(const QualityReport& report, Usefulness wanted);

// For people: a heading, then a line for each figure.
std::string to_text(const QualityReport& report);
// One document, with a line end.
std::string to_json(const QualityReport& report);

}  // namespace plimsoll::fdo
