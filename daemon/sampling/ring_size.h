// How much room the samples of one CPU get.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "daemon/sampling/sampler.h"

namespace plimsoll::perf {

inline constexpr uint64_t kMaxRingBytes = uint64_t{64} << 20;  // of all CPUs

// Pages for each CPU's sample ring, a power of two: for half a second of the events' samples on a busy CPU, twice the longest
// time between two drains. At least 64 pages; at most 8 MiB, beyond which lost samples are cheaper than memory; and for all
// CPUs together at most `max_bytes`, as far as 64 pages each allow that. `stack_bytes` come with each sample that has a stack.
uint32_t ring_pages(std::span<const SampledEvent> events, uint32_t stack_bytes, size_t cpus,
                    uint64_t max_bytes = kMaxRingBytes);

struct FittedSampler {
  Sampler sampler;
  uint32_t sample_pages;  // of each CPU's sample ring: as wanted, or what this user may lock
};

// Opens a sampler with rings of options.sample_pages or, where this user may not lock as much memory, of the largest smaller
// power of two that it may.
Result<FittedSampler> open_fitted(SamplerOptions options);

}  // namespace plimsoll::perf
