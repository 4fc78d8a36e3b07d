// From the rows of older formats of the data directory to today's.
#pragma once

#include <string>

#include "base/result.h"

namespace plimsoll::store {

// Rewrites the visible segments of older versions as of today's, one by one: each under a name that was never used, which
// takes the old one's place in the catalogue in one transaction. A crash leaves some converted, and the next call does the
// rest. Readers of an older program that have a file open keep it.
// What cannot be read stays as it is, and the failure (kCorrupt) names all of it.
// Of a directory that this process writes; one thread. Memory: twice the rows of the largest segment. About a second for each
// million rows.
Status convert_segments(const std::string& catalogue_path, const std::string& segments_path);

}  // namespace plimsoll::store
