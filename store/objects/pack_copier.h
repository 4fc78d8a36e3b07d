// Copies raw profiles in packs (store/objects/profile_pack.h).
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "store/objects/copy_draft.h"

namespace plimsoll::store {

// All profiles that no pack has, up to the newest. The last pack is replaced by a larger one until it has `pack_bytes`, while its profiles are
// all there. A pack goes once the directory has dropped its profiles and a block of the draft has their rows; of rows that are elsewhere, once the
// directory has dropped them, which it does with none that has no rows.
Status copy_packs(const std::string& data_dir, uint64_t pack_bytes, CopyDraft& draft);

}  // namespace plimsoll::store
