#include "statistics/percentile_change.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "statistics/percentile_arms.h"
#include "statistics/student_t.h"

namespace plimsoll::statistics {
namespace {

// The end of the last slot holds in 64 bits.
constexpr int64_t kMaxSlotNs = int64_t{365} * 24 * 3600 * 1'000'000'000;
constexpr double kTwoSided = 0.975;
// Half the width of Woodruff's window, in standard errors of the proportion.
constexpr double kWindow = 2;

// How one arm's percentile depends on its users and blocks: sums of `value <= percentile` less its mean, by what depends.
struct ArmInfluence {
  double quantile = 0;
  std::vector<double> below = {};  // by cell: share of its values up to the percentile
  double by_user = 0;              // sum of squares
  double by_user_4 = 0;            // sum of fourth powers
  double by_user_wave = 0;         // sum of squares of the waves' parts, by wave
  double users_beyond = 0;
  // Change of the logarithm of the percentile with the proportion, below and above it.
  double slope_down = 0;
  double slope_up = 0;
  bool reaches_zero = false;  // the window below it: there is no logarithm
};

// Woodruff, JASA 47 (1952): the percentiles of the proportions that are kWindow standard errors lower and higher show how steep the
// distribution is, without an estimate of its density. Of rounded values, a window of the users' error alone may hold one value only, though the
// percentile moves with times: they count, too. What slows both arms alike moves no difference, and does not.
void measure_slopes(const PercentileArm& arm, double share, double step, ArmInfluence& influence) {
  const double down = std::min(step, share * 0.9);
  const double up = std::min(step, (1 - share) * 0.9);
  const double low = percentile_of(arm, share - down);
  const double high = percentile_of(arm, share + up);
  influence.reaches_zero = low <= 0;
  if (step <= 0 || low <= 0) {
    influence.slope_down = influence.slope_up = std::numeric_limits<double>::infinity();
    return;
  }
  influence.slope_down = std::log(influence.quantile / low) / down;
  influence.slope_up = std::log(high / influence.quantile) / up;
}

double squares(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) {
    sum += value * value;
  }
  return sum;
}

// The mean square of the projections on waves of what cells contribute, beside their share of the sum.
double mean_square_of_waves(std::span<const double> parts, const Cells& cells) {
  const double all = std::accumulate(parts.begin(), parts.end(), 0.0);
  std::vector<double> projections(cells.wave_count);
  for (size_t cell = 0; cell < cells.size(); ++cell) {
    const std::span<const double> waves = cells.waves_of(cell);
    for (size_t wave = 0; wave < waves.size(); ++wave) {
      projections[wave] += waves[wave] * (parts[cell] - cells.masses[cell] * all);
    }
  }
  return squares(projections) / static_cast<double>(std::max<size_t>(cells.wave_count, 1));
}

ArmInfluence influence_of(const PercentileArm& arm, const Cells& cells, double share) {
  ArmInfluence influence{.quantile = percentile_of(arm, share)};
  std::vector<double> below_of(arm.user_cells.size());
  influence.below.assign(cells.size(), 0);
  for (const SortedValue& value : arm.values) {
    if (value.value > influence.quantile) {
      break;
    }
    below_of[value.user_cell] += value.count;
    influence.below[arm.user_cells[value.user_cell].cell] += value.count;
  }
  for (size_t cell = 0; cell < cells.size(); ++cell) {
    influence.below[cell] /= std::max(arm.cell_counts[cell], 1e-300);
  }
  std::vector<double> users(arm.users);
  std::vector<double> beyond(arm.users);
  std::vector<double> user_waves(cells.wave_count);
  for (size_t i = 0; i < arm.user_cells.size(); ++i) {
    const UserCell& part = arm.user_cells[i];
    const double weight = arm.cell_weights[part.cell];
    const double residual = weight * part.widen * (below_of[i] - part.count * influence.below[part.cell]);
    users[part.user] += residual;
    beyond[part.user] += weight * (part.count - below_of[i]);
    const std::span<const double> waves = cells.waves_of(part.cell);
    for (size_t wave = 0; wave < waves.size(); ++wave) {
      user_waves[wave] += waves[wave] * residual;
    }
    if (i + 1 == arm.user_cells.size() || arm.user_cells[i + 1].user != part.user) {
      influence.by_user_wave += squares(user_waves) / static_cast<double>(std::max<size_t>(waves.size(), 1));
      std::ranges::fill(user_waves, 0.0);
    }
  }
  influence.by_user = squares(users);
  for (const double user : users) {
    influence.by_user_4 += user * user * user * user;
  }
  const double all_beyond = std::accumulate(beyond.begin(), beyond.end(), 0.0);
  influence.users_beyond = all_beyond > 0 ? all_beyond * all_beyond / squares(beyond) : 0;
  return influence;
}

// The variance of the difference by what happens at times.
double by_wave(const ArmInfluence& control, const ArmInfluence& test, const Cells& cells, double share,
               double control_slope, double test_slope) {
  std::vector<double> parts(cells.size());
  for (size_t cell = 0; cell < cells.size(); ++cell) {
    parts[cell] = cells.masses[cell] *
                  (test_slope * (test.below[cell] - share) - control_slope * (control.below[cell] - share));
  }
  return mean_square_of_waves(parts, cells);
}

// The variance of the difference of the proportions by what happens at times in one arm, and not in both: less what users add.
double own_times(const ArmInfluence& control, const ArmInfluence& test, const Cells& cells, double share) {
  const double times = by_wave(control, test, cells, share, 1, 1);
  return std::max(times - control.by_user_wave - test.by_user_wave, 0.0);
}

// How far the interval of the difference of logarithms reaches to a side.
struct Reach {
  double margin = 0;
  double users = 0;  // variance by users, which more users reduce
  double times = 0;  // variance beside it, which they do not
};

// Values depend on each other within a user and within a block: both variances, less what is counted twice (Cameron, Gelbach and Miller, J.
// Business & Economic Statistics 29 (2011)). Each has the quantile of its own degrees of freedom: sqrt(t_u^2 V_u + t_B^2 V_b) holds at
// least as often as it says, whatever part either is (Banerjee, Sankhya 22 (1960)), while one quantile by Satterthwaite is of too many degrees
// just when the few waves happen to be small.
Reach reach_of(const std::array<const ArmInfluence*, 2>& arms, const Cells& cells, double share,
               const std::array<double, 2>& slopes, const std::array<size_t, 2>& user_counts) {
  double users = 0;
  double user_times = 0;
  double users_squared_over_degrees = 0;
  for (size_t i = 0; i < arms.size(); ++i) {
    const double squared = slopes[i] * slopes[i];
    const double part = squared * arms[i]->by_user;
    const double n = static_cast<double>(user_counts[i]);
    const double kurtosis = arms[i]->by_user_4 / std::max(arms[i]->by_user * arms[i]->by_user, 1e-300);
    const double degrees = std::clamp(2 / std::max(kurtosis - 1 / n, 2 / n), 1.0, std::max(n - 1, 1.0));
    users += part;
    user_times += squared * arms[i]->by_user_wave;
    users_squared_over_degrees += part * part / degrees;
  }
  const double times = by_wave(*arms[0], *arms[1], cells, share, slopes[0], slopes[1]);
  // Less what users add, and over what waves see of the rest. The difference of two variances that are known by few waves is below 0 too
  // often: at least half of the larger one remains.
  const double times_alone = (times - user_times) / cells.seen_by_waves;
  const double beside_users = std::max(times_alone, times / 2);
  const double degrees =
      users_squared_over_degrees > 0 ? std::max(users * users / users_squared_over_degrees, 1.0) : 1.0;
  const double of_users = student_t_quantile(kTwoSided, degrees);
  const double of_times = student_t_quantile(kTwoSided, static_cast<double>(cells.wave_count));
  return {.margin = std::sqrt(of_users * of_users * users + of_times * of_times * beside_users),
          .users = users,
          .times = std::max(times_alone, 0.0)};
}

// Users of either arm whose variance, beside that of times, lets a change be detected; nothing: times alone have too much.
std::optional<double> users_needed(const PercentileRequest& request, size_t users,
                                   const std::array<Reach, 2>& sides) {
  // 1.96 + 0.84 standard errors: a two-sided test of 5 % with a power of 80 %.
  const double wanted = std::log1p(request.detect) / 2.8;
  double needed = 0;
  for (const Reach& side : sides) {
    const double left = wanted * wanted - side.times;
    if (left <= 0) {
      return std::nullopt;
    }
    needed = std::max(needed, static_cast<double>(users) * side.users / left);
  }
  return std::ceil(needed);
}

// `low` and `high`: the row's.
void judge(PercentileChange& row, double low, double high, const PercentileRequest& request,
           const std::array<Reach, 2>& sides) {
  const bool is_wide = request.detect > 0 && std::max(row.change - low, high - row.change) > request.detect;
  const auto has_more_of_times = [](const Reach& side) { return side.times > side.users; };
  if (low > 0) {
    row.verdict = PercentileVerdict::kMore;
  } else if (high < 0) {
    row.verdict = PercentileVerdict::kLess;
  } else if (!is_wide) {
    row.verdict = PercentileVerdict::kNoDifference;
  } else if (!row.users_needed || std::ranges::any_of(sides, has_more_of_times)) {
    row.verdict = PercentileVerdict::kTooLittleTime;
  } else {
    row.verdict = PercentileVerdict::kTooFewUsers;
  }
}

PercentileChange compare_at(const PercentileArm& control, const PercentileArm& test, const Cells& cells,
                            double share, const PercentileRequest& request) {
  ArmInfluence of_control = influence_of(control, cells, share);
  ArmInfluence of_test = influence_of(test, cells, share);
  PercentileChange row{.share = share,
                       .control = of_control.quantile,
                       .test = of_test.quantile,
                       .users_beyond = std::min(of_control.users_beyond, of_test.users_beyond)};
  if (row.control <= 0 || row.test <= 0) {
    row.verdict = PercentileVerdict::kZero;
    return row;
  }
  row.change = row.test / row.control - 1;
  if (cells.wave_count < kMinBlocks) {
    row.verdict = PercentileVerdict::kTooLittleTime;
    return row;
  }
  const double times = own_times(of_control, of_test, cells, share);
  measure_slopes(control, share, kWindow * std::sqrt(of_control.by_user + times), of_control);
  measure_slopes(test, share, kWindow * std::sqrt(of_test.by_user + times), of_test);
  if (of_control.reaches_zero || of_test.reaches_zero) {
    row.verdict = row.users_beyond < kMinUsersBeyond ? row.verdict : PercentileVerdict::kZero;
    return row;
  }
  const std::array<const ArmInfluence*, 2> arms{&of_control, &of_test};
  const std::array<size_t, 2> users{control.users, test.users};
  // Each side with the slopes of its own direction, since distributions are steeper below a high percentile than above it: the difference
  // is lower where the test's percentile is lower and the control's higher (Zou and Donner, Statistics in Medicine 27 (2008)).
  const std::array<Reach, 2> sides{
      reach_of(arms, cells, share, {of_control.slope_up, of_test.slope_down}, users),
      reach_of(arms, cells, share, {of_control.slope_down, of_test.slope_up}, users)};
  const auto& [down, up] = sides;
  if (!std::isfinite(down.margin) || !std::isfinite(up.margin)) {
    return row;
  }
  if (request.detect > 0) {
    row.users_needed = users_needed(request, std::min(control.users, test.users), sides);
  }
  if (row.users_beyond < kMinUsersBeyond) {
    return row;
  }
  const double change = std::log1p(row.change);
  const double low = std::expm1(change - down.margin);
  const double high = std::expm1(change + up.margin);
  row.low = low;
  row.high = high;
  judge(row, low, high, request, sides);
  return row;
}

}  // namespace

