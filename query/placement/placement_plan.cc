#include "query/placement/placement_plan.h"

#include <algorithm>
#include <cmath>

namespace plimsoll::query {
namespace {

// Loads that differ by less than that share of the job's do not move.
constexpr double kMinMove = 1e-6;

struct Change {
  uint32_t platform = 0;
  double load = 0;
};

// Platforms that one job leaves, and those that it comes to.
struct Changes {
  std::vector<Change> from;
  std::vector<Change> to;

  void add(uint32_t platform, double more, double least) {
    if (std::abs(more) > least) {
      (more < 0 ? from : to).push_back({platform, std::abs(more)});
    }
  }
};

std::vector<Move> matched(uint32_t job, Changes changes) {
  std::vector<Move> moves;
  auto from = changes.from.begin();
  auto to = changes.to.begin();
  while (from != changes.from.end() && to != changes.to.end()) {
    const double load = std::min(from->load, to->load);
    moves.push_back({.job = job, .from = from->platform, .to = to->platform, .load = load});
    from->load -= load;
    to->load -= load;
    const bool is_from_done = from->load <= 0;
    to += to->load <= 0 ? 1 : 0;
    from += is_from_done ? 1 : 0;
  }
  return moves;
}

void judge(const PlacementPlan& plan, Move& move) {
  const Pair* from = plan.find(move.job, move.from);
  const Pair* to = plan.find(move.job, move.to);
  if (from == nullptr || to == nullptr) {
    return;
  }
  move.choice = choice_over(*to, *from, plan.placement.prices);
  if (!from->is_bound) {
    Estimated saving;
    saving.add(1, *from);
    saving.add(-1, *to);
    move.saving = saving.value;
    move.saving_margin = saving.margin;
  }
}

}  // namespace

void Estimated::add(double factor, const Pair& pair) {
  if (factor == 0) {
    return;
  }
  value += factor * pair.cost;
  margin = margin && pair.margin ? std::optional(std::hypot(*margin, factor * *pair.margin)) : std::nullopt;
}

std::span<const Pair> PlacementPlan::pairs_of(uint32_t job) const {
  return std::span(input.problem.pairs).subspan(first_pairs[job], first_pairs[job + 1] - first_pairs[job]);
}

const Pair* PlacementPlan::find(uint32_t job, uint32_t platform) const {
  const auto of_job = pairs_of(job);
  const auto found = std::ranges::lower_bound(of_job, platform, {}, &Pair::platform);
  return found == of_job.end() || found->platform != platform ? nullptr : &*found;
}

Estimated PlacementPlan::cost() const {
  Estimated cost;
  for (size_t i = 0; i < input.problem.pairs.size(); ++i) {
    cost.add(placement.loads[i], input.problem.pairs[i]);
  }
  return cost;
}

std::optional<Estimated> PlacementPlan::saving() const {
  if (!has_today) {
    return std::nullopt;
  }
  std::vector<double> less(input.problem.pairs.size());
  for (const TodaysLoad& load : today) {
    const Pair* pair = find(load.job, load.platform);
    if (pair == nullptr || pair->is_bound) {
      return std::nullopt;
    }
    less[static_cast<size_t>(pair - input.problem.pairs.data())] = load.load;
  }
  Estimated saving;
  for (size_t i = 0; i < less.size(); ++i) {
    const Pair& pair = input.problem.pairs[i];
    const double difference = less[i] - placement.loads[i];
    const bool stays = std::abs(difference) <= kMinMove * input.problem.loads[pair.job];
    saving.add(stays ? 0 : difference, pair);
  }
  return saving;
}

std::vector<double> PlacementPlan::todays_use() const {
  std::vector<double> use(input.platforms.size());
  for (const TodaysLoad& load : today) {
    const Pair* pair = find(load.job, load.platform);
    use[load.platform] += pair == nullptr ? 0 : load.load * pair->cost;
  }
  return use;
}

std::vector<Move> PlacementPlan::moves() const {
  std::vector<Move> moves;
  auto now = today.begin();
  for (uint32_t job = 0; has_today && job < input.jobs.size(); ++job) {
    std::vector<double> more(input.platforms.size());
    for (size_t i = first_pairs[job]; i < first_pairs[job + 1]; ++i) {
      more[input.problem.pairs[i].platform] = placement.loads[i];
    }
    for (; now != today.end() && now->job == job; ++now) {
      more[now->platform] -= now->load;
    }
    Changes changes;
    for (uint32_t platform = 0; platform < more.size(); ++platform) {
      changes.add(platform, more[platform], kMinMove * input.problem.loads[job]);
    }
    for (Move& move : matched(job, std::move(changes))) {
      judge(*this, move);
      moves.push_back(move);
    }
  }
  return moves;
}

}  // namespace plimsoll::query
