// Where machines said that a build lies.
#pragma once

#include <string>
#include <vector>

#include "query/snapshot/snapshot.h"

namespace plimsoll::fdo {

// Hints to its file: paths on the machines that ran it, each once, at most a hundred. `build_id` is whole, in bytes; perf's beginning of one is
// of the same build.
std::vector<std::string> paths_of_build(const query::Snapshot& snapshot, const std::string& build_id);

}  // namespace plimsoll::fdo
