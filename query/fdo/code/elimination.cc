#include "query/fdo/code/elimination.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace plimsoll::fdo {
namespace {

std::vector<std::vector<uint32_t>> neighbors_of(uint32_t nodes, std::span<const Arc> arcs) {
  std::vector<std::vector<uint32_t>> neighbors(nodes);
  for (const Arc& arc : arcs) {
    if (arc.tail != kGround && arc.head != kGround && arc.tail != arc.head) {
      neighbors[arc.tail].push_back(arc.head);
      neighbors[arc.head].push_back(arc.tail);
    }
  }
  for (auto& list : neighbors) {
    std::ranges::sort(list);
    list.erase(std::ranges::unique(list).begin(), list.end());
  }
  return neighbors;
}

}  // namespace

std::optional<Elimination> Elimination::plan(uint32_t nodes, std::span<const Arc> arcs,
                                             uint64_t max_updates) {
  Elimination result;
  if (!result.order(neighbors_of(nodes, arcs), max_updates)) {
    return std::nullopt;
  }
  result.place(arcs);
  return result;
}

// Always the node with the fewest neighbors next; its neighbors become neighbors of each other.
bool Elimination::order(std::vector<std::vector<uint32_t>> neighbors, uint64_t max_updates) {
  const auto nodes = static_cast<uint32_t>(neighbors.size());
  std::vector<std::vector<uint32_t>> by_degree(1);
  const auto enqueue = [&](uint32_t node) {
    const size_t degree = neighbors[node].size();
    if (degree >= by_degree.size()) {
      by_degree.resize(degree + 1);
    }
    by_degree[degree].push_back(node);
  };
  for (uint32_t node = nodes; node > 0; --node) {
    enqueue(node - 1);
  }
  constexpr uint32_t kWaiting = UINT32_MAX;
  turns_.assign(nodes, kWaiting);
  std::vector<uint32_t> merged;
  uint64_t updates = 0;
  uint64_t merges = 0;
  size_t degree = 0;
  for (uint32_t turn = 0; turn < nodes;) {
    while (by_degree[degree].empty()) {
      ++degree;
    }
    const uint32_t node = by_degree[degree].back();
    by_degree[degree].pop_back();
    if (turns_[node] != kWaiting || neighbors[node].size() != degree) {
      continue;
    }
    turns_[node] = turn++;
    updates += uint64_t{degree} * (degree + 1) / 2;
    if (updates > max_updates || merges > 8 * max_updates) {
      return false;
    }
    const std::vector<uint32_t>& front = neighbors[node];
    for (const uint32_t neighbor : front) {
      std::vector<uint32_t>& list = neighbors[neighbor];
      merges += list.size() + front.size();
      merged.clear();
      std::ranges::set_union(list, front, std::back_inserter(merged));
      std::erase_if(merged, [&](uint32_t other) { return other == node || other == neighbor; });
      list.swap(merged);
      enqueue(neighbor);
      degree = std::min(degree, list.size());
    }
  }
  std::vector<uint32_t> nodes_by_turn(nodes);
  for (uint32_t node = 0; node < nodes; ++node) {
    nodes_by_turn[turns_[node]] = node;
  }
  starts_.push_back(0);
  for (const uint32_t node : nodes_by_turn) {
    const auto begin = static_cast<std::ptrdiff_t>(rows_.size());
    std::ranges::transform(neighbors[node], std::back_inserter(rows_),
                           [&](uint32_t other) { return turns_[other]; });
    std::sort(rows_.begin() + begin, rows_.end());
    starts_.push_back(static_cast<uint32_t>(rows_.size()));
  }
  updates_.reserve(updates);
  return true;
}

void Elimination::place(std::span<const Arc> arcs) {
  const auto nodes = static_cast<uint32_t>(turns_.size());
  for (uint32_t column = 0; column < nodes; ++column) {
    const auto rows = rows_of(column);
    for (size_t j = 0; j < rows.size(); ++j) {
      // Rows ascend, and so do those of the column that they change.
      const auto changed = rows_of(rows[j]);
      auto at = changed.begin();
      for (size_t i = j + 1; i < rows.size(); ++i) {
        at = std::lower_bound(at, changed.end(), rows[i]);
        updates_.push_back(starts_[rows[j]] + static_cast<uint32_t>(at - changed.begin()));
      }
    }
  }
  const auto turn_of = [&](uint32_t node) { return node == kGround ? kGround : turns_[node]; };
  for (const Arc& arc : arcs) {
    const Arc turned{turn_of(arc.tail), turn_of(arc.head)};
    const bool is_inner = turned.tail != kGround && turned.head != kGround && turned.tail != turned.head;
    arcs_.push_back(turned);
    entries_.push_back(is_inner
                           ? entry_of(std::min(turned.tail, turned.head), std::max(turned.tail, turned.head))
                           : UINT32_MAX);
  }
  values_.resize(rows_.size());
  diagonal_.resize(nodes);
  ordered_.resize(nodes);
}

uint32_t Elimination::entry_of(uint32_t column, uint32_t row) const {
  const auto rows = rows_of(column);
  return starts_[column] + static_cast<uint32_t>(std::ranges::lower_bound(rows, row) - rows.begin());
}

void Elimination::factor(std::span<const double> conductances) {
  std::ranges::fill(values_, 0.0);
  // Keeps parts without a way to the ground solvable.
  std::ranges::fill(diagonal_, 1e-300);
  for (size_t i = 0; i < arcs_.size(); ++i) {
    const Arc& arc = arcs_[i];
    if (arc.tail == arc.head) {
      continue;
    }
    if (arc.tail != kGround) {
      diagonal_[arc.tail] += conductances[i];
    }
    if (arc.head != kGround) {
      diagonal_[arc.head] += conductances[i];
    }
    if (entries_[i] != UINT32_MAX) {
      values_[entries_[i]] -= conductances[i];
    }
  }
  size_t update = 0;
  for (uint32_t column = 0; column + 1 < starts_.size(); ++column) {
    const uint32_t end = starts_[column + 1];
    for (uint32_t j = starts_[column]; j < end; ++j) {
      const double factor = values_[j] / diagonal_[column];
      diagonal_[rows_[j]] -= factor * values_[j];
      for (uint32_t i = j + 1; i < end; ++i) {
        values_[updates_[update++]] -= factor * values_[i];
      }
    }
  }
}

void Elimination::solve(std::vector<double>& currents) {
  const auto nodes = static_cast<uint32_t>(turns_.size());
  for (uint32_t node = 0; node < nodes; ++node) {
    ordered_[turns_[node]] = currents[node];
  }
  for (uint32_t column = 0; column < nodes; ++column) {
    const double current = ordered_[column] / diagonal_[column];
    for (uint32_t j = starts_[column]; j < starts_[column + 1]; ++j) {
      ordered_[rows_[j]] -= current * values_[j];
    }
  }
  for (uint32_t column = nodes; column > 0; --column) {
    const uint32_t k = column - 1;
    double sum = ordered_[k];
    for (uint32_t i = starts_[k]; i < starts_[k + 1]; ++i) {
      sum -= values_[i] * ordered_[rows_[i]];
    }
    ordered_[k] = sum / diagonal_[k];
  }
  for (uint32_t node = 0; node < nodes; ++node) {
    currents[node] = ordered_[turns_[node]];
  }
}

}  // namespace plimsoll::fdo
