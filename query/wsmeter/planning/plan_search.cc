#include "query/wsmeter/planning/plan_search.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <optional>

namespace plimsoll::query {
namespace {

// To which steps are told apart by what they are worth for their cost.
constexpr double kPriceError = 1e-10;

// Some milliseconds.
constexpr size_t kMaxNodes = 100'000;

// In nodes: what it takes to keep a plan, for each job that it moves.
constexpr size_t kMovesKeptPerNode = 16;

// Counts and prices outside of it are no numbers that one could tell from it.
constexpr double kMinPrice = 1e-250;
constexpr double kMaxPrice = 1e250;

// Relative to the largest. Cheaper instances are free: it takes 10^80 of them to be seen in a sum.
constexpr double kMinCost = 1e-100;

// In units of what is allowed and of the largest cost, so that no product of them leaves the range of a double, whatever units the caller has.
// Variances are at most as large as counts then, since the largest counts suffice. What has no variance never moves, and costs 1.
std::vector<PlanTerm> in_own_units(std::span<const PlanTerm> terms, double allowed) {
  double largest = 0;
  for (const PlanTerm& term : terms) {
    largest = term.variance > 0 ? std::max(largest, term.cost) : largest;
  }
  std::vector<PlanTerm> scaled(terms.begin(), terms.end());
  for (PlanTerm& term : scaled) {
    term.cost = term.variance > 0 ? std::max(term.cost / largest, kMinCost) : 1;
    term.variance = term.variance > 0 ? term.variance / allowed : 0;
  }
  return scaled;
}

// Of value(0), value(1), ...; in blocks, so that of a million only the last of 16 digits suffer.
template <typename Value>
double sum_of(size_t count, Value value) {
  constexpr size_t kBlock = 1024;
  double sum = 0;
  for (size_t begin = 0; begin < count; begin += kBlock) {
    double block = 0;
    for (size_t i = begin; i < std::min(count, begin + kBlock); ++i) {
      block += value(i);
    }
    sum += block;
  }
  return sum;
}

double left_by(const PlanTerm& term, int64_t count) {
  return term.variance / static_cast<double>(count);
}

// Neyman's allocation: minimizing sum c N with sum v / N fixed, the Lagrange condition v / N^2 = c / t^2 gives N = t sqrt(v / c)
// (Cochran, Sampling Techniques, 3rd ed. 1977, 5.5).
double scale_of(const PlanTerm& term) {
  return std::sqrt(term.variance / term.cost);
}

double parted_count(const PlanTerm& term, double scale, double t) {
  return std::clamp(t * scale, static_cast<double>(term.min), static_cast<double>(term.max));
}

// The t that leaves a variance of 1 where no count meets a bound: sum v / (t sqrt(v / c)) = 1.
double unbounded_t(std::span<const PlanTerm> terms) {
  const double t =
      sum_of(terms.size(), [&](size_t i) { return std::sqrt(terms[i].variance * terms[i].cost); });
  return std::clamp(t, std::sqrt(kMinPrice), std::sqrt(kMaxPrice));
}

// The last step that is worth its cost when a unit of variance is worth `price`: variance / (N (N - 1)) x price >= cost, since
// the step from N - 1 to N takes variance (1 / (N - 1) - 1 / N) off. Solved for N.
int64_t whole_count(const PlanTerm& term, double price) {
  const double worth = term.variance * price / term.cost;
  const double wanted = std::floor((1 + std::sqrt(1 + 4 * worth)) / 2);
  return std::clamp(wanted < 9e18 ? static_cast<int64_t>(wanted) : std::numeric_limits<int64_t>::max(),
                    term.min, term.max);
}

// Two numbers; the variance left at the lower one is too much, at the higher one it is not.
struct Bracket {
  double low = 0;
  double high = 0;
};

// Around where `left`, which falls, comes to `enough`; in steps that grow, of which a few reach everywhere.
template <typename Left>
Bracket bracket_near(double guess, double enough, Left left) {
  Bracket bracket{guess, guess};
  const bool is_low = left(guess) > enough;
  for (double factor = 2; bracket.low > kMinPrice && bracket.high < kMaxPrice; factor *= factor) {
    const double next =
        is_low ? std::min(bracket.high * factor, kMaxPrice) : std::max(bracket.low / factor, kMinPrice);
    (is_low ? bracket.high : bracket.low) = next;
    if ((left(next) > enough) != is_low) {
      return bracket;
    }
    (is_low ? bracket.low : bracket.high) = next;
  }
  return bracket;
}

// Until both ends are that share apart: interpolated where `left` is smooth, and where it jumps with one step more than bisection takes
// (Oliveira, Takahashi: An Enhancement of the Bisection Method Average Performance, ACM TOMS 47, 2020), on logarithms.
template <typename Left>
Bracket narrowed(Bracket bracket, double error, double enough, Left left) {
  const auto height = [&](double x) { return std::log(std::max(left(x), kMinPrice) / enough); };
  double low = std::log(bracket.low);
  double high = std::log(bracket.high);
  double height_low = height(bracket.low);
  double height_high = height(bracket.high);
  const double start = high - low;
  double reach = std::exp2(std::ceil(std::log2(std::max(1.0, start / error)))) * error;
  for (; high - low > error; reach /= 2) {
    const double middle = (low + high) / 2;
    const double most = std::max(0.0, reach - (high - low) / 2);
    const double crossing = (height_low * high - height_high * low) / (height_low - height_high);
    // Far enough that an end beyond a crossing that is known by then comes near it too.
    const double inward = std::max(0.4 * error, 0.2 * (high - low) * (high - low) / start);
    const double side = middle > crossing ? 1 : -1;
    const double tried = inward <= std::abs(middle - crossing) ? crossing + side * inward : middle;
    const double x = std::abs(tried - middle) <= most ? tried : middle - side * most;
    const double height_x = height(std::exp(x));
    const bool is_low = height_x > 0;
    (is_low ? low : high) = x;
    (is_low ? bracket.low : bracket.high) = std::exp(x);
    (is_low ? height_low : height_high) = height_x;
  }
  return bracket;
}

double step_gain(const PlanTerm& term, int64_t from) {
  const auto n = static_cast<double>(from);
  return term.variance / (n * (n + 1));
}

struct Step {
  size_t job;
  double gain;
};

// Plans near one that no price can better. Each job may have some more or fewer than that; how much such a plan costs beyond the bound is the sum
// of what its jobs add, and what it leaves unused of the variance at its price (Lagrange's bound).
class Neighbourhood {
 public:
  // The terms are in their own units.
  Neighbourhood(std::span<const PlanTerm> terms, std::span<const int64_t> base, double price)
      : terms_(terms), base_(base), price_(price), tolerance_(kRelativeError * price) {}

