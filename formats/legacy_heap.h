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

namespace plimsoll::formats {

bool looks_like_legacy_heap(std::string_view text);

// Types: inuse_objects and inuse_space; before them alloc_objects and alloc_space where the header tells of more
// allocated than in use; growth_objects and growth_space of a growth profile. Values are scaled to what they stand for.
Result<ApplicationProfile> read_legacy_heap(std::string_view text, const Limits& limits = {});

struct HeapValues {
  int64_t objects = 0;
  int64_t bytes = 0;
  bool operator==(const HeapValues&) const = default;
};

// What sampled objects stand for, where the allocator takes an object of s bytes with the probability 1 - exp(-s/period)
// (a Poisson process over bytes). A period up to 1 leaves them as they are. kCorrupt where the result has no room.
Result<HeapValues> scaled_heap_values(HeapValues sampled, int64_t period_bytes);

}  // namespace plimsoll::formats
