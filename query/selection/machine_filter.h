// Which machines a selection is about, of those that need not have sent anything.
#pragma once

#include <span>

#include "query/selection/predicate.h"
#include "store/model/dictionaries.h"

namespace plimsoll::query {

// Whether all filters on attributes of machines let it pass; what others would say depends on profiles.
bool is_asked_about(const store::MachineEntry& machine, std::span<const Predicate> where);

}  // namespace plimsoll::query
