// Clocks of several machines, repaired as far as RPCs between them prove. Pure; any thread.
//
// A call is sent before it is received, and its reply before it has returned. With a shift for each machine, these are bounds of differences
// of two shifts: a system of difference constraints, which the shortest paths between machines solve (Bellman 1958; Cormen et al.,
// Introduction to Algorithms, 24.4). Where there is a solution, the best synchronized machine keeps its clock, and each further one gets the
// shift nearest to 0 that its bounds permit. Where there is none, nothing is shifted, and that is said.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "traces/bursts/burst_config.h"
#include "traces/bursts/clocks/clock_pairs.h"

namespace plimsoll::traces {

enum class ClockProof : uint8_t {
  kReference,      // its clock is that of the machines below
  kRepaired,       // in order with all machines that RPCs connect it with
  kNone,           // no RPC connects it with another machine: its times are as good as its clock
  kContradictory,  // no shifts put all RPCs in order: times are as recorded
};
std::string_view name_of(ClockProof proof);

struct MachineClock {
  ClockProof proof = ClockProof::kNone;
  uint32_t reference = 0;  // whose clock it is repaired to
  uint64_t pairs = 0;      // with other machines
  uint64_t assumed = 0;    // of these, by marks alone
  int64_t shift_ns = 0;    // to be added to its times
  // Of kRepaired: what calls permit, relative to the reference; nothing where there is no bound.
  std::optional<int64_t> min_shift_ns;
  std::optional<int64_t> max_shift_ns;
  bool is_off = false;           // the shift is over a tenth of a burst
  bool may_be_off = false;       // by the kernel's estimate: is_clock_off()
  bool is_beyond_error = false;  // the shift is more than both clocks' maximum errors
};

struct RepairedClocks {
  std::vector<MachineClock> machines;
  std::vector<std::string> contradictions;  // for people

  bool is_repaired() const;
};

inline constexpr size_t kMaxClockMachines = 256;

// Of one burst; `pairs` as clock_pairs.h finds them. Assumed pairs of two machines count where no others connect these, and where they contradict no others. At most
// kMaxClockMachines machines; takes n^3 steps.
RepairedClocks repair_clocks(const std::vector<SceneMachine>& machines, const std::vector<ClockPair>& pairs,
                             const BurstConfig& config);

}  // namespace plimsoll::traces
