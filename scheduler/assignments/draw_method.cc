#include "scheduler/assignments/draw_method.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "base/time.h"

namespace plimsoll::scheduler {
namespace {

// What a draw says of each stratum and each machine, by which of them it is.
std::map<std::string, std::string> lines_of(const store::DrawWithMachines& draw) {
  std::map<std::string, std::string> lines;
  for (const store::DrawStratum& stratum : draw.draw.strata) {
    lines.emplace("stratum " + stratum.name, fmt::format("{} of {} machines ({:g} expected)", stratum.drawn,
                                                         stratum.machines, stratum.expected));
  }
  for (const store::DrawnMachine& machine : draw.machines) {
    lines.emplace("machine " + machine.machine_id,
                  fmt::format("drawn with probability {}, from {}", machine.inclusion_probability,
                              draw.draw.strata[machine.stratum].name));
  }
  return lines;
}

std::vector<std::string> differences(const store::DrawWithMachines& kept,
                                     const store::DrawWithMachines& again) {
  const auto before = lines_of(kept);
  const auto after = lines_of(again);
  std::vector<std::string> differences;
  for (const auto& [what, line] : before) {
    const auto found = after.find(what);
    if (found == after.end() || found->second != line) {
      differences.push_back(
          fmt::format("{}: {}, now {}", what, line, found == after.end() ? "missing" : found->second));
    }
  }
  for (const auto& [what, line] : after) {
    if (!before.contains(what)) {
      differences.push_back(fmt::format("{}: missing, now {}", what, line));
    }
  }
  return differences;
}

Status compare(const store::DrawWithMachines& kept, const store::DrawWithMachines& again) {
  constexpr size_t kMaxSaid = 5;
  std::vector<std::string> found = differences(kept, again);
  if (found.empty()) {
    return {};
  }
  const size_t count = found.size();
  found.resize(std::min(count, kMaxSaid));
  return with_hint(fail(ErrorCode::kConflict, "draw {} cannot be reproduced: {} differences: {}{}",
                        kept.draw.id, count, fmt::join(found, "; "), count > kMaxSaid ? "; ..." : ""),
                   "machines that were removed since, or registered at that moment, cause differences; "
                   "otherwise draws.db or live.db was modified");
}

// Whom a method is for: the machines that it names, of these those that have one of the jobs that it names.
class Meant {
 public:
  Meant(const wire::DrawMethod& method, const store::PlacedJobs& jobs)
      : machines_(method.meant_machines().begin(), method.meant_machines().end()),
        is_any_job_(method.meant_jobs().empty()) {
    for (const std::string& job : method.meant_jobs()) {
      if (const auto number = jobs.number_of(job)) {
        jobs_.insert(*number);
      }
    }
  }

  bool is(const Candidate& candidate) const {
    const bool is_named = machines_.empty() || machines_.contains(candidate.machine->id());
    return is_named &&
           (is_any_job_ || std::ranges::any_of(candidate.jobs, [&](const store::PlacedJob& placed) {
              return jobs_.contains(placed.job);
            }));
  }

 private:
  const std::set<std::string_view> machines_;
  const bool is_any_job_;
  std::set<uint32_t> jobs_;
};

}  // namespace

wire::DrawMethod method_of(const DrawPolicy& policy, const ScheduledDraw& draw) {
  const DrawSize& size = policy.settings().size;
  wire::DrawMethod method;
  method.mutable_strata()->Add(policy.settings().strata.begin(), policy.settings().strata.end());
  method.set_fraction(size.fraction);
  method.set_machines(size.machines);
  method.set_min_per_stratum(size.min_per_stratum);
  method.set_min_per_job(size.min_per_job);
  method.set_turns(policy.rotation().turns);
  method.set_turn(policy.turn_of(draw));
  method.set_turns_seed(policy.rotation().seed);
  return method;
}

wire::DrawMethod method_of(const MeasuringOrder& order) {
  wire::DrawMethod method;
  method.set_machines(order.max_machines);
  method.set_min_per_stratum(1);
  method.set_turns(1);
  method.set_by_order(true);
  method.mutable_meant_machines()->Add(order.machines.begin(), order.machines.end());
  method.mutable_meant_jobs()->Add(order.jobs.begin(), order.jobs.end());
  return method;
}

Eligible eligible(const wire::DrawMethod& method, const wire::Assignment& collects, const KnownFleet& fleet) {
  Eligible eligible;
  eligible.all = fleet.candidates([&](const store::LiveMachine& machine) {
    const bool is_there =
        method.by_order() ? machine.is_live(fleet.fleet.at_ns) : fleet.fleet.is_there(machine);
    return is_there && can_collect(machine, collects);
  });
  const Meant meant(method, fleet.fleet.jobs);
  for (uint32_t number = 0; number < eligible.all.size(); ++number) {
    if (meant.is(eligible.all[number])) {
      eligible.meant.push_back(number);
    }
  }
  return eligible;
}

Result<MadeDraw> draw_from(const Eligible& eligible, store::Draw draw) {
  if (!draw.method) {
    return fail(ErrorCode::kInvalid, "the draw has no method");
  }
  const wire::DrawMethod& method = *draw.method;
  if (method.turn() >= method.turns()) {
    return fail(ErrorCode::kInvalid, "no such turn: {} of {}", method.turn(), method.turns());
  }
  auto stratification = Stratification::make({method.strata().begin(), method.strata().end()});
  if (!stratification) {
    return propagate(stratification);
  }
  std::vector<Candidate> meant;
  meant.reserve(eligible.meant.size());
  for (const uint32_t number : eligible.meant) {
    meant.push_back(eligible.all[number]);
  }
  const Population population =
      population_of(meant, *stratification, {.turns = method.turns(), .seed = method.turns_seed()});
  const auto plan = DrawPlan::make(population, {.fraction = method.fraction(),
                                                .machines = method.machines(),
                                                .min_per_stratum = method.min_per_stratum(),
                                                .min_per_job = method.min_per_job()});
  if (!plan) {
    return propagate(plan);
  }
  const uint32_t turn = method.turn();  // before the draw goes, which has the method
  MadeDraw made = make_draw(std::move(draw), meant, population, *plan, turn);
  for (uint32_t& number : made.numbers) {
    number = eligible.meant[number];
  }
  return made;
}

Status draw_again(const store::DrawWithMachines& kept, const store::FleetAt& fleet_at) {
  if (!kept.draw.method) {
    return fail(ErrorCode::kNotFound, "draw {} is from a version that did not store its method",
                kept.draw.id);
  }
  const bool is_any_drawn = std::ranges::any_of(
      kept.draw.strata, [](const store::DrawStratum& stratum) { return stratum.drawn > 0; });
  if (is_any_drawn && kept.machines.empty()) {
    return fail(ErrorCode::kNotFound, "the machines of draw {} are past retention", kept.draw.id);
  }
  auto past = fleet_at(kept.draw.made_ns);
  if (!past) {
    return propagate(past, "loading the fleet at {}", format_time(kept.draw.made_ns));
  }
  const KnownFleet fleet = KnownFleet::of(std::move(*past));
  store::Draw draw = kept.draw;
  draw.strata.clear();
  const Eligible eligible = scheduler::eligible(*kept.draw.method, kept.draw.collects, fleet);
  const auto again = draw_from(eligible, std::move(draw));
  return again ? compare(kept, again->kept) : propagate(again);
}

}  // namespace plimsoll::scheduler
