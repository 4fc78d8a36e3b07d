#include "query/fdo/profile/older_build.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <string_view>
#include <utility>

#include "query/fdo/profile/profile_math.h"

namespace plimsoll::fdo {
namespace {

// With less of its counts at lines that are still there, a function is another one.
constexpr double kMinFit = 0.5;

class Carrier {
 public:
  Carrier(const ProgramShape* older, const ProgramShape& newer) : older_(older), newer_(newer) {}

  CarriedProfile run(const SampleProfile& profile) {
    for (const auto& [name, function] : profile.functions) {
      measure(name, function);
    }
    CarriedProfile carried;
    const auto total = static_cast<double>(body_total(profile));
    for (const auto& [name, function] : profile.functions) {
      if (!is_stale(name)) {
        FunctionSamples& into = carried.profile.functions[new_name(name)];
        carry(into, name, function);
      }
    }
    for (const auto& [name, fit] : fits_) {
      if (is_stale(name)) {
        carried.stale.push_back(
            {.name = name,
             .share = total > 0 ? fit.counts / total : 0,
             .reason = fit.shape == nullptr ? StaleReason::kGone : StaleReason::kChanged});
      }
    }
    std::ranges::sort(carried.stale, [](const StaleFunction& a, const StaleFunction& b) {
      return a.share != b.share ? a.share > b.share : a.name < b.name;
    });
    carried.share = total > 0 ? static_cast<double>(body_total(carried.profile)) / total : 0;
    return carried;
  }

 private:
  struct Fit {
    const FunctionShape* shape = nullptr;  // in the newer program
    LineMap lines = {};
    double counts = 0;  // of its own lines, wherever it was inlined to
    double mapped = 0;  // of these, at lines that are still there
  };

  // Of the older profile's function.
  Fit& fit_of(const std::string& name, const FunctionSamples& function) {
    const auto [found, is_new] = fits_.try_emplace(name);
    Fit& fit = found->second;
    if (is_new) {
      fit.shape = newer_.find(name);
    }
    if (fit.shape == nullptr) {
      return fit;
    }
    const FunctionShape* const before = older_ == nullptr ? nullptr : older_->find(name);
    if (before == nullptr) {
      add_lines_as_they_stand(function, fit);
    } else if (is_new) {
      fit.lines = align_lines(*before, *fit.shape);
    }
    return fit;
  }

  static void add_lines_as_they_stand(const FunctionSamples& function, Fit& fit) {
    const auto add = [&fit](uint32_t line) {
      if (fit.shape->marks_by_line.contains(line)) {
        fit.lines.emplace(line, line);
      }
    };
    for (const auto& [offset, samples] : function.body) {
      add(offset.line);
    }
    for (const auto& [offset, callees] : function.inlined) {
      add(offset.line);
    }
  }

  void measure(const std::string& name, const FunctionSamples& function) {
    Fit& fit = fit_of(name, function);
    for (const auto& [offset, samples] : function.body) {
      fit.counts += static_cast<double>(samples.count);
      fit.mapped += fit.lines.contains(offset.line) ? static_cast<double>(samples.count) : 0;
    }
    for (const auto& [offset, callees] : function.inlined) {
      for (const auto& [callee_name, callee] : callees) {
        measure(callee_name, callee);
      }
    }
  }

  bool is_stale(const std::string& name) const {
    const Fit& fit = fits_.at(name);
    return fit.shape == nullptr || fit.mapped < kMinFit * fit.counts;
  }

  // Of a callee, too: names of functions that the newer program does not show may be right all the same.
  std::string new_name(const std::string& name) const {
    const FunctionShape* const shape = newer_.find(name);
    return shape == nullptr ? name : std::string(shape->name);
  }

  void carry(FunctionSamples& into, const std::string& name, const FunctionSamples& from) const {
    const LineMap& lines = fits_.at(name).lines;
    FunctionSamples carried;
    for (const auto& [offset, samples] : from.body) {
      if (const auto line = lines.find(offset.line); line != lines.end()) {
        BodySamples& at_line = carried.body[{line->second, offset.discriminator}];
        at_line.count = samples.count;
        for (const auto& [callee, count] : samples.calls) {
          uint64_t& calls = at_line.calls[new_name(callee)];
          calls = saturating_add(calls, count);
        }
      }
    }
    for (const auto& [offset, callees] : from.inlined) {
      const auto line = lines.find(offset.line);
      for (const auto& [callee_name, callee] : callees) {
        if (line != lines.end() && !is_stale(callee_name)) {
          carry(carried.inlined[{line->second, offset.discriminator}][new_name(callee_name)], callee_name,
                callee);
        }
      }
    }
    // In bytes of code or in lines: as much of it as of the counts.
    const auto before = static_cast<double>(body_total(from));
    const double kept = before > 0 ? static_cast<double>(body_total(carried)) / before : 1;
    carried.total = saturating_round(static_cast<double>(from.total) * kept);
    carried.head = from.head;
    merge_function(into, carried);
  }

  // Two local functions may have become one.
  static void merge_function(FunctionSamples& into, FunctionSamples& from) {
    if (into == FunctionSamples()) {
      into = std::move(from);
      return;
    }
    merge(into, from, 1);
  }

