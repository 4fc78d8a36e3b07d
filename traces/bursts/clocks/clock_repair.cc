#include "traces/bursts/clocks/clock_repair.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iterator>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include "base/printable.h"

namespace plimsoll::traces {
namespace {

// No bound. Sums of two do not overflow.
constexpr int64_t kUnbounded = int64_t{1} << 61;
// Half an hour, more than any burst lasts.
constexpr int64_t kMaxShiftNs = int64_t{1} << 41;
constexpr int64_t kNanosecondsPerMs = 1'000'000;

// A square of numbers: the most that the second machine's shift may be above the first one's.
class Bounds {
 public:
  explicit Bounds(size_t machines) : size_(machines), values_(machines * machines, kUnbounded) {
    for (size_t i = 0; i < machines; ++i) {
      at(i, i) = 0;
    }
  }

  size_t size() const { return size_; }
  int64_t& at(size_t from, size_t to) { return values_[from * size_ + to]; }
  int64_t at(size_t from, size_t to) const { return values_[from * size_ + to]; }
  void bound(size_t from, size_t to, int64_t value) { at(from, to) = std::min(at(from, to), value); }

  // Floyd and Warshall. Below 0 on the diagonal: there is no solution, and numbers fall without end.
  void close() {
    for (size_t via = 0; via < size_; ++via) {
      for (size_t from = 0; from < size_; ++from) {
        if (at(from, via) == kUnbounded) {
          continue;
        }
        for (size_t to = 0; to < size_; ++to) {
          if (at(via, to) != kUnbounded) {
            bound(from, to, std::max(-kUnbounded, at(from, via) + at(via, to)));
          }
        }
      }
    }
  }

 private:
  size_t size_;
  std::vector<int64_t> values_;
};

class Repair {
 public:
  Repair(const std::vector<SceneMachine>& machines, const std::vector<ClockPair>& pairs,
         const BurstConfig& config)
      : machines_(machines), config_(config), direct_(machines.size()) {
    repaired_.machines.resize(machines.size());
    take_pairs(pairs);
  }

  RepairedClocks run() {
    Bounds closed = direct_;
    closed.close();
    // By how well they are synchronized.
    std::vector<uint32_t> order(machines_.size());
    for (uint32_t i = 0; i < order.size(); ++i) {
      order[i] = i;
    }
    std::ranges::sort(order, {}, [&](uint32_t i) {
      const ClockState& clock = machines_[i].recording->clock;
      return std::tuple(!clock.is_synchronized, clock.max_error_ns, i);
    });
    std::vector<char> is_placed(machines_.size(), 0);
    for (const uint32_t first : order) {
      if (is_placed[first] != 0) {
        continue;
      }
      const std::vector<char> is_connected = connected_with(first);
      std::vector<uint32_t> group;
      for (const uint32_t machine : order) {
        if (is_connected[machine] != 0) {
          group.push_back(machine);
          is_placed[machine] = 1;
        }
      }
      place(closed, group);
    }
    return std::move(repaired_);
  }

 private:
  void take_pairs(const std::vector<ClockPair>& pairs) {
    std::vector<char> is_proved(machines_.size() * machines_.size(), 0);
    const auto proved = [&](const ClockPair& pair) -> char& {
      const auto [low, high] = std::minmax(pair.caller, pair.callee);
      return is_proved[low * machines_.size() + high];
    };
    for (const ClockPair& pair : pairs) {
      if (!pair.is_assumed) {
        proved(pair) = 1;
      }
    }
    for (const ClockPair& pair : pairs) {
      if (pair.is_assumed && proved(pair) != 0) {
        continue;
      }
      for (const uint32_t machine : {pair.caller, pair.callee}) {
        ++repaired_.machines[machine].pairs;
        repaired_.machines[machine].assumed += pair.is_assumed ? 1 : 0;
      }
      bound(pair.callee, pair.caller, pair.received_ns - pair.sent_ns);
      if (pair.has_reply) {
        bound(pair.caller, pair.callee, pair.returned_ns - pair.replied_ns);
      }
    }
  }

  // What needs a shift of over half an hour has no solution: it is no clock that is a little off.
  void bound(uint32_t from, uint32_t to, int64_t value) {
    if (value < -kMaxShiftNs) {
      far_.emplace(std::minmax(from, to));
      direct_.bound(from, to, -1);
      direct_.bound(to, from, -1);
    } else {
      direct_.bound(from, to, value);
    }
  }

  // By calls, directly or by way of others.
  std::vector<char> connected_with(uint32_t first) const {
    std::vector<char> is_connected(machines_.size(), 0);
    std::vector<uint32_t> to_visit{first};
    is_connected[first] = 1;
    while (!to_visit.empty()) {
      const uint32_t machine = to_visit.back();
      to_visit.pop_back();
      for (uint32_t other = 0; other < machines_.size(); ++other) {
        const bool has_bound =
            direct_.at(machine, other) != kUnbounded || direct_.at(other, machine) != kUnbounded;
        if (has_bound && is_connected[other] == 0) {
          is_connected[other] = 1;
          to_visit.push_back(other);
        }
      }
    }
    return is_connected;
  }

