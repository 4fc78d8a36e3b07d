// Whether a directory goes on with what an object store has of it.
#pragma once

#include <string>

#include "base/result.h"
#include "store/objects/manifest.h"

namespace plimsoll::store {

// kConflict where the store has profiles that the directory's archive lacks, or knows by their IDs alone, or has others under their numbers: one that
// was restored from an older backup has the same ID, and its copy would be a mixture of both.
Status expect_same_history(const std::string& data_dir, const Manifest& stored);

}  // namespace plimsoll::store
