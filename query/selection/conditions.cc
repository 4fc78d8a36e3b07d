#include "query/selection/conditions.h"

#include <algorithm>
#include <string>
#include <utility>

#include "store/draws/draw.h"

namespace plimsoll::query {

bool is_about_draws(const Predicate& predicate) {
  return predicate.dimension().name == "draw";
}

bool wants_orders(const Selection& selection) {
  return std::ranges::any_of(selection.where, [](const Predicate& predicate) {
    return is_about_draws(predicate) && !predicate.is_negated();
  });
}

void keep_conditions(const Selection& selection, store::RowFilter& filter) {
  for (const Column column : {Column::kOrigin, Column::kWorkload, Column::kThread}) {
    store::IdSelection made;
    if (column == Column::kOrigin) {
      made.middle = {selection.since_ns, selection.until_ns};
      if (!wants_orders(selection)) {
        made.conditions.push_back({.dimension = "draw",
                                   .values = {std::string(store::kOrderPrefix)},
                                   .are_prefixes = true,
                                   .is_negated = true});
      }
    }
    bool are_values = true;
    for (const Predicate& predicate : selection.where) {
      if (column_of(predicate.dimension().source) == column) {
        are_values = are_values && !predicate.values().empty();
        made.conditions.push_back({.dimension = predicate.dimension().name,
                                   .values = predicate.values(),
                                   .is_negated = predicate.is_negated()});
      }
    }
    if (are_values && !filter[column].is_all()) {
      filter[column] = filter[column].made_by(std::move(made));
    }
  }
}

}  // namespace plimsoll::query