  void place(const Bounds& closed, const std::vector<uint32_t>& group) {
    const bool has_solution =
        std::ranges::all_of(group, [&](uint32_t machine) { return closed.at(machine, machine) >= 0; });
    if (!has_solution) {
      repaired_.contradictions.push_back(contradiction_of(group));
    }
    const uint32_t reference = group.front();
    for (size_t i = 0; i < group.size(); ++i) {
      MachineClock& clock = repaired_.machines[group[i]];
      clock.reference = reference;
      clock.may_be_off = is_clock_off(machines_[group[i]].recording->clock, config_);
      if (!has_solution) {
        clock.proof = ClockProof::kContradictory;
      } else if (group.size() == 1) {
        clock.proof = ClockProof::kNone;
      } else if (i == 0) {
        clock.proof = ClockProof::kReference;
      } else {
        shift(closed, std::span(group).first(i), group[i]);
      }
    }
  }

  // Relative to all that are placed: after closing there is always room.
  void shift(const Bounds& closed, std::span<const uint32_t> placed, uint32_t machine) {
    MachineClock& clock = repaired_.machines[machine];
    int64_t low_ns = -kUnbounded;
    int64_t high_ns = kUnbounded;
    for (const uint32_t other : placed) {
      const int64_t other_ns = repaired_.machines[other].shift_ns;
      if (closed.at(machine, other) != kUnbounded) {
        low_ns = std::max(low_ns, other_ns - closed.at(machine, other));
      }
      if (closed.at(other, machine) != kUnbounded) {
        high_ns = std::min(high_ns, other_ns + closed.at(other, machine));
      }
    }
    clock.proof = ClockProof::kRepaired;
    clock.shift_ns = std::max(low_ns, std::min<int64_t>(high_ns, 0));
    if (const int64_t below_ns = closed.at(machine, clock.reference); below_ns != kUnbounded) {
      clock.min_shift_ns = -below_ns;
    }
    if (const int64_t above_ns = closed.at(clock.reference, machine); above_ns != kUnbounded) {
      clock.max_shift_ns = above_ns;
    }
    constexpr int64_t kPartsOfBurst = 10;
    clock.is_off = std::abs(clock.shift_ns) > config_.length_ms() * kNanosecondsPerMs / kPartsOfBurst;
    const ClockState& own = machines_[machine].recording->clock;
    const ClockState& reference = machines_[clock.reference].recording->clock;
    // Of a hostile file it may be any number.
    const auto error_ns = [](const ClockState& state) {
      return std::clamp<int64_t>(state.max_error_ns, 0, kUnbounded);
    };
    clock.is_beyond_error = own.is_synchronized && reference.is_synchronized &&
                            std::abs(clock.shift_ns) > error_ns(own) + error_ns(reference);
  }

  std::string contradiction_of(const std::vector<uint32_t>& group) const {
    const auto ms = [](int64_t ns) {
      return static_cast<double>(ns) / static_cast<double>(kNanosecondsPerMs);
    };
    const auto name = [&](uint32_t machine) { return printable(machines_[machine].recording->machine); };
    for (size_t i = 0; i < group.size(); ++i) {
      for (size_t j = i + 1; j < group.size(); ++j) {
        if (far_.contains(std::minmax(group[i], group[j]))) {
          return fmt::format("calls between {} and {} are over half an hour apart by their clocks",
                             name(group[i]), name(group[j]));
        }
        const int64_t high_ns = direct_.at(group[i], group[j]);
        const int64_t low_ns = -direct_.at(group[j], group[i]);
        if (high_ns != kUnbounded && low_ns != -kUnbounded && low_ns > high_ns) {
          return fmt::format(
              "calls between {} and {} ask for a shift of {} of at least {:.3f} ms and of at most {:.3f} ms",
              name(group[i]), name(group[j]), name(group[j]), ms(low_ns), ms(high_ns));
        }
      }
    }
    constexpr size_t kMaxNames = 8;
    std::vector<std::string> names;
    for (size_t i = 0; i < group.size() && i < kMaxNames; ++i) {
      names.push_back(name(group[i]));
    }
    return fmt::format("calls among {}{} contradict one another in a circle", fmt::join(names, ", "),
                       group.size() > kMaxNames ? " and others" : "");
  }

  const std::vector<SceneMachine>& machines_;
  const BurstConfig& config_;
  Bounds direct_;
  std::set<std::pair<uint32_t, uint32_t>> far_;  // machines whose clocks no permitted shift puts in order
  RepairedClocks repaired_;
};

}  // namespace

std::string_view name_of(ClockProof proof) {
  constexpr std::array<std::string_view, 4> kNames{"reference", "repaired", "no calls", "contradictory"};
  return kNames[static_cast<size_t>(proof)];
}

bool RepairedClocks::is_repaired() const {
  return std::ranges::any_of(machines, [](const MachineClock& clock) { return clock.shift_ns != 0; });
}

RepairedClocks repair_clocks(const std::vector<SceneMachine>& machines, const std::vector<ClockPair>& pairs,
                             const BurstConfig& config) {
  RepairedClocks repaired = Repair(machines, pairs, config).run();
  // Marks only assume which machine called: where they contradict calls, calls count alone. Groups of machines, by their references.
  std::set<uint32_t> with_calls;
  for (const ClockPair& pair : pairs) {
    const MachineClock& caller = repaired.machines[pair.caller];
    if (!pair.is_assumed && caller.proof == ClockProof::kContradictory) {
      with_calls.insert(caller.reference);
    }
  }
  std::vector<ClockPair> kept;
  std::ranges::copy_if(pairs, std::back_inserter(kept), [&](const ClockPair& pair) {
    return !pair.is_assumed || !with_calls.contains(repaired.machines[pair.caller].reference);
  });
  if (kept.size() == pairs.size()) {
    return repaired;
  }
  return Repair(machines, kept, config).run();
}

}  // namespace plimsoll::traces
