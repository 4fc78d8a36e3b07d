// The tables that `plimsoll assign` reads, as a problem with names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "query/placement/placement.h"

namespace plimsoll::query {

// A CSV text, and what errors call it. Borrowed.
struct NamedText {
  std::string name;
  std::string_view text;
};

enum class CostUnit : uint8_t { kCycles, kNanoseconds };  // of a CPU, an instruction

struct PlacementInput {
  CostUnit unit = CostUnit::kCycles;
  std::vector<std::string> jobs;  // that have a load
  std::vector<std::string> platforms;
  PlacementProblem problem;
  std::vector<std::string> idle_jobs;  // without a load: nothing to place
  std::vector<std::string>
      lost_jobs;             // no cost of theirs is known anywhere; the problem has no pairs of them then
  size_t unknown_pairs = 0;  // left out, or bounded
};

struct PlacementTexts {
  NamedText
      costs;  // job, platform, cpi or ns_per_instruction, and may have margin (95 %, in the same unit; empty: unknown)
  NamedText jobs;  // job, load (instructions a second)
  NamedText
      platforms;  // platform, capacity (cost x load: cycles a second, or CPU-nanoseconds a second) or, with ns_per_instruction, cpus
  std::optional<NamedText> today = {};  // job, platform, load
};

// Pairs that the costs do not name are left out; or, with `max_unknown_cost`, they cost at most that many times the most that the job is known to
// cost anywhere. kInvalid, with the text's name and the line, for what makes no sense.
Result<PlacementInput> read_placement(const PlacementTexts& texts, std::optional<double> max_unknown_cost);

// Load of a job on a platform.
struct TodaysLoad {
  uint32_t job = 0;
  uint32_t platform = 0;
  double load = 0;
};
// By job, then platform. Each job's loads come to that of the problem, to a millionth.
Result<std::vector<TodaysLoad>> read_today(const NamedText& text, const PlacementInput& input);

}  // namespace plimsoll::query
