// The Manhattan distance of two profiles: how much of the time went elsewhere.
//
// Pure: no I/O, no state; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace plimsoll::statistics {

// The rows that are among the `top` largest of either profile, in ascending order. Profiles have a value for each row, the
// same rows in the same order; of equal values the earlier row is larger, and one without any is never among them.
std::vector<uint32_t> union_of_top(std::span<const double> x, std::span<const double> y, size_t top);

// The sum over those rows of |share in x - share in y|, of all of each profile: 0 of equal ones, 2 of such that have nothing in
// common. Half of it is the part of the time that was spent elsewhere.
double manhattan_distance(std::span<const double> x, std::span<const double> y, size_t top);

}  // namespace plimsoll::statistics
