#include "statistics/growth.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "statistics/student_t.h"

namespace plimsoll::statistics {
namespace {

// What is left of a process's heap by a restart.
constexpr double kRestartShare = 0.5;
// A period is whole where at most this part is missing at either end: snapshots do not come at its borders.
constexpr int64_t kMissingParts = 10;

double mean_of(std::span<const double> values) {
  return values.empty()
             ? 0
             : std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// That of the second of what the first was; nothing: the first was none.
std::optional<double> share_of(double first, double second) {
  return first > 0 ? std::optional(second / first) : std::nullopt;
}

}  // namespace

GrowthSteps::GrowthSteps(std::span<const GrowthSnapshot> snapshots, int64_t period_ns)
    : period_ns_(std::max<int64_t>(period_ns, 1)) {
  std::vector<size_t> order(snapshots.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, [&](size_t a, size_t b) {
    const GrowthSnapshot& x = snapshots[a];
    const GrowthSnapshot& y = snapshots[b];
    return x.series != y.series     ? x.series < y.series
           : x.time_ns != y.time_ns ? x.time_ns < y.time_ns
                                    : a < b;
  });
  if (snapshots.empty()) {
    return;
  }
  const auto [first, last] = std::ranges::minmax_element(snapshots, {}, &GrowthSnapshot::time_ns);
  first_ns_ = first->time_ns;
  last_ns_ = last->time_ns;
  for (size_t begin = 0; begin < order.size();) {
    size_t end = begin + 1;
    const auto is_restart = [&] {
      return snapshots[order[end]].whole < kRestartShare * snapshots[order[end - 1]].whole;
    };
    const auto is_same_series = [&] {
      return snapshots[order[end]].series == snapshots[order[begin]].series;
    };
    while (end < order.size() && is_same_series() && !is_restart()) {
      ++end;
    }
    const bool follows_another =
        begin > 0 && snapshots[order[begin]].series == snapshots[order[begin - 1]].series;
    const bool is_late = snapshots[order[begin]].time_ns - first_ns_ > period_ns_;
    add_lifetime(snapshots, std::span(order).subspan(begin, end - begin), follows_another || is_late);
    begin = end;
  }
  std::vector<bool> has_step(periods_);
  for (const Chain& chain : chains_) {
    for (const Cell& cell : std::span(chain.cells).first(chain.steps())) {
      has_step[cell.period] = true;
    }
  }
  steps_ = static_cast<size_t>(std::ranges::count(has_step, true));
  const auto newest = static_cast<size_t>(std::ranges::find(has_step, true) - has_step.begin());
  processes_ = static_cast<size_t>(std::ranges::count_if(chains_, [&](const Chain& chain) {
    return chain.steps() > 0 && chain.cells.front().period == newest;
  }));
}

void GrowthSteps::add_lifetime(std::span<const GrowthSnapshot> snapshots, std::span<const size_t> order,
                               bool is_restarted) {
  const int64_t missing_ns = period_ns_ / kMissingParts;
  const int64_t begin_ns = snapshots[order.front()].time_ns;
  const int64_t end_ns = snapshots[order.back()].time_ns;
  std::vector<Cell> cells;  // the oldest first
  for (const size_t snapshot : order) {
    const auto period = static_cast<size_t>((last_ns_ - snapshots[snapshot].time_ns) / period_ns_);
    const int64_t period_end_ns = last_ns_ - static_cast<int64_t>(period) * period_ns_;
    if (begin_ns > period_end_ns - period_ns_ + missing_ns || end_ns < period_end_ns - missing_ns) {
      continue;
    }
    if (cells.empty() || cells.back().period != period) {
      cells.push_back({period, {}});
    }
    cells.back().snapshots.push_back(snapshot);
  }
  Chain chain{.cells = {}, .is_restarted = is_restarted};
  const auto keep = [&] {
    if (chain.cells.size() > 1) {
      std::ranges::reverse(chain.cells);
      periods_ = std::max(periods_, chain.cells.back().period + 1);
      chains_.push_back(std::move(chain));
    }
    chain = {};
  };
  for (Cell& cell : cells) {
    if (!chain.cells.empty() && chain.cells.back().period != cell.period + 1) {
      keep();
    }
    chain.cells.push_back(std::move(cell));
  }
  keep();
}

Growth GrowthSteps::growth(std::span<const double> values, double per_sample) const {
  std::vector<double> change(periods_);
  std::vector<double> level(periods_);
  std::vector<double> processes(periods_);
  const auto mean_in = [&](const Cell& cell) {
    double sum = 0;
    for (const size_t snapshot : cell.snapshots) {
      sum += values[snapshot];
    }
    return sum / static_cast<double>(cell.snapshots.size());
  };
  std::vector<double> warming_up;  // by restarted process
  for (const Chain& chain : chains_) {
    double newer = mean_in(chain.cells.front());
    for (size_t i = 0; i + 1 < chain.cells.size(); ++i) {
      const double older = mean_in(chain.cells[i + 1]);
      if (i < chain.steps()) {
        const size_t period = chain.cells[i].period;
        change[period] += newer - older;
        level[period] += newer;
        processes[period] += 1;
      } else {
        warming_up.push_back(newer - older);
      }
      newer = older;
    }
  }
  Growth growth;
  std::vector<double> changes;  // the oldest first
  for (size_t period = periods_; period-- > 0;) {
    if (processes[period] > 0) {
      changes.push_back(change[period]);
      growth.in_use = level[period];
    }
  }
  growth.steps = changes.size();
  growth.per_period = mean_of(changes);
  if (changes.size() < kMinGrowthSteps) {
    return growth;
  }
  const auto n = static_cast<double>(changes.size());
  double squares = 0;
  for (const double each : changes) {
    squares += (each - growth.per_period) * (each - growth.per_period);
  }
  const double of_sampling = std::abs(growth.per_period) * std::max(per_sample, 0.0);
  growth.standard_error = std::sqrt(std::max(squares / (n - 1), of_sampling) / n);
  if (growth.per_period > 0) {
    growth.p =
        growth.standard_error > 0 ? student_t_cdf(-growth.per_period / growth.standard_error, n - 1) : 0;
  }
  const std::span all(changes);
  growth.late_share = share_of(mean_of(all.first(all.size() / 2)), mean_of(all.last(all.size() / 2)));
  const double of_one = growth.per_period * n / std::accumulate(processes.begin(), processes.end(), 0.0);
  if (const auto share = share_of(mean_of(warming_up), of_one)) {
    growth.late_share = std::min(*share, growth.late_share.value_or(*share));
  }
  return growth;
}

}  // namespace plimsoll::statistics
