// Which event a name means.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "query/snapshot/snapshot.h"

namespace plimsoll::query {

// The dictionary ID of the event of that name, or of the only one whose name is that with perf's modifiers. Empty: cycles where
// there are any, else cpu-clock, else the first that is not of branch records. kNotFound where there is none; the
// hint says which there are.
Result<uint32_t> find_event(const std::string& name, const Snapshot& snapshot);

}  // namespace plimsoll::query
