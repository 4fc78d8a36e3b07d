// Which part of the fleet fails when it is profiled, so that it can be stopped.
//
// Pure: no I/O, no clock; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "store/draws/draw.h"
#include "store/draws/stop.h"

namespace plimsoll::scheduler {

// A machine that was told to measure, and what is known of it by now.
struct Attempt {
  std::string event_set;
  std::string daemon_version;
  std::string platform;
  int64_t told_ns = 0;
  bool has_failed = false;
};

// Of those machines of a draw that were told and of which it is known: failed, vanished and lost ones have failed.
std::vector<Attempt> attempts_of(const store::DrawWithMachines& draw, int64_t now_ns);

using Scope = std::pair<store::StopScope, std::string>;  // which of its kind

bool is_in(const Scope& scope, const Attempt& attempt);

struct FailureLimits {
  double share = 0.2;  // of attempts that fail; where it is surely more, something is wrong
  size_t min_failures = 5;
};

// More parts that fail than these, and it has spread.
inline constexpr size_t kMaxScopes = 3;

// What to stop. The event set, version or platform that fails at over twice the rate of all others, or the event set that is the only
// one; of what is left, the next one; everything, where failures cannot be laid to any of them, or to more than kMaxScopes.
std::vector<Scope> failing_scopes(std::span<const Attempt> attempts, const FailureLimits& limits);

}  // namespace plimsoll::scheduler
