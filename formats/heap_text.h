// What the text formats of heap profiles share.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "formats/application_profile.h"
#include "formats/text_scanner.h"

namespace plimsoll::formats {

struct HeapValues {
  int64_t objects = 0;
  int64_t bytes = 0;
  bool operator==(const HeapValues&) const = default;
};

struct HeapNumbers {
  HeapValues inuse;
  HeapValues allocated;
};

// "OBJECTS: BYTES [OBJECTS: BYTES]", in use and allocated.
std::optional<HeapNumbers> take_heap_numbers(TextScanner& line);

// inuse_objects and inuse_space; before them alloc_objects and alloc_space, if asked for.
std::vector<ValueType> heap_types(bool has_allocations);

// What sampled objects stand for, where the allocator takes an object of s bytes with the probability 1 -
// exp(-s/period) (a Poisson process over bytes). A period up to 1 leaves them as they are. kCorrupt where the result
// has no room.
Result<HeapValues> scaled_heap_values(HeapValues sampled, int64_t period_bytes);
// Appends the scaled objects and bytes.
Status append_scaled(const HeapValues& sampled, int64_t period_bytes, std::vector<int64_t>& values);

}  // namespace plimsoll::formats
