// Heap in use, allocations and growth, from tcmalloc's own sampling.
//
// tcmalloc takes an allocation of k bytes as a sample with p = 1 - exp(-k / period): a countdown per thread, and when that runs
// out a call of tcmalloc::Sampler::RecordAllocationSlow. That call is replaced here: the same samples are also summed by stack,
// never forgotten, which makes the profile of all allocations without a hook in each. Where it says "a sample", tcmalloc calls
// GetStackTrace next, in the same thread: that is replaced too (stack_calls.cc), and its stack serves both. A program that allocates
// much would be slowed down by the samples: of those that are too many (sample_limit.h), tcmalloc is not told.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "appprof/profile.h"
#include "appprof/sample_limit.h"

namespace plimsoll::appprof {

// Whether tcmalloc is the allocator of this process.
bool is_tcmalloc() noexcept;

// Turns sampling on: TCMALLOC_SAMPLE_PARAMETER where that is set, else `period_bytes`. Returns what does not work; empty: all.
// A thread that has allocated before goes on without samples for up to 16 MiB; for the calling thread that is cut short.
std::string start_heap(uint64_t period_bytes, uint32_t max_samples_per_second = kNoSampleLimit);
void stop_heap() noexcept;
// In a child that has just been forked, as reset_locks_in_child().
void reset_heap_in_child() noexcept;

// The stack that the calling thread has just taken for tcmalloc: of its pending sample, if it has one. Returns how often that sample's
// period is doubled, for the note that tcmalloc keeps.
uint8_t take_sampled_stack(std::span<const uintptr_t> frames, uint32_t labels) noexcept;

// Why there is none, else empty.
std::string why_no_heap();
std::string why_no_allocations();
// Whether tcmalloc takes its stacks by stack_calls.cc: with labels, and without locks.
bool are_heap_stacks_ours() noexcept;

// inuse_objects/count, inuse_space/bytes: a snapshot, with the labels that the allocating threads had.
Profile heap_profile();
// alloc_objects/count, alloc_space/bytes since the first start. Bytes as tcmalloc rounds them up.
Profile allocation_profile();
// growth_objects/count, growth_space/bytes: where tcmalloc took memory from the system, each time counted.
Profile growth_profile();

// Where why_no_heap() says nothing. Writes heap_text() into a file, and allocates nothing but what tcmalloc copies its samples to. Whether
// all of it is written.
bool dump_heap(int file) noexcept;

// As tcmalloc writes them, without labels, with the process's mappings.
std::string heap_text();
std::string growth_text();

}  // namespace plimsoll::appprof
