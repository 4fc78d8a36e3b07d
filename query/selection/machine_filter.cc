#include "query/selection/machine_filter.h"

#include <algorithm>
#include <string>

#include "query/snapshot/machine_attributes.h"

namespace plimsoll::query {

bool is_asked_about(const store::MachineEntry& machine, std::span<const Predicate> where) {
  return std::ranges::all_of(where, [&](const Predicate& predicate) {
    const auto value = machine_value(machine, predicate.dimension().name);
    return !value || predicate.matches(std::string(*value)) != predicate.is_negated();
  });
}

}  // namespace plimsoll::query
