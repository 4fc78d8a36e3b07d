// Whether a catalogue that nobody has open has changed.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace plimsoll::store {

// Of the database and its write-ahead log: another number where either has been written to since. For catalogues that are written to
// seldom: two commits within a tick of the file system's clock may have one version, if a checkpoint lies between them. Two calls of stat().
Result<int64_t> file_version(const std::string& catalogue_path);

}  // namespace plimsoll::store
