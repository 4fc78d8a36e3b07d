#include "statistics/percentile_arms.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "statistics/cosine_waves.h"

namespace plimsoll::statistics {
namespace {

// Of times since 1970: differences of times, and the end of the last slot, hold in 64 bits.
constexpr int64_t kMaxTimeNs = 9'000'000'000'000'000'000;

}  // namespace

Status check_values(std::span<const ArmValue> values, const char* arm) {
  if (values.empty()) {
    return fail(ErrorCode::kInvalid, "the {} arm has no values", arm);
  }
  for (const ArmValue& value : values) {
    if (value.time_ns < 0 || value.time_ns > kMaxTimeNs) {
      return fail(ErrorCode::kInvalid, "the {} arm has a value at {} ns since 1970", arm, value.time_ns);
    }
    const bool is_value = std::isfinite(value.value) && value.value >= 0;
    if (!is_value || !std::isfinite(value.count) || value.count <= 0) {
      return fail(ErrorCode::kInvalid, "the {} arm has the value {} {} times", arm, value.value, value.count);
    }
  }
  return {};
}

PercentileArm read_arm(std::span<const ArmValue> values, int64_t slot_ns) {
  std::vector<uint32_t> order(values.size());
  std::iota(order.begin(), order.end(), 0U);
  const auto where_of = [&](const ArmValue& value) {
    return Where{.slot = value.time_ns / slot_ns, .place = value.place};
  };
  std::ranges::sort(order, {}, [&](uint32_t i) { return std::pair(values[i].user, where_of(values[i])); });
  PercentileArm arm;
  arm.values.reserve(values.size());
  uint32_t last_user = 0;
  for (const uint32_t i : order) {
    const ArmValue& value = values[i];
    const Where where = where_of(value);
    const bool is_new_user = arm.users == 0 || value.user != last_user;
    arm.users += is_new_user ? 1 : 0;
    last_user = value.user;
    if (is_new_user || arm.user_cells.back().where != where) {
      arm.user_cells.push_back({.user = static_cast<uint32_t>(arm.users - 1), .where = where});
    }
    arm.user_cells.back().count += value.count;
    arm.values.push_back({.value = value.value,
                          .user_cell = static_cast<uint32_t>(arm.user_cells.size() - 1),
                          .count = value.count});
  }
  std::ranges::sort(arm.values, {}, &SortedValue::value);
  return arm;
}

Cells find_cells(std::array<PercentileArm*, 2> arms) {
  Cells cells;
  for (const PercentileArm* arm : arms) {
    for (const UserCell& part : arm->user_cells) {
      cells.where.push_back(part.where);
    }
  }
  std::ranges::sort(cells.where);
  const auto rest = std::ranges::unique(cells.where);
  cells.where.erase(rest.begin(), rest.end());
  for (PercentileArm* arm : arms) {
    arm->cell_counts.assign(cells.size(), 0);
    for (UserCell& part : arm->user_cells) {
      part.cell =
          static_cast<uint32_t>(std::ranges::lower_bound(cells.where, part.where) - cells.where.begin());
      arm->cell_counts[part.cell] += part.count;
    }
  }
  return cells;
}

void weigh(PercentileArm& arm, const PercentileArm& other, Cells& cells) {
  cells.masses.assign(cells.size(), 0);
  for (size_t cell = 0; cell < cells.size(); ++cell) {
    const double mine = arm.cell_counts[cell];
    const double theirs = other.cell_counts[cell];
    cells.masses[cell] = mine * theirs / (mine + theirs);
  }
  const double all = std::accumulate(cells.masses.begin(), cells.masses.end(), 0.0);
  double matched = 0;
  double counted = 0;
  arm.cell_weights.assign(cells.size(), 0);
  for (size_t cell = 0; cell < cells.size(); ++cell) {
    cells.masses[cell] = all > 0 ? cells.masses[cell] / all : 0;
    const double mine = arm.cell_counts[cell];
    arm.cell_weights[cell] = mine > 0 ? cells.masses[cell] / mine : 0;
    counted += mine;
    matched += cells.masses[cell] > 0 ? mine : 0;
  }
  arm.matched = matched / counted;
}

void finish_arm(PercentileArm& arm) {
  for (UserCell& part : arm.user_cells) {
    // A user who is much of a cell pulls its mean along: residuals are divided by 1 - leverage, as of the jackknife, HC3 (MacKinnon and
    // White, J. Econometrics 29 (1985)), since few users are most of the variance. Beyond 0.9 it would magnify what is nearly nothing.
    constexpr double kMaxLeverage = 0.9;
    const double leverage = std::min(part.count / arm.cell_counts[part.cell], kMaxLeverage);
    part.widen = 1 / (1 - leverage);
  }
  double up_to = 0;
  for (SortedValue& value : arm.values) {
    up_to += value.count * arm.cell_weights[arm.user_cells[value.user_cell].cell];
    value.up_to = up_to;
  }
}

double percentile_of(const PercentileArm& arm, double share) {
  const auto at = std::ranges::lower_bound(arm.values, share, {}, &SortedValue::up_to);
  return at == arm.values.end() ? arm.values.back().value : at->value;
}

void find_waves(Cells& cells, size_t count, const PercentileRequest& request) {
  cells.wave_count = count;
  std::vector<TimedMass> slots;
  cells.waves.assign(cells.size() * count, 0);
  double before = 0;
  for (size_t cell = 0; cell < cells.size();) {
    size_t end = cell;  // of the cells of this slot
    double mass = 0;
    while (end < cells.size() && cells.where[end].slot == cells.where[cell].slot) {
      mass += cells.masses[end++];
    }
    slots.push_back({.time_ns = cells.where[cell].slot * request.slot_ns, .mass = mass});
    for (; cell < end; ++cell) {
      for (size_t wave = 0; wave < count; ++wave) {
        cells.waves[cell * count + wave] = cosine_wave(wave, before + mass / 2);
      }
    }
    before += mass;
  }
  // The sum of the correlations over all lags is twice the time of their decay: as long as an incident, a third of a block.
  constexpr double kDecayOfBlock = 1.0 / 6;
  cells.seen_by_waves =
      share_seen_by_waves(slots, count, kDecayOfBlock * static_cast<double>(request.block_ns));
}

MatchedTime matched_time(const Cells& cells, int64_t slot_ns, int64_t block_ns) {
  std::vector<std::pair<int64_t, double>> slots;  // with masses, which sum to 1; ascending, as cells are
  for (size_t cell = 0; cell < cells.size(); ++cell) {
    if (cells.masses[cell] > 0) {
      slots.emplace_back(cells.where[cell].slot, cells.masses[cell]);
    }
  }
  if (slots.empty()) {
    return {};
  }
  const int64_t first = slots.front().first;
  const int64_t time_ns = (slots.back().first - first + 1) * slot_ns;
  const int64_t longer_ns = std::max(block_ns, slot_ns);
  std::map<int64_t, double> blocks;  // masses
  for (const auto& [slot, mass] : slots) {
    blocks[(slot - first) * slot_ns / longer_ns] += mass;
  }
  // Their effective number (Kish): a block with a few stray values tells next to nothing of how times differ.
  double sum = 0;
  double squares = 0;
  for (const auto& [block, mass] : blocks) {
    sum += mass;
    squares += mass * mass;
  }
  const auto effective = static_cast<size_t>(std::llround(sum * sum / squares));
  return {.time_ns = time_ns, .blocks = std::min(static_cast<size_t>(time_ns / longer_ns), effective)};
}

}  // namespace plimsoll::statistics
