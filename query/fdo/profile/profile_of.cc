#include "query/fdo/profile/profile_of.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "query/fdo/profile/code_pieces.h"
#include "query/fdo/profile/context_builder.h"
#include "query/fdo/profile/profile_math.h"

namespace plimsoll::fdo {
namespace {

// Calls `visit` with each count that the profile will have.
template <typename Visit>
void visit_counts(const Context& context, const Visit& visit) {
  visit(context.head);
  for (const auto& [offset, line] : context.body) {
    visit(line.count);
    for (const auto& [name, count] : line.calls) {
      visit(count);
    }
  }
  for (const auto& [call, callee] : context.inlined) {
    visit_counts(*callee, visit);
  }
}

// The smallest count that is not 0 becomes this or more: it is then off by 3 % at most.
constexpr double kMinCount = 16;

double scale_of(const ContextTree& tree) {
  double largest = 0;
  double smallest = HUGE_VAL;
  bool is_whole = true;
  for (const auto& [name, context] : tree) {
    visit_counts(context, [&](double count) {
      if (count > 0) {
        largest = std::max(largest, count);
        smallest = std::min(smallest, count);
        is_whole = is_whole && count == std::floor(count);
      }
    });
  }
  constexpr auto kLargest = static_cast<double>(kMaxLineCount);
  if (largest == 0 || (is_whole && largest <= kLargest)) {
    return 1;
  }
  const double wanted = std::max(0.0, std::ceil(std::log2(kMinCount / smallest)));
  const double possible = std::floor(std::log2(kLargest / largest));
  return std::exp2(std::min(wanted, possible));
}

class Rounding {
 public:
  Rounding(const ProfileOptions& options, ProfileReport& report) : options_(options), report_(report) {}

  FunctionSamples function(const Context& context) const;

 private:
  uint64_t rounded(double count) const {
    constexpr double kEnd = 9'223'372'036'854'775'808.0;  // 2^63
    return static_cast<uint64_t>(std::llround(std::min(count * report_.scale, std::nextafter(kEnd, 0.0))));
  }

  const ProfileOptions& options_;
  ProfileReport& report_;
};

FunctionSamples Rounding::function(const Context& context) const {
  FunctionSamples function;
  function.head = rounded(context.head);
  for (const auto& [offset, line] : context.body) {
    BodySamples& samples = function.body[offset];
    samples.count = rounded(line.count);
    report_.largest_count = std::max(report_.largest_count, samples.count);
    report_.rounded_to_zero += line.count > 0 && samples.count == 0 ? 1 : 0;
    for (const auto& [name, count] : line.calls) {
      samples.calls.emplace(name, rounded(count));
    }
  }
  for (const auto& [call, callee] : context.inlined) {
    function.inlined[call.first].emplace(call.second, this->function(*callee));
  }
  if (options_.totals == Totals::kBytes) {
    function.total = rounded(context.weight);
    return function;
  }
  for (const auto& [offset, samples] : function.body) {
    function.total = saturating_add(function.total, samples.count);
  }
  for (const auto& [offset, callees] : function.inlined) {
    for (const auto& [name, callee] : callees) {
      function.total = saturating_add(function.total, callee.total);
    }
  }
  return function;
}

// The ranges, and one without a count for each function that any of them lies in.
std::vector<CountedRange> with_functions_that_ran(const ExecutionCounts& counts) {
  std::vector<CountedRange> ranges = counts.ranges;
  for (const CountedRange& function : counts.entries) {
    const auto after = std::ranges::lower_bound(counts.ranges, function.first, {}, &CountedRange::first);
    if (after != counts.ranges.end() && after->first <= function.last) {
      ranges.push_back({function.first, function.last, 0});
    }
  }
  return ranges;
}

}  // namespace

SampleProfile profile_of(const ExecutionCounts& counts, const symbolizer::Symtab& symtab,
                         ProfileReport& report, const ProfileOptions& options) {
  report = {};
  ContextBuilder builder(symtab, options, report);
  const bool fills_zeros = options.fill_zeros && counts.from_branches;
  builder.add_pieces(disjoint_pieces(fills_zeros ? with_functions_that_ran(counts) : counts.ranges));
  builder.add_entries(counts.entries);
  builder.add_branches(counts);

  report.scale = scale_of(builder.tree());
  const Rounding rounding(options, report);
  SampleProfile profile;
  for (const auto& [name, context] : builder.tree()) {
    FunctionSamples function = rounding.function(context);
    // All of it is 0: as good as unknown.
    if (function.total != 0 || function.head != 0) {
      ++report.functions;
      profile.functions.emplace(name, std::move(function));
    }
  }
  return profile;
}

}  // namespace plimsoll::fdo
