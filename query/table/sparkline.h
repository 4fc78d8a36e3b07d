// Sparklines: a series of numbers as a word of block characters.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace plimsoll::query {

// A character per value, U+2581 (lowest) to U+2588 (full), in eighths of the range from 0 to the largest one; 0 and less is the
// lowest. A value that is not finite is missing: "·". More values than `max_columns` are merged in groups of neighbours of equal
// size (the last may be smaller), each to the mean of the values that it has. Pure.
std::string sparkline(std::span<const double> values, size_t max_columns);

}  // namespace plimsoll::query
