#include "scheduler/safety/spreading.h"

#include <algorithm>
#include <numeric>

#include "scheduler/draws/random.h"

namespace plimsoll::scheduler {
namespace {

// What is measured in one turn.
class Turn {
 public:
  explicit Turn(size_t groups) : taken_(groups) {}

  bool has_room(std::span<const GroupPart> parts, const GroupLimits& limits) const {
    return std::ranges::all_of(parts, [&](const GroupPart& part) {
      const double taken = taken_[part.group];
      return taken == 0 || taken + part.members <= limits[part.group];
    });
  }
  void take(std::span<const GroupPart> parts) {
    for (const GroupPart& part : parts) {
      taken_[part.group] += part.members;
    }
  }

 private:
  std::vector<double> taken_;
};

}  // namespace

std::vector<std::optional<uint32_t>> take_turns(std::span<const std::vector<GroupPart>> machines,
                                                const GroupLimits& limits, uint32_t turns, uint64_t seed) {
  std::vector<uint32_t> order(machines.size());
  std::iota(order.begin(), order.end(), uint32_t{0});
  DrawRandom random(seed);
  random.shuffle(std::span(order));
  std::vector<Turn> taken;  // those that somebody has
  std::vector<std::optional<uint32_t>> turn_of(machines.size());
  for (const uint32_t machine : order) {
    auto turn = std::ranges::find_if(
        taken, [&](const Turn& candidate) { return candidate.has_room(machines[machine], limits); });
    if (turn == taken.end() && taken.size() < turns) {
      turn = taken.insert(turn, Turn(limits.size()));
    }
    if (turn != taken.end()) {
      turn->take(machines[machine]);
      turn_of[machine] = static_cast<uint32_t>(turn - taken.begin());
    }
  }
  return turn_of;
}

}  // namespace plimsoll::scheduler
