// What an estimate says of itself: its value, its margin of error at 95 %, and what the margin is made of.
//
// Pure: no I/O, no state; any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace plimsoll::statistics {

// What a margin is made of, or why there is none.
enum class MarginKind {
  kBetweenMachines,   // how machines differ, counting noise included
  kFewMachines,       // the same of a few machines (linearization.h): too narrow where those differ much
  kWithinMachines,    // counting noise alone: every machine that there is was observed
  kWithinOneMachine,  // counting noise alone: says nothing of other machines
  kTooFewMachines,    // no margin: too few machines have any of it
  kTooFewSamples,     // no margin
  kNoSamples,         // no estimate either: one of the two has no samples
};

// "between machines", ...: as tables have it.
std::string_view margin_kind_name(MarginKind kind);
// The inverse; absent: no kind has that name.
std::optional<MarginKind> margin_kind_called(std::string_view name);
bool has_margin(MarginKind kind);

struct Estimate {
  std::optional<double> value;
  std::optional<double> margin;  // half the width of the 95 % interval
  MarginKind margin_kind = MarginKind::kNoSamples;
  size_t machines = 0;  // that have samples of it
  // The ends of the interval, which are not quite as far from the value where it can only be positive, or a share. Set where
  // the margin is.
  std::optional<double> low = {};
  std::optional<double> high = {};
};

// Fewer samples than this of either total, and the normal approximation of its noise is not to be trusted.
constexpr double kMinSamples = 30;

// On what scale an interval is symmetric: it never leaves the values that there are.
enum class Scale {
  kLinear,  // any value
  kLog,     // positive ones: totals, ratios of events
  kLogit,   // shares, within (0, 1)
};

// The 95 % interval around a value with this standard error, which `degrees` degrees of freedom are behind (above 0, or
// infinity), by the delta method. A value at an end of its scale is on the linear one.
struct Interval {
  double low = 0;
  double high = 0;
};
Interval interval(double value, double standard_error, double degrees, Scale scale);
void set_interval(const Interval& interval, Estimate& estimate);

}  // namespace plimsoll::statistics
