#include "query/fdo/code/execution.h"

#include <algorithm>

namespace plimsoll::fdo {

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
  return counts.branches.empty() && counts.ranges.empty() ? execution_of_samples(code, counts)
                                                          : execution_of_branches(code, counts);
}

}  // namespace plimsoll::fdo
