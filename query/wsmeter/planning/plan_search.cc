#include "query/wsmeter/planning/plan_search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace plimsoll::query {
namespace {

// To which steps are told apart by what they are worth for their cost.
constexpr double kPriceError = 1e-10;

// A tenth of a second.
constexpr size_t kMostNodes = 1'000'000;

// Of what N is proportional to.
double scale_of(const PlanTerm& term) {
  return std::sqrt(term.variance / term.cost);
}

double parted_count(const PlanTerm& term, double scale, double t) {
  return std::clamp(t * scale, static_cast<double>(term.least), static_cast<double>(term.most));
}

// The last step that is worth its cost when a unit of variance is worth `price`: variance / (N (N - 1)) x price >= cost.
int64_t whole_count(const PlanTerm& term, double price) {
  const double worth = term.variance * price / term.cost;
  const double wanted = std::floor((1 + std::sqrt(1 + 4 * worth)) / 2);
  return std::clamp(wanted < 9e18 ? static_cast<int64_t>(wanted) : std::numeric_limits<int64_t>::max(),
                    term.least, term.most);
}

// The least x above 0 for which it holds, which it does for all above it: at most by that share too large.
template <typename Holds>
double least_for_which(double error, Holds holds) {
  double high = 1;
  while (!holds(high)) {
    high *= 16;
  }
  double low = high;
  while (low > std::numeric_limits<double>::min() && holds(low)) {
    high = low;
    low /= 16;
  }
  while (high > low * (1 + error)) {
    const double middle = std::sqrt(low) * std::sqrt(high);
    (holds(middle) ? high : low) = middle;
  }
  return high;
}

double step_gain(const PlanTerm& term, int64_t from) {
  const auto n = static_cast<double>(from);
  return term.variance / (n * (n + 1));
}

// Plans near one that no price can better. Each job may have some more or fewer than that; how much such a plan costs beyond the bound is the sum
// of what its jobs add, and what it leaves unused of the variance at its price (Lagrange's bound).
class Neighbourhood {
 public:
  Neighbourhood(std::span<const PlanTerm> terms, std::vector<int64_t> base, double price, double allowed)
      : terms_(terms), base_(std::move(base)), price_(price), allowed_(allowed) {}

  // Looks for what costs less than `best` beyond the bound, and puts it in its place. False: there are too many to look at.
  bool improve(std::vector<int64_t>& best) {
    counts_ = base_;
    variance_ = variance_left_by(base_);
    best_excess_ = excess_of(best);
    find_movable();
    search(0, 0);
    if (best_counts_) {
      best = *best_counts_;
    }
    return nodes_ <= kMostNodes;
  }

 private:
  struct Movable {
    size_t job;
    double nearest;    // the least that moving it adds
    double most_gain;  // of variance, by moving it up as far as may pay
  };

  double variance_left_by(const std::vector<int64_t>& counts) const {
    double variance = 0;
    for (size_t i = 0; i < terms_.size(); ++i) {
      variance += terms_[i].variance / static_cast<double>(counts[i]);
    }
    return variance;
  }

  // What `count` of a job adds to the bound.
  double added(size_t job, int64_t count) const {
    const PlanTerm& term = terms_[job];
    const auto more = static_cast<double>(count - base_[job]);
    return more * term.cost + price_ * variance_change(job, count);
  }
  double variance_change(size_t job, int64_t count) const {
    const double variance = terms_[job].variance;
    return variance / static_cast<double>(count) - variance / static_cast<double>(base_[job]);
  }
  double excess_of(const std::vector<int64_t>& counts) const {
    double excess = price_ * (allowed_ - variance_left_by(counts));
    for (size_t i = 0; i < counts.size(); ++i) {
      excess += added(i, counts[i]);
    }
    return excess;
  }
  double tolerance() const { return kRelativeError * price_ * allowed_; }

  void find_movable() {
    for (size_t job = 0; job < terms_.size(); ++job) {
      Movable movable{.job = job, .nearest = std::numeric_limits<double>::infinity(), .most_gain = 0};
      for (const int64_t step : {int64_t{-1}, int64_t{1}}) {
        const int64_t count = base_[job] + step;
        if (count >= terms_[job].least && count <= terms_[job].most) {
          movable.nearest = std::min(movable.nearest, added(job, count));
        }
      }
      if (movable.nearest < best_excess_) {
        for (int64_t count = base_[job] + 1; count <= terms_[job].most && added(job, count) < best_excess_;
             ++count) {
          movable.most_gain = -variance_change(job, count);
        }
        movable_.push_back(movable);
      }
    }
    std::ranges::sort(movable_, {}, &Movable::nearest);
    gain_left_.assign(movable_.size() + 1, 0);
    for (size_t i = movable_.size(); i > 0; --i) {
      gain_left_[i - 1] = gain_left_[i] + movable_[i - 1].most_gain;
    }
  }

  // Looks at the plan at hand, and at all that move more jobs, from that place on.
  void search(size_t from, double spent) {
    if (++nodes_ > kMostNodes) {
      return;
    }
    take_if_better(spent);
    for (size_t place = from; place < movable_.size(); ++place) {
      const double slack = allowed_ - variance_;
      if (nodes_ > kMostNodes || spent + movable_[place].nearest >= best_excess_ - tolerance() ||
          slack + gain_left_[place] < -kRelativeError * allowed_) {
        return;
      }
      for (const int64_t step : {int64_t{1}, int64_t{-1}}) {
        move(place, step, spent);
      }
    }
  }