  const ProgramShape* older_;
  const ProgramShape& newer_;
  std::map<std::string, Fit> fits_;  // by the older profile's name
};

// Counts by function and line, in whatever that was inlined: builds differ in what they inline.
using FlatCounts = std::map<std::pair<std::string_view, LineOffset>, double>;

void flatten(std::string_view name, const FunctionSamples& function, FlatCounts& counts) {
  for (const auto& [offset, samples] : function.body) {
    counts[{name, offset}] += static_cast<double>(samples.count);
  }
  for (const auto& [offset, callees] : function.inlined) {
    for (const auto& [callee_name, callee] : callees) {
      flatten(callee_name, callee, counts);
    }
  }
}

FlatCounts flattened(const SampleProfile& profile) {
  FlatCounts counts;
  for (const auto& [name, function] : profile.functions) {
    flatten(name, function, counts);
  }
  return counts;
}

double total_of(const FlatCounts& counts) {
  double total = 0;
  for (const auto& [line, count] : counts) {
    total += count;
  }
  return total;
}

// Of about a hundred lines, a distance by chance is seldom larger than its mean by more than this.
constexpr double kChance = 1.15;

// What `older` samples of an older build are worth, in samples of the newer one. The error of n samples of a profile is about
// sqrt(K / n), with the distance between two profiles as its measure, sum |x - y|: samples that come at random give
// sum sqrt(2 p (1 - p) (1/n + 1/m) / pi) on the mean (as in the report on the halves of the machines). By what the two differ beyond
// that, the older profile is wrong however many samples it has: its error is that of m = 1 / (1 / older + excess^2 / K) samples.
double worth_of(double older, double newer, const FlatCounts& of_older, const FlatCounts& of_newer) {
  const double older_total = total_of(of_older);
  const double newer_total = total_of(of_newer);
  if (older_total <= 0 || newer_total <= 0) {
    return 0;
  }
  FlatCounts all = of_older;
  all.insert(of_newer.begin(), of_newer.end());
  double distance = 0;
  double spread = 0;
  for (const auto& [line, count] : all) {
    const auto older_at = of_older.find(line);
    const auto newer_at = of_newer.find(line);
    const double x = older_at == of_older.end() ? 0 : older_at->second / older_total;
    const double y = newer_at == of_newer.end() ? 0 : newer_at->second / newer_total;
    const double p = (x * older + y * newer) / (older + newer);
    distance += std::abs(x - y);
    spread += std::sqrt(2 / std::numbers::pi * p * (1 - p));
  }
  const double by_chance = kChance * spread * std::sqrt(1 / older + 1 / newer);
  const double by_chance_squared = by_chance * by_chance;
  const double excess_squared = std::max(0.0, distance * distance - by_chance_squared);
  return spread <= 0 ? older : 1 / (1 / older + excess_squared / (spread * spread));
}

}  // namespace

CarriedProfile carry_over(const SampleProfile& older, const ProgramShape* older_shape,
                          const ProgramShape& newer) {
  return Carrier(older_shape, newer).run(older);
}

ProfileMerge::ProfileMerge(SampleProfile newer, double samples, const ProgramShape& shape)
    : newer_(std::move(newer)), samples_(samples), shape_(shape), merged_(newer_) {}

MergedBuild ProfileMerge::add(const OlderBuild& older) {
  CarriedProfile carried = carry_over(older.profile, older.shape, shape_);
  // Functions that are new say nothing about the older build.
  SampleProfile comparable;
  for (const auto& [name, function] : newer_.functions) {
    const bool is_old = older.shape == nullptr ? carried.profile.functions.contains(name)
                                               : older.shape->find(name) != nullptr;
    if (is_old) {
      comparable.functions.emplace(name, function);
    }
  }
  MergedBuild merged{.name = older.name,
                     .samples = older.samples > 0 ? older.samples : samples_,
                     .age_s = older.age_s,
                     .similarity = overlap(comparable, carried.profile),
                     .carried_share = carried.share,
                     .functions = carried.profile.functions.size(),
                     .stale = std::move(carried.stale)};
  const auto newer_total = static_cast<double>(body_total(newer_));
  const auto older_total = static_cast<double>(body_total(older.profile));
  const double carried_samples = merged.samples * carried.share;
  if (merged.similarity <= 0 || carried_samples <= 0 || newer_total <= 0 || samples_ <= 0) {
    return merged;
  }
  const double comparable_samples = samples_ * static_cast<double>(body_total(comparable)) / newer_total;
  const double worth =
      worth_of(carried_samples, comparable_samples, flattened(carried.profile), flattened(comparable));
  merged.weight = worth / carried_samples * std::exp2(-std::max(0.0, older.age_s) / kHalfLifeS);
  // Counts of the two are in units of their own: a sample is to be as much in both.
  const double newer_per_sample = newer_total / samples_;
  const double older_per_sample = older_total / merged.samples;
  merge(merged_, carried.profile, merged.weight * newer_per_sample / older_per_sample);
  return merged;
}

}  // namespace plimsoll::fdo
