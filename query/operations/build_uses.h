// Who runs the builds that the repository of binaries has.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "query/snapshot/snapshot.h"
#include "symbolizer/repository/binary_record.h"

namespace plimsoll::query {

struct BuildUse {
  std::vector<std::string> jobs =
      {};                    // with samples in its code, the most samples first; those without a job: none
  int64_t last_seen_ns = 0;  // wall clock; 0: no samples
  std::optional<uint64_t> libdw_units =
      {};  // that libdw has read for its symbol table; nothing: it has no table
};
using BuildUses = std::map<std::string, BuildUse, std::less<>>;  // by BinaryRecord::build_id

// By the rows of profiles that end at `from_ns` or later; without libdw_units. Samples count whose innermost
// code is the build's. `last_seen_ns` is to the hour: where the newest profile ends, of whatever code, of the
// newest hour with such samples. Costs two passes over the rows.
Result<BuildUses> uses_of_builds(const std::vector<symbolizer::BinaryRecord>& records,
                                 const Snapshot& snapshot, int64_t from_ns);

}  // namespace plimsoll::query
