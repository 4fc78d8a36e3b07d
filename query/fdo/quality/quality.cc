#include "query/fdo/quality/quality.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <compare>
#include <map>
#include <numbers>
#include <set>
#include <utility>

#include "query/fdo/profile/samples_behind.h"
#include "statistics/stability/distance.h"
#include "statistics/stability/entropy.h"

namespace plimsoll::fdo {
namespace {

constexpr double kHotShare = 0.9;
// As llvm-profgen's --profile-density-cutoff-hot.
constexpr double kDensityShare = 0.99;
constexpr size_t kComparedFunctions = 20;
constexpr double kDominating = 0.5;
constexpr uint64_t kManyTargets = 200;
// What is lost below is not worth a note.
constexpr double kNotedShare = 0.01;

struct FunctionSums {
  double value = 0;
  double samples = 0;
  double value_of_half = 0;
  double bytes = 0;  // of the code that ran
};

// Of branch records without samples: where branches led to, as their values, and recordings instead of records.
std::vector<AddressSamples> measured_addresses(const BinaryCounts& counts) {
  if (!counts.addresses.empty()) {
    return counts.addresses;
  }
  std::vector<AddressSamples> addresses;
  for (const AddressPair& branch : counts.branches) {
    addresses.push_back({.address = branch.to,
                         .value = branch.value,
                         .samples = branch.samples / kRecordsOfSample,
                         .value_of_half = branch.value_of_half});
  }
  return addresses;
}

// By the entry of the function with code of its own; of code that was not read, 0 and its name.
struct FunctionKey {
  uint64_t entry = 0;
  std::string name;

  auto operator<=>(const FunctionKey&) const = default;
};

class Functions {
 public:
  Functions(const QualityInput& input, const std::vector<AddressSamples>& addresses) : input_(input) {
    for (const AddressSamples& at : addresses) {
      FunctionSums& sums = by_key_[key_at(at.address)];
      sums.value += at.value;
      sums.samples += at.samples;
      sums.value_of_half += at.value_of_half;
      value_ += at.value;
      samples_ += at.samples;
    }
    add_bytes();
  }

  const std::map<FunctionKey, FunctionSums>& by_key() const { return by_key_; }
  double value() const { return value_; }
  double samples() const { return samples_; }

  // Of the value: in functions whose code was read.
  double value_in_code() const {
    double value = 0;
    for (const auto& [key, sums] : by_key_) {
      value += key.entry != 0 ? sums.value : 0;
    }
    return value;
  }

 private:
  static FunctionKey key_of(const FunctionCode& function) { return {function.entry, function.name}; }

  FunctionKey key_at(uint64_t address) const {
    if (const FunctionCode* const function = input_.code.function_at(address)) {
      return key_of(*function);
    }
    std::vector<symbolizer::SymtabFrame> frames;
    if (input_.symbols != nullptr) {
      input_.symbols->look_up(address, frames);
    }
    return {0, frames.empty() ? std::string() : std::string(frames.back().function)};
  }

  // Ranges may overlap: every byte counts once.
  void add_bytes() {
    uint64_t counted_to = 0;
    for (const CountedRange& range : input_.execution.counts.ranges) {
      const FunctionCode* const function = range.count > 0 ? input_.code.function_at(range.first) : nullptr;
      if (function == nullptr) {
        continue;
      }
      const uint32_t block = function->block_at(range.last);
      const uint64_t end = block < function->blocks.size() ? function->blocks[block].to : range.last + 1;
      const uint64_t begin = std::max(range.first, counted_to);
      if (end > begin) {
        by_key_[key_of(*function)].bytes += static_cast<double>(end - begin);
        counted_to = end;
      }
    }
  }

