// What placement_table() puts together.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "query/placement/placement_table.h"

namespace plimsoll::query {

// Columns and rows.
void add_placement_rows(const PlacementPlan& plan, Table& table);
void add_platform_rows(const PlacementPlan& plan, Table& table);
void add_move_rows(const PlacementPlan& plan, Table& table);
void add_summary_row(const PlacementPlan& plan, Table& table);

std::vector<std::string> placement_notes(const PlacementPlan& plan, std::optional<double> max_unknown_cost);

// "1.2 G cycles/s", or "3.4 CPUs" for CPU-nanoseconds a second.
std::string use_text(double use, CostUnit unit);
// "web", "web and db", "web, db, mail and 7 more".
std::string names_text(const std::vector<std::string>& names, size_t most);

// No cost is known of these jobs.
std::unexpected<Error> fail_lost(const PlacementInput& input);
std::unexpected<Error> fail_short(const PlacementInput& input, const Shortage& shortage);

}  // namespace plimsoll::query
