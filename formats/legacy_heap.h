// Heap and growth profiles of gperftools and of old Go programs, as text:
//
//   heap profile: 2: 2048 [2: 2048] @ heap_v2/524288
//   1: 1024 [1: 1024] @ 0x401136 0x401170
//   MAPPED_LIBRARIES:
//   00400000-00402000 r-xp 00000000 fd:01 1234 /srv/server
//
// docs/application-profiles.md has the dialects and the scaling.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "formats/application_profile.h"
#include "formats/legacy_rows.h"

namespace plimsoll::formats {

bool looks_like_legacy_heap(std::string_view text);

// Types: inuse_objects and inuse_space; before them alloc_objects and alloc_space where the header tells of more
// allocated than in use; growth_objects and growth_space of a growth profile. Values are scaled to what they stand for.
Result<ApplicationProfile> read_legacy_heap(std::string_view text, const Limits& limits = {},
                                            AddressKind address_kind = AddressKind::kReturns);

}  // namespace plimsoll::formats