  // Looks for what costs less than `best` beyond the bound, and puts it in its place. False: there are too many to look at.
  bool improve(std::vector<int64_t>& best) {
    slack_ = 1 - sum_of(terms_.size(), [&](size_t i) { return left_by(terms_[i], base_[i]); });
    best_excess_ = excess_of(best);
    find_movable();
    if (movable_.size() > kMaxNodes) {
      return false;
    }
    search();
    if (best_moves_) {
      best.assign(base_.begin(), base_.end());
      for (const Move& move : *best_moves_) {
        best[movable_[move.place].job] += move.by;
      }
    }
    return nodes_ <= kMaxNodes;
  }

 private:
  struct Movable {
    size_t job;
    PlanTerm term;
    int64_t base;
    double nearest;   // the least that moving it adds
    double max_gain;  // of variance, by moving it up as far as may pay
  };
  struct Move {
    size_t place;
    int64_t by;
    double spent;  // before it, as is the slack
    double slack;
  };

  static double variance_change(const PlanTerm& term, int64_t base, int64_t by) {
    const auto before = static_cast<double>(base);
    const auto step = static_cast<double>(by);
    return -term.variance * step / (before * (before + step));
  }
  // What moving a job by that many adds to the bound.
  double added(const PlanTerm& term, int64_t base, int64_t by) const {
    return static_cast<double>(by) * term.cost + price_ * variance_change(term, base, by);
  }
  static bool is_within(const PlanTerm& term, int64_t base, int64_t by) {
    return by >= term.min - base && by <= term.max - base;
  }
  double excess_of(std::span<const int64_t> counts) const {
    const auto change = [&](size_t i) { return variance_change(terms_[i], base_[i], counts[i] - base_[i]); };
    return price_ * (slack_ - sum_of(counts.size(), change)) +
           sum_of(counts.size(), [&](size_t i) { return added(terms_[i], base_[i], counts[i] - base_[i]); });
  }

  // At most what moving a job up saves of variance, as long as that adds less than what is to be bettered: k steps do where
  // k cost - price variance k / (base (base + k)) is less, which is a quadratic inequality in k.
  double max_gain_of(const PlanTerm& term, int64_t base) const {
    const auto n = static_cast<double>(base);
    const double half = (term.cost * n - price_ * term.variance / n - best_excess_) / 2;
    const double root = std::sqrt(half * half + term.cost * best_excess_ * n);
    const double steps = half > 0 ? best_excess_ * n / (half + root) : (root - half) / term.cost;
    const double k = std::min(steps * (1 + 1e-9) + 1, static_cast<double>(term.max - base));
    return term.variance * k / (n * (n + k));
  }

