// Bounds on what is read of a recording, checked before anything of that size is allocated.
#pragma once

#include <cstddef>
#include <cstdint>

namespace plimsoll::perf_data {

struct Limits {
  // Of the 1,000 that a profile holds: three are of branches; squares take what is left.
  size_t max_events = 997;
  size_t max_event_ids = size_t{4} << 20;  // over all events: one for each CPU or thread
  uint64_t max_feature_bytes = uint64_t{64} << 20;
  size_t max_build_ids = 200'000;
  // Of records that wait for their turn in the order of time; beyond it the older half is handed on.
  size_t max_waiting_bytes = size_t{256} << 20;
  // What one compressed record may hold. perf compresses at most a ring buffer at a time.
  uint64_t max_decompressed_bytes = uint64_t{256} << 20;
  // What all of them may hold: that, or the file's size times this where it is more. zstd makes a tenth of records.
  uint64_t min_inflated_bytes = uint64_t{256} << 20;
  uint64_t max_inflation = 256;
  size_t max_counters = size_t{1} << 20;  // whose last value is kept, to tell what came since
  size_t max_kernel_parts = 200'000;      // the kernel, modules, BPF programs
};

}  // namespace plimsoll::perf_data
