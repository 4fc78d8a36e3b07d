// Marks of the library: when there are bursts, and the IDs of requests. The system calls themselves: marks.h.
#pragma once

#include <cstdint>
#include <string_view>

namespace plimsoll::appprof {

// No wall-clock time matches these bits, and each matches none.
constexpr uint64_t kNeverBursts = UINT64_MAX;
constexpr uint64_t kAlwaysBursts = 0;

// "7,8" (m,n), "always" or "off": bits as plimsoll_is_burst() takes them. False where it is something else. Daemon and
// command line read "7,8" by traces::BurstConfig, which tests compare with this.
bool read_burst_config(std::string_view text, uint64_t& bits) noexcept;

// When bursts are has one word, which the program and the daemon set. What the program has chosen (set_bursts(), the environment) holds,
// `off` too; the daemon assigns where it has chosen nothing, or "assigned".

// False: the program has chosen. Until that time of CLOCK_MONOTONIC. One thread at a time, and any mark beside it.
bool assign_bursts(uint64_t bits, int64_t until_ns) noexcept;
// Ends what was assigned, and leaves what the program has chosen. Any thread.
void end_assigned_bursts() noexcept;
// Whether there is a burst. Where none can be it does not look at the clock. Any thread, signal handlers too.
bool is_burst_now() noexcept;

// The lower 64 bits of the trace ID in a W3C traceparent, the upper ones where the lower are zero; 0 where it is none.
uint64_t request_id_of(std::string_view traceparent) noexcept;

// The first 8 bytes of a name as a value of PLIMSOLL_PHASE.
uint64_t phase_value(std::string_view name) noexcept;

}  // namespace plimsoll::appprof
