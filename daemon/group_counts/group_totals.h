// From what the kernel counts for control groups, each with all below it, to what was each one's own.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "daemon/group_counts/scaled_count.h"

namespace plimsoll {

// Of one group within a window, by event; nothing where unknown.
using GroupTotals = std::vector<std::optional<ScaledCount>>;
using TotalsByGroup = std::map<std::string, GroupTotals>;  // by ChosenGroup::name

// Of each of `events` events: whether any group knows it. Without groups: yes.
std::vector<bool> known_events(const TotalsByGroup& totals, size_t events);

// Takes from each group's totals what the nearest of the others below it have. Where theirs is not known, neither is what is
// left.
TotalsByGroup own_totals(const TotalsByGroup& totals);

}  // namespace plimsoll