  const QualityInput& input_;
  std::map<FunctionKey, FunctionSums> by_key_;
  double value_ = 0;
  double samples_ = 0;
};

double density_of(const Functions& functions) {
  std::vector<std::pair<double, double>> by_density;  // and samples
  double samples = 0;
  for (const auto& [key, sums] : functions.by_key()) {
    if (sums.bytes > 0 && sums.samples > 0) {
      by_density.emplace_back(sums.samples / sums.bytes, sums.samples);
      samples += sums.samples;
    }
  }
  std::ranges::sort(by_density, std::greater<>());
  double seen = 0;
  for (const auto& [density, of_function] : by_density) {
    seen += of_function;
    if (seen >= kDensityShare * samples) {
      return density;
    }
  }
  return 0;
}

void add_hot_functions(const Functions& functions, QualityReport& report) {
  std::vector<HotFunction> all;
  for (const auto& [key, sums] : functions.by_key()) {
    if (sums.samples > 0 && functions.value() > 0) {
      all.push_back({.name = key.name, .share = sums.value / functions.value(), .samples = sums.samples});
    }
  }
  report.functions = all.size();
  std::ranges::sort(all, [](const HotFunction& a, const HotFunction& b) {
    return a.share != b.share ? a.share > b.share : a.name < b.name;
  });
  double seen = 0;
  for (HotFunction& function : all) {
    if (seen >= kHotShare) {
      break;
    }
    seen += function.share;
    if (function.samples < kMinSamples) {
      report.thin.push_back(function);
    }
    report.hot.push_back(std::move(function));
  }
}

// Of shares p of n and m samples that come at random, E|x - y| is about sqrt(2 p (1 - p) (1/n + 1/m) / pi): the mean of a normal variable's size.
double distance_by_chance(const std::vector<double>& x, const std::vector<double>& y, double x_samples,
                          double y_samples) {
  if (x_samples <= 0 || y_samples <= 0) {
    return 2;
  }
  double x_sum = 0;
  double y_sum = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    x_sum += x[i];
    y_sum += y[i];
  }
  double distance = 0;
  for (const uint32_t row : statistics::union_of_top(x, y, kComparedFunctions)) {
    const double share = (x[row] + y[row]) / (x_sum + y_sum);
    distance += std::sqrt(2 / std::numbers::pi * share * (1 - share) * (1 / x_samples + 1 / y_samples));
  }
  return distance;
}

std::optional<HalvesCompared> compare_halves(const Functions& functions, const BinaryCounts& counts) {
  std::vector<double> half;
  std::vector<double> other;
  double of_half = 0;
  for (const auto& [key, sums] : functions.by_key()) {
    half.push_back(sums.value_of_half);
    other.push_back(std::max(0.0, sums.value - sums.value_of_half));
    of_half += sums.value_of_half;
  }
  if (counts.machines < 2 || of_half <= 0 || of_half >= functions.value()) {
    return std::nullopt;
  }
  // Samples of a half are not known apart: as its part of the value.
  const double share = of_half / functions.value();
  return HalvesCompared{.distance = statistics::manhattan_distance(half, other, kComparedFunctions),
                        .distance_by_chance = distance_by_chance(half, other, share * functions.samples(),
                                                                 (1 - share) * functions.samples()),
                        .entropy = statistics::entropy(half),
                        .other_entropy = statistics::entropy(other)};
}

MatchedShares match_lines(const std::vector<AddressSamples>& addresses, const ProgramCode& code,
                          const symbolizer::Symtab& symbols) {
  MatchedShares shares;
  double sum = 0;
  std::vector<symbolizer::SymtabFrame> frames;
  for (const AddressSamples& at : addresses) {
    frames.clear();
    symbols.look_up(at.address, frames);
    sum += at.value;
    const bool has_function =
        code.function_at(at.address) != nullptr && !frames.empty() &&
        std::ranges::none_of(frames, [](const auto& frame) { return frame.function.empty(); });
    const bool has_start =
        has_function && std::ranges::all_of(frames, [](const auto& frame) { return frame.start_line != 0; });
    const bool has_line =
        has_start && std::ranges::all_of(frames, [](const auto& frame) { return frame.line != 0; });
    double& share = has_line       ? shares.matched
                    : has_start    ? shares.no_line
                    : has_function ? shares.no_start_line
                                   : shares.no_function;
    share += at.value;
  }
  for (double* const share : {&shares.matched, &shares.no_line, &shares.no_start_line, &shares.no_function}) {
    *share = sum > 0 ? *share / sum : 0;
  }
  return shares;
}

uint64_t targets_of_jumps(const FunctionCode& function) {
  uint64_t most = 0;
  for (const Block& block : function.blocks) {
    if (block.end == BlockEnd::kTable) {
      std::set<uint32_t> targets;
      for (const Edge& edge : function.edges_of(block)) {
        targets.insert(edge.to);
      }
      most = std::max<uint64_t>(most, targets.size());
    }
  }
  return most;
}

std::optional<SwitchHeavy> find_switch_heavy(const Functions& functions, const ProgramCode& code) {
  for (const FunctionCode& function : code.functions) {
    const auto sums = functions.by_key().find({function.entry, function.name});
    if (sums == functions.by_key().end() || functions.value() <= 0 ||
        sums->second.value < kDominating * functions.value()) {
      continue;
    }
    if (const uint64_t targets = targets_of_jumps(function); targets >= kManyTargets) {
      return SwitchHeavy{
          .function = function.name, .share = sums->second.value / functions.value(), .targets = targets};
    }
  }
  return std::nullopt;
}

double share_in_unknown_jumps(const Functions& functions, const ProgramCode& code) {
  double value = 0;
  for (const FunctionCode& function : code.functions) {
    const auto sums = functions.by_key().find({function.entry, function.name});
    value += function.has_unknown_jumps && sums != functions.by_key().end() ? sums->second.value : 0;
  }
  const double all = functions.value_in_code();
  return all > 0 ? value / all : 0;
}

// What of the samples and of the counts was lost on the way.
void add_notes(const QualityInput& input, std::vector<std::string>& notes) {
  const ProgramCode& code = input.code;
  if (code.addresses_elsewhere > 0) {
    notes.push_back(
        fmt::format("{} sampled addresses are in no function that symbols name", code.addresses_elsewhere));
  }
  if (code.addresses_over_limit > 0) {
    notes.push_back(
        fmt::format("{} sampled addresses are in functions that are too large, or too many, to be read",
                    code.addresses_over_limit));
  }
  if (code.unreadable_bytes > 0) {
    notes.push_back(fmt::format("{} bytes of sampled functions are no instructions", code.unreadable_bytes));
  }
  const ProfileReport* const profile = input.profile;
  if (profile == nullptr || profile->counted.weight <= 0) {
    return;
  }
  for (const auto& [lost, what] : {std::pair(profile->no_function, "has no function"),
                                   std::pair(profile->no_start_line, "is of functions without a start line"),
                                   std::pair(profile->no_line, "has no line"),
                                   std::pair(profile->no_call_line, "was inlined by calls without a line"),
                                   std::pair(profile->wrapped, "has lines before its function's start")}) {
    if (const double share = lost.weight / profile->counted.weight; share >= kNotedShare) {
      notes.push_back(fmt::format("{:.1f} % of the code that was counted {}", 100 * share, what));
    }
  }
  if (profile->rounded_to_zero > 0) {
    notes.push_back(fmt::format("{} lines ran so rarely that their count is 0", profile->rounded_to_zero));
  }
}

void add_older(const std::vector<MergedBuild>& older, QualityReport& report) {
  for (const MergedBuild& build : older) {
    if (build.weight > 0) {
      report.build_ids.push_back(build.name);
    } else if (build.has_other_basis) {
      report.notes.push_back(fmt::format("{} was not merged: it goes by {}, and the newer build by {}",
                                         build.name, report.is_of_branches ? "samples" : "branch records",
                                         report.is_of_branches ? "branch records" : "samples"));
    } else if (build.samples > 0) {
      report.notes.push_back(fmt::format(
          "{} was not merged: its profile has nothing in common with that of the newer build", build.name));
    } else {
      report.notes.push_back(fmt::format("{} has no samples in the selection", build.name));
    }
  }
}

}  // namespace