  void find_movable() {
    for (size_t job = 0; job < terms_.size(); ++job) {
      const PlanTerm& term = terms_[job];
      const int64_t base = base_[job];
      double nearest = std::numeric_limits<double>::infinity();
      for (const int64_t step : {int64_t{-1}, int64_t{1}}) {
        if (is_within(term, base, step)) {
          nearest = std::min(nearest, added(term, base, step));
        }
      }
      // Moving what has no variance only costs.
      if (term.variance > 0 && nearest < best_excess_) {
        movable_.push_back({job, term, base, nearest, max_gain_of(term, base)});
      }
      if (movable_.size() > kMaxNodes) {
        return;
      }
    }
    std::ranges::sort(movable_, {}, &Movable::nearest);
    gain_left_.assign(movable_.size() + 1, 0);
    for (size_t i = movable_.size(); i > 0; --i) {
      gain_left_[i - 1] = gain_left_[i] + movable_[i - 1].max_gain;
    }
  }

  // Depth first, each job by one, by two, ... as long as that may pay, up and then down. As many jobs may have moved as there are: the moves
  // are kept here, not on the stack.
  void search() {
    take_if_better();
    size_t place = 0;
    int64_t by = 1;
    while (nodes_ <= kMaxNodes) {
      if (may_pay(place)) {
        if (try_move(place, by)) {
          ++place;
          by = 1;
        } else {
          place += by < 0 ? 1 : 0;
          by = by < 0 ? 1 : -1;
        }
      } else if (!moves_.empty()) {
        place = moves_.back().place;
        by = moves_.back().by + (moves_.back().by > 0 ? 1 : -1);
        take_back_move();
      } else {
        return;
      }
    }
  }

  // Moving any from that place on.
  bool may_pay(size_t place) const {
    return place < movable_.size() && spent_ + movable_[place].nearest < best_excess_ - tolerance_ &&
           slack_ + gain_left_[place] >= -kRelativeError;
  }

  bool try_move(size_t place, int64_t by) {
    const Movable& movable = movable_[place];
    if (!is_within(movable.term, movable.base, by)) {
      return false;
    }
    const double spent = spent_ + added(movable.term, movable.base, by);
    if (spent >= best_excess_ - tolerance_) {
      return false;
    }
    moves_.push_back({place, by, spent_, slack_});
    spent_ = spent;
    slack_ -= variance_change(movable.term, movable.base, by);
    ++nodes_;
    take_if_better();
    return true;
  }

  void take_back_move() {
    spent_ = moves_.back().spent;
    slack_ = moves_.back().slack;
    moves_.pop_back();
  }

  void take_if_better() {
    const double excess = spent_ + price_ * std::max(0.0, slack_);
    if (slack_ >= -kRelativeError && excess < best_excess_ - tolerance_) {
      best_excess_ = excess;
      best_moves_ = moves_;
      nodes_ += moves_.size() / kMovesKeptPerNode;
    }
  }

