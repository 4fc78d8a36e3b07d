// Heap profiles of jemalloc (prof.dump), text: a stack, then what each thread allocated on it, and all of them
// ("t*").
//
//   heap_v2/524288
//     t*: 3: 1572864 [0: 0]
//   @ 0x401000 0x402000
//     t*: 2: 1048576 [0: 0]
//     t0: 2: 1048576 [0: 0]
//   MAPPED_LIBRARIES:
#pragma once

#include <string_view>

#include "base/result.h"
#include "formats/application_profile.h"

namespace plimsoll::formats {

bool looks_like_jemalloc_heap(std::string_view text);

// Types as of a heap in legacy text (legacy_heap.h), of all threads together, scaled to what they stand for as jeprof
// does.
Result<ApplicationProfile> read_jemalloc_heap(std::string_view text, const Limits& limits = {});

}  // namespace plimsoll::formats
