#include "query/views/symbol_coverage.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "base/hex.h"
#include "query/views/dimension.h"

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

// The binary of a location, or what stands for one; its share is to be filled in.
UnsymbolizedBinary binary_of(const Snapshot& snapshot, uint32_t location) {
  UnsymbolizedBinary binary;
  if (location == 0) {
    binary.binary = "[no stack]";
    return binary;
  }
  binary.binary = frame_value(snapshot, "binary", {location, 0});
  if (const auto owner = binary_id_of(snapshot, location)) {
    binary.build_id = identity_text(snapshot.dictionaries.binaries[*owner]);
    binary.reason = snapshot.bindings.reasons_of(*owner);
  }
  return binary;
}

}  // namespace

void SymbolCoverage::add(uint32_t stack, double value, double samples) {
  const store::StackNode& node = snapshot_.dictionaries.stacks[stack];
  sum_ += value;
  if (snapshot_.bindings.of(node.location).empty()) {
    unsymbolized_[node.location] += value;
  }
  const store::LocationEntry& caller =
      snapshot_.dictionaries.locations[snapshot_.dictionaries.stacks[node.parent].location];
  const bool is_stackless = caller.kind == wire::UNFINISHED && caller.address == wire::STACK_NOT_TAKEN;
  samples_ += samples;
  stackless_samples_ += is_stackless ? samples : 0;
}

void SymbolCoverage::describe(Coverage& coverage) const {
  coverage.unsymbolized_share = 0;
  coverage.unsymbolized_by.clear();
  coverage.samples = std::llround(samples_);
  coverage.stackless_share = samples_ == 0 ? 0 : stackless_samples_ / samples_;
  if (sum_ == 0) {
    return;
  }
  // One build may have several names; without a build ID the name is all there is.
  std::map<std::string, UnsymbolizedBinary> by_build;
  for (const auto& [leaf, value] : unsymbolized_) {
    UnsymbolizedBinary binary = binary_of(snapshot_, leaf);
    const std::string key = binary.build_id.empty() ? "name " + binary.binary : binary.build_id;
    UnsymbolizedBinary& entry = by_build.try_emplace(key, binary).first->second;
    entry.binary = std::min(entry.binary, binary.binary);
    entry.share += value / sum_;
    coverage.unsymbolized_share += value / sum_;
  }
  for (auto& [key, binary] : by_build) {
    coverage.unsymbolized_by.push_back(std::move(binary));
  }
  std::ranges::sort(coverage.unsymbolized_by, [](const auto& a, const auto& b) {
    return std::tie(b.share, a.binary, a.build_id) < std::tie(a.share, b.binary, b.build_id);
  });
  coverage.unsymbolized_by.resize(std::min(coverage.unsymbolized_by.size(), kMaxBinaries));
}

}  // namespace plimsoll::query