QualityReport measure_quality(const QualityInput& input) {
  const BinaryCounts& counts = input.counts;
  const std::vector<AddressSamples> addresses = measured_addresses(counts);
  const Functions functions(input, addresses);
  QualityReport report{.binary = input.binary,
                       .build_ids = {counts.build_id},
                       .event = counts.event,
                       .samples = counts.samples,
                       .machines = counts.machines,
                       .draws = counts.draws,
                       .from_ns = counts.coverage.from_ns,
                       .to_ns = counts.coverage.to_ns,
                       .is_of_branches = input.execution.counts.from_branches,
                       .older = input.older,
                       .notes = counts.notes};
  report.branch_records = branch_records_in(counts);
  const double bogus = input.execution.bogus.sum();
  const double kept = input.execution.ranges_kept + input.execution.branches_kept;
  report.bogus_share = bogus > 0 ? bogus / (bogus + kept) : 0;
  const double all = counts.value + counts.value_elsewhere;
  report.share_of_process = all > 0 ? counts.value / all : 0;
  if (input.symbols != nullptr) {
    report.lines = match_lines(addresses, input.code, *input.symbols);
  }
  report.in_functions = functions.value() > 0 ? functions.value_in_code() / functions.value() : 0;
  report.in_unknown_jumps = share_in_unknown_jumps(functions, input.code);
  report.profile_density = density_of(functions);
  add_hot_functions(functions, report);
  report.samples_per_function =
      report.functions > 0 ? functions.samples() / static_cast<double>(report.functions) : 0;
  report.halves = compare_halves(functions, counts);
  report.switch_heavy = find_switch_heavy(functions, input.code);
  report.notes.insert(report.notes.end(), input.execution.notes.begin(), input.execution.notes.end());
  add_notes(input, report.notes);
  add_older(input.older, report);
  grade(report);
  return report;
}

}  // namespace plimsoll::fdo
