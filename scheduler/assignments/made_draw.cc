#include "scheduler/assignments/made_draw.h"

#include <algorithm>
#include <optional>

#include "scheduler/safety/spreading.h"

namespace plimsoll::scheduler {

MadeDraw make_draw(store::Draw draw, std::span<const Candidate> candidates, const Population& population,
                   const DrawPlan& plan, uint32_t turn) {
  MadeDraw made{.kept = {.draw = std::move(draw), .machines = {}}};
  std::vector<store::DrawStratum>& strata = made.kept.draw.strata;
  for (size_t stratum = 0; stratum < population.strata.size(); ++stratum) {
    strata.push_back({.name = population.strata[stratum],
                      .machines = static_cast<int64_t>(plan.strata()[stratum].machines.size()),
                      .expected = plan.strata()[stratum].expected});
  }
  for (const DrawnMachine& machine : plan.draw(made.kept.draw.seed, turn)) {
    const wire::Machine& attributes = *candidates[machine.machine].machine;
    const uint32_t stratum = population.stratum_of[machine.machine];
    strata[stratum].drawn += 1;
    strata[stratum].drawn_weight += 1 / machine.inclusion_probability;
    made.kept.machines.push_back({.machine_id = attributes.id(),
                                  .stratum = stratum,
                                  .inclusion_probability = machine.inclusion_probability,
                                  .platform = attributes.platform(),
                                  .daemon_version = attributes.daemon_version()});
    made.numbers.push_back(machine.machine);
  }
  return made;
}

std::vector<size_t> not_stopped(const CollectionBreaker& breaker, MadeDraw& draw) {
  std::vector<Attempt> attempts;
  for (const store::DrawnMachine& machine : draw.kept.machines) {
    attempts.push_back({.event_set = store::event_set_of(draw.kept.draw.collects),
                        .daemon_version = machine.daemon_version,
                        .platform = machine.platform});
  }
  std::vector<std::string> held_back = breaker.held_back(attempts);
  std::vector<size_t> places;
  for (size_t place = 0; place < held_back.size(); ++place) {
    if (held_back[place].empty()) {
      places.push_back(place);
    } else {
      draw.withhold(place, std::move(held_back[place]));
    }
  }
  return places;
}

void set_windows(std::span<const size_t> places, std::span<const int64_t> starts_ns, uint64_t seed,
                 std::span<const Candidate> fleet, std::span<const uint32_t> numbers,
                 const SafetyLimits& limits, int64_t late_after_ns, store::DrawWithMachines& draw) {
  std::vector<uint32_t> machines;
  for (const size_t place : places) {
    machines.push_back(numbers[place]);
  }
  const LimitedGroups groups = limited_groups(fleet, machines, limits);
  const auto turns = take_turns(groups.parts, groups.limits, static_cast<uint32_t>(starts_ns.size()), seed);
  int64_t last_start_ns = draw.draw.window_start_ns;
  for (size_t i = 0; i < places.size(); ++i) {
    store::DrawnMachine& machine = draw.machines[places[i]];
    const std::optional<uint32_t>& turn = turns[i];
    if (turn) {
      machine.window_start_ns = starts_ns[*turn];
      last_start_ns = std::max(last_start_ns, machine.window_start_ns);
    } else {
      machine.detail =
          "over the limit of machines profiled at once (draw.max_percent_per_job, _per_platform or "
          "_per_rack)";
    }
  }
  draw.draw.due_ns = last_start_ns + draw.draw.window_ns + late_after_ns;
}

}  // namespace plimsoll::scheduler
