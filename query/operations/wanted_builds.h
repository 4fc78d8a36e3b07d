// Which builds better symbols would help, for what fetches them.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "query/snapshot/snapshot.h"

namespace plimsoll::query {

// What a build is looked for elsewhere for.
enum class WantedContent {
  kBetterSymbols,  // its own are not the best there are
  kCode,           // annotated code and profiles for compilers, whatever its symbols are
};

// Build IDs (bytes) of user code of which that is wanted, that with the most samples of its own first. At most `limit`. Costs a pass over the rows.
Result<std::vector<std::string>> wanted_builds(const Snapshot& snapshot, size_t limit,
                                               WantedContent content = WantedContent::kBetterSymbols);

}  // namespace plimsoll::query