  std::span<const PlanTerm> terms_;
  std::span<const int64_t> base_;
  const double price_;
  const double tolerance_;
  std::vector<Movable> movable_;
  std::vector<double> gain_left_;  // by all from that place on
  std::vector<Move> moves_;        // of the plan that is looked at
  double spent_ = 0;               // by them
  double slack_ = 0;               // that it leaves, of a variance of 1
  double best_excess_ = 0;
  std::optional<std::vector<Move>> best_moves_;
  size_t nodes_ = 0;
};

bool costs_are_equal(std::span<const PlanTerm> terms) {
  return std::ranges::all_of(terms,
                             [](const PlanTerm& term) { return term.variance == 0 || term.cost == 1; });
}

// The least price at which what is worth it suffices.
double min_price(std::span<const PlanTerm> terms, double enough) {
  const auto left = [](std::span<const PlanTerm> of, double price) {
    return sum_of(of.size(), [&](size_t i) { return left_by(of[i], whole_count(of[i], price)); });
  };
  const auto left_by_all = [&](double price) { return left(terms, price); };
  const double t = unbounded_t(terms);
  const Bracket near = narrowed(bracket_near(t * t, enough, left_by_all), 1e-4, enough, left_by_all);
  // Few of many jobs take a step between prices so near each other.
  std::vector<PlanTerm> moving;
  moving.reserve(terms.size());
  double still = 0;
  for (const PlanTerm& term : terms) {
    const int64_t count = whole_count(term, near.low);
    if (count == whole_count(term, near.high)) {
      still += left_by(term, count);
    } else {
      moving.push_back(term);
    }
  }
  return narrowed(near, kPriceError / 4, enough, [&](double price) { return still + left(moving, price); })
      .high;
}

// Takes of steps of one the large ones first, and last the smallest that suffices. Returns what is still missing.
double take_steps(std::vector<Step> steps, double missing, std::vector<int64_t>& counts) {
  std::ranges::sort(steps, std::greater(), &Step::gain);
  for (auto step = steps.begin(); missing > 0 && step != steps.end(); ++step) {
    const auto too_small =
        std::ranges::partition_point(step, steps.end(), [&](const Step& s) { return s.gain >= missing; });
    const Step& chosen = too_small == step ? *step : *std::prev(too_small);
    missing -= chosen.gain;
    ++counts[chosen.job];
  }
  return missing;
}

// Takes back what the last step left over: the steps that save most for what they take off the variance, of those that fit.
void use_slack(std::span<const PlanTerm> terms, double enough, std::vector<int64_t>& counts) {
  struct Saving {
    size_t job;
    double variance;
    double worth;
  };
  double slack = enough - sum_of(terms.size(), [&](size_t i) { return left_by(terms[i], counts[i]); });
  std::vector<Saving> savings;
  for (size_t i = 0; i < terms.size(); ++i) {
    if (counts[i] > terms[i].min && terms[i].variance > 0) {
      const double variance = step_gain(terms[i], counts[i] - 1);
      if (variance <= slack) {
        savings.push_back({i, variance, terms[i].cost / variance});
      }
    }
  }
  std::ranges::sort(savings, std::greater(), &Saving::worth);
  for (const Saving& saving : savings) {
    if (saving.variance <= slack) {
      slack -= saving.variance;
      --counts[saving.job];
    }
  }
}

}  // namespace

PartedPlan best_parted(std::span<const PlanTerm> terms, double allowed) {
  const std::vector<PlanTerm> scaled = in_own_units(terms, allowed);
  constexpr double kEnough = 1 + kRelativeError;
  std::vector<double> scales;
  scales.reserve(terms.size());
  for (const PlanTerm& term : scaled) {
    scales.push_back(scale_of(term));
  }
  const auto left = [&](double t) {
    return sum_of(scaled.size(),
                  [&](size_t i) { return scaled[i].variance / parted_count(scaled[i], scales[i], t); });
  };
  const double t =
      left(0) <= kEnough
          ? 0
          : narrowed(bracket_near(unbounded_t(scaled), kEnough, left), kRelativeError, kEnough, left).high;
  PartedPlan plan;
  plan.counts.reserve(terms.size());
  for (size_t i = 0; i < terms.size(); ++i) {
    plan.counts.push_back(parted_count(scaled[i], scales[i], t));
  }
  plan.cost = sum_of(terms.size(), [&](size_t i) { return terms[i].cost * plan.counts[i]; });
  return plan;
}

std::vector<int64_t> rounded_up(std::span<const PlanTerm> terms, const PartedPlan& parted) {
  std::vector<int64_t> counts;
  counts.reserve(terms.size());
  for (size_t i = 0; i < terms.size(); ++i) {
    // What is whole but for the search's error is whole.
    const double exact = std::ceil(parted.counts[i] * (1 - 1e-9));
    counts.push_back(exact < static_cast<double>(terms[i].max) ? static_cast<int64_t>(exact) : terms[i].max);
  }
  return counts;
}

WholePlan best_whole(std::span<const PlanTerm> terms, double allowed) {
  const std::vector<PlanTerm> scaled = in_own_units(terms, allowed);
  constexpr double kEnough = 1 + kRelativeError;
  WholePlan plan;
  plan.counts.reserve(terms.size());
  std::ranges::transform(scaled, std::back_inserter(plan.counts), &PlanTerm::min);
  const auto left_by_plan = [&] {
    return sum_of(scaled.size(), [&](size_t i) { return left_by(scaled[i], plan.counts[i]); });
  };
  if (left_by_plan() <= kEnough) {
    plan.is_optimal = true;
    return plan;
  }
  const double price = min_price(scaled, kEnough);
  // Just below that price it does not suffice; what is missing are steps that all are worth as much for their cost.
  std::vector<Step> steps;
  steps.reserve(scaled.size());
  for (size_t i = 0; i < scaled.size(); ++i) {
    plan.counts[i] = whole_count(scaled[i], price * (1 - kPriceError));
    if (whole_count(scaled[i], price) > plan.counts[i]) {
      steps.push_back({i, step_gain(scaled[i], plan.counts[i])});
    }
  }
  const std::vector<int64_t> base = plan.counts;
  if (take_steps(std::move(steps), left_by_plan() - kEnough, plan.counts) > 0) {
    // Steps of counts so large that their worth cannot be told apart.
    std::ranges::transform(scaled, plan.counts.begin(),
                           [&](const PlanTerm& term) { return whole_count(term, price); });
    return plan;
  }
  if (costs_are_equal(scaled)) {
    plan.is_optimal = true;
    return plan;
  }
  use_slack(scaled, kEnough, plan.counts);
  plan.is_optimal = Neighbourhood(scaled, base, price).improve(plan.counts);
  return plan;
}

}  // namespace plimsoll::query
