#include "query/rows/symbol_coverage.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "base/hex.h"
#include "query/snapshot/dimension.h"

namespace plimsoll::query {
namespace {

constexpr size_t kMaxBinaries = 10;

std::string identity_text(const store::BinaryEntry& binary) {
  switch (binary.identity_kind) {
    case wire::GNU_BUILD_ID:
      return to_hex(binary.identity);
    case wire::CONTENT_HASH:
      return "xxh3:" + to_hex(binary.identity);
    default:
      return "";
  }
}

// What shares the build ID is one build, though it may have several names; without one the name is all there is.
void merge(UnsymbolizedBinary binary, std::map<std::string, UnsymbolizedBinary>& by_build) {
  const std::string key = binary.build_id.empty() ? "name " + binary.binary : binary.build_id;
  const auto [entry, is_new] = by_build.try_emplace(key, binary);
  if (!is_new) {
    entry->second.binary = std::min(entry->second.binary, binary.binary);
    entry->second.share += binary.share;
  }
}

}  // namespace

void SymbolCoverage::add(uint32_t stack, double value, double samples) {
  const store::StackNode& node = snapshot_.dictionaries.stacks[stack];
  sum_ += value;
  if (snapshot_.bindings.of(node.location).empty()) {
    const auto binary = binary_id_of(snapshot_, node.location);
    (binary ? by_binary_[*binary] : by_leaf_[node.location]) += value;
  }
  const store::LocationEntry& caller =
      snapshot_.dictionaries.locations[snapshot_.dictionaries.stacks[node.parent].location];
  const bool is_stackless = caller.kind == wire::UNFINISHED && caller.address == wire::STACK_NOT_TAKEN;
  samples_ += samples;
  stackless_samples_ += is_stackless ? samples : 0;
}

void SymbolCoverage::add(const SymbolCoverage& other) {
  sum_ += other.sum_;
  samples_ += other.samples_;
  stackless_samples_ += other.stackless_samples_;
  for (const auto& [binary, value] : other.by_binary_) {
    by_binary_[binary] += value;
  }
  for (const auto& [leaf, value] : other.by_leaf_) {
    by_leaf_[leaf] += value;
  }
}

void SymbolCoverage::describe(Coverage& coverage) const {
  coverage.unsymbolized_share = 0;
  coverage.unsymbolized_by.clear();
  coverage.samples = std::llround(samples_);
  coverage.stackless_share = samples_ == 0 ? 0 : stackless_samples_ / samples_;
  if (sum_ == 0) {
    return;
  }
  std::map<std::string, UnsymbolizedBinary> by_build;
  for (const auto& [id, value] : by_binary_) {
    const store::BinaryEntry& binary = snapshot_.dictionaries.binaries[id];
    merge({.binary = std::string(file_name_of(binary)),
           .build_id = identity_text(binary),
           .share = value / sum_,
           .reason = std::string(snapshot_.bindings.reasons_of(id))},
          by_build);
  }
  for (const auto& [leaf, value] : by_leaf_) {
    merge({.binary = leaf == 0 ? "[no stack]" : frame_value(snapshot_, "binary", {leaf, 0}),
           .build_id = "",
           .share = value / sum_,
           .reason = ""},
          by_build);
  }
  for (auto& [key, binary] : by_build) {
    coverage.unsymbolized_share += binary.share;
    coverage.unsymbolized_by.push_back(std::move(binary));
  }
  std::ranges::sort(coverage.unsymbolized_by, [](const auto& a, const auto& b) {
    return std::tie(b.share, a.binary, a.build_id) < std::tie(a.share, b.binary, b.build_id);
  });
  coverage.unsymbolized_by.resize(std::min(coverage.unsymbolized_by.size(), kMaxBinaries));
}

}  // namespace plimsoll::query
