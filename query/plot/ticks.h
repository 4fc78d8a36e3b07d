// Where an axis has its ticks: at round numbers, the first at or below and the last at or above all values. Pure.
#pragma once

#include <cstddef>
#include <vector>

namespace plimsoll::query {

// Multiples of 1, 2 or 5 times a power of ten, in steps that divide the range into at most `max_steps` (at least 1), two more at its
// ends. At least two ticks, also where `low` is `high`. Both are finite, low <= high.
std::vector<double> linear_ticks(double low, double high, size_t max_steps);

// 1, 2 and 5 times powers of ten, where those are too many the powers of ten, else every second one and so on. 0 < low <= high.
std::vector<double> logarithmic_ticks(double low, double high, size_t max_steps);

}  // namespace plimsoll::query
