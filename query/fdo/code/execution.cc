#include "query/fdo/code/execution.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>

namespace plimsoll::fdo {
namespace {

constexpr double kMinCovered = 0.5;
constexpr double kEnoughRecordings = 1000;

// Why the samples say more than the branch records; empty where they do not.
std::string why_not_branches(const ProgramCode& code, const BinaryCounts& counts,
                             const Execution& of_branches) {
  std::set<const FunctionCode*> covered;
  for (const CountedRange& range : of_branches.counts.ranges) {
    covered.insert(code.function_at(range.first));
  }
  double value = 0;
  double samples = 0;
  double value_covered = 0;
  for (const AddressSamples& at : counts.addresses) {
    const FunctionCode* const function = code.function_at(at.address);
    value += at.value;
    samples += at.samples;
    value_covered += function != nullptr && covered.contains(function) ? at.value : 0;
  }
  if (value <= 0) {
    return {};
  }
  if (counts.ranges.empty()) {
    return "what ran between two branches is not known";
  }
  double records = 0;
  for (const AddressPair& range : counts.ranges) {
    records += range.samples;
  }
  if (records / kRecordsOfSample < std::min(samples / 2, kEnoughRecordings)) {
    return fmt::format("{:.0f} records are too few beside {:.0f} samples", records, samples);
  }
  if (value_covered < kMinCovered * value) {
    return fmt::format("they are of functions with {:.0f} % of the samples", 100 * value_covered / value);
  }
  return {};
}

}  // namespace

std::vector<uint64_t> sampled_addresses(const BinaryCounts& counts) {
  std::vector<uint64_t> addresses;
  for (const AddressSamples& at : counts.addresses) {
    addresses.push_back(at.address);
  }
  for (const auto* pairs : {&counts.branches, &counts.ranges}) {
    for (const AddressPair& pair : *pairs) {
      addresses.push_back(pair.from);
      addresses.push_back(pair.to);
    }
  }
  std::ranges::sort(addresses);
  addresses.erase(std::ranges::unique(addresses).begin(), addresses.end());
  return addresses;
}

Execution execution_of(const ProgramCode& code, const BinaryCounts& counts) {
  if (counts.branches.empty() && counts.ranges.empty()) {
    return execution_of_samples(code, counts);
  }
  Execution of_branches = execution_of_branches(code, counts);
  const std::string why_not = why_not_branches(code, counts, of_branches);
  if (why_not.empty()) {
    return of_branches;
  }
  Execution of_samples = execution_of_samples(code, counts);
  of_samples.notes.push_back("branch records were left out: " + why_not);
  return of_samples;
}

}  // namespace plimsoll::fdo