Result<PercentileComparison> compare_percentiles(std::span<const ArmValue> control,
                                                 std::span<const ArmValue> test,
                                                 const PercentileRequest& request) {
  for (const auto& checked : {check_values(control, "control"), check_values(test, "test")}) {
    if (!checked) {
      return propagate(checked);
    }
  }
  const auto is_within = [](double share) { return share > 0 && share < 1; };  // false of no number, too
  if (request.slot_ns <= 0 || request.slot_ns > kMaxSlotNs || request.block_ns <= 0 ||
      !std::ranges::all_of(request.shares, is_within)) {
    return fail(ErrorCode::kInvalid,
                "percentiles must be within 0 and 100, slots a year at most, slots and blocks above 0");
  }
  PercentileArm of_control = read_arm(control, request.slot_ns);
  PercentileArm of_test = read_arm(test, request.slot_ns);
  Cells cells = find_cells({&of_control, &of_test});
  weigh(of_control, of_test, cells);
  weigh(of_test, of_control, cells);
  if (of_control.matched <= 0) {
    return fail(ErrorCode::kInvalid, "the arms have no values at the same time and place");
  }
  const MatchedTime time = matched_time(cells, request.slot_ns, request.block_ns);
  find_waves(cells, std::min(time.blocks, kMaxWaves), request);
  finish_arm(of_control);
  finish_arm(of_test);
  PercentileComparison comparison{.time_ns = time.time_ns,
                                  .degrees_of_time = cells.wave_count,
                                  .control_users = of_control.users,
                                  .test_users = of_test.users,
                                  .control_matched = of_control.matched,
                                  .test_matched = of_test.matched};
  for (const double share : request.shares) {
    comparison.rows.push_back(compare_at(of_control, of_test, cells, share, request));
  }
  return comparison;
}

}  // namespace plimsoll::statistics
