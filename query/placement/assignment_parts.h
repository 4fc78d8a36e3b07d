// What assignment_table() puts together.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "query/placement/assignment_table.h"

namespace plimsoll::query {

// Columns and rows.
void add_placement_rows(const Assignment& assignment, Table& table);
void add_platform_rows(const Assignment& assignment, Table& table);
void add_move_rows(const Assignment& assignment, Table& table);

std::vector<std::string> assignment_notes(const Assignment& assignment,
                                          std::optional<double> unknown_at_most);

// "1.2 G cycles/s", or "3.4 CPUs" for CPU-nanoseconds a second.
std::string use_text(double use, CostUnit unit);
// "web", "web and db", "web, db, mail and 7 more".
std::string names_text(const std::vector<std::string>& names, size_t most);

// No cost is known of these jobs.
std::unexpected<Error> fail_lost(const AssignmentInput& input);
std::unexpected<Error> fail_short(const AssignmentInput& input, const Shortage& shortage);

}  // namespace plimsoll::query
