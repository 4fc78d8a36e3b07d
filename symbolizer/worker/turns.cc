#include "symbolizer/worker/turns.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>

namespace plimsoll::symbolizer {

void order_by_turns(std::vector<store::PendingBinary>& pending) {
  std::vector<size_t> order(pending.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [&](size_t i) { return std::pair(-pending[i].new_locations, i); });
  std::map<std::string, size_t> turns;                      // that each machine has had
  std::vector<std::tuple<size_t, size_t, size_t>> by_turn;  // turn, place among all, index
  for (size_t place = 0; place < order.size(); ++place) {
    by_turn.emplace_back(turns[pending[order[place]].machine]++, place, order[place]);
  }
  std::ranges::sort(by_turn);
  std::vector<store::PendingBinary> ordered;
  ordered.reserve(pending.size());
  for (const auto& [turn, place, index] : by_turn) {
    ordered.push_back(std::move(pending[index]));
  }
  pending = std::move(ordered);
}

}  // namespace plimsoll::symbolizer