  void take_if_better(double spent) {
    const double slack = allowed_ - variance_;
    const double excess = spent + price_ * std::max(0.0, slack);
    if (slack >= -kRelativeError * allowed_ && excess < best_excess_ - tolerance()) {
      best_excess_ = excess;
      best_counts_ = counts_;
    }
  }

  // By one, by two, ... as long as that may pay.
  void move(size_t place, int64_t step, double spent) {
    const size_t job = movable_[place].job;
    const double variance_before = variance_;
    for (int64_t count = base_[job] + step; count >= terms_[job].least && count <= terms_[job].most;
         count += step) {
      const double adds = added(job, count);
      if (spent + adds >= best_excess_ - tolerance()) {
        break;
      }
      counts_[job] = count;
      variance_ = variance_before + variance_change(job, count);
      search(place + 1, spent + adds);
    }
    counts_[job] = base_[job];
    variance_ = variance_before;
  }

  std::span<const PlanTerm> terms_;
  const std::vector<int64_t> base_;
  const double price_;
  const double allowed_;
  std::vector<Movable> movable_;
  std::vector<double> gain_left_;  // by all from that place on
  std::vector<int64_t> counts_;    // of the plan that is looked at
  double variance_ = 0;            // that it leaves
  double best_excess_ = 0;
  std::optional<std::vector<int64_t>> best_counts_;
  size_t nodes_ = 0;
};

bool costs_are_equal(std::span<const PlanTerm> terms) {
  return std::ranges::all_of(terms, [&](const PlanTerm& term) { return term.cost == terms[0].cost; });
}

}  // namespace

PartedPlan best_parted(std::span<const PlanTerm> terms, double allowed) {
  const double enough = allowed * (1 + kRelativeError);
  std::vector<double> scales;
  scales.reserve(terms.size());
  for (const PlanTerm& term : terms) {
    scales.push_back(scale_of(term));
  }
  const auto suffices = [&](double t) {
    double variance = 0;
    for (size_t i = 0; i < terms.size(); ++i) {
      variance += terms[i].variance / parted_count(terms[i], scales[i], t);
    }
    return variance <= enough;
  };
  PartedPlan plan;
  plan.t = suffices(0) ? 0 : least_for_which(kRelativeError, suffices);
  for (size_t i = 0; i < terms.size(); ++i) {
    plan.cost += terms[i].cost * parted_count(terms[i], scales[i], plan.t);
  }
  return plan;
}

std::vector<int64_t> rounded_up(std::span<const PlanTerm> terms, const PartedPlan& parted) {
  std::vector<int64_t> counts;
  counts.reserve(terms.size());
  for (const PlanTerm& term : terms) {
    const double exact = parted_count(term, scale_of(term), parted.t);
    // What is whole but for the search's error is whole.
    counts.push_back(std::min(term.most, static_cast<int64_t>(std::ceil(exact * (1 - 1e-9)))));
  }
  return counts;
}

WholePlan best_whole(std::span<const PlanTerm> terms, double allowed) {
  const double enough = allowed * (1 + kRelativeError);
  WholePlan plan;
  double variance = 0;
  for (const PlanTerm& term : terms) {
    plan.counts.push_back(term.least);
    variance += term.variance / static_cast<double>(term.least);
  }
  if (variance <= enough) {
    plan.is_optimal = true;
    return plan;
  }
  const double price = least_for_which(kPriceError / 4, [&](double p) {
    double left = 0;
    for (const PlanTerm& term : terms) {
      left += term.variance / static_cast<double>(whole_count(term, p));
    }
    return left <= enough;
  });
  // Just below that price it does not suffice; what is missing are steps that all are worth as much for their cost.
  const double below = price * (1 - kPriceError);
  variance = 0;
  std::vector<size_t> steps;
  for (size_t i = 0; i < terms.size(); ++i) {
    plan.counts[i] = whole_count(terms[i], below);
    variance += terms[i].variance / static_cast<double>(plan.counts[i]);
    if (whole_count(terms[i], price) > plan.counts[i]) {
      steps.push_back(i);
    }
  }
  std::vector<int64_t> base = plan.counts;
  // The large ones first, the last of which may be a small one.
  std::ranges::sort(steps, std::greater(), [&](size_t i) { return step_gain(terms[i], plan.counts[i]); });
  for (auto step = steps.begin(); variance > enough && step != steps.end(); ++step) {
    const auto enough_alone = std::ranges::find_if(
        std::make_reverse_iterator(steps.end()), std::make_reverse_iterator(step),
        [&](size_t i) { return variance - step_gain(terms[i], plan.counts[i]) <= enough; });
    const size_t chosen = enough_alone != std::make_reverse_iterator(step) ? *enough_alone : *step;
    variance -= step_gain(terms[chosen], plan.counts[chosen]);
    ++plan.counts[chosen];
  }
  if (variance > enough) {
    // Steps of counts so large that their worth cannot be told apart.
    for (size_t i = 0; i < terms.size(); ++i) {
      plan.counts[i] = whole_count(terms[i], price);
    }
    return plan;
  }
  plan.is_optimal =
      costs_are_equal(terms) || Neighbourhood(terms, std::move(base), price, allowed).improve(plan.counts);
  return plan;
}

}  // namespace plimsoll::query
