// What views have in common: the parameters that say what a view is about, as they stand on a command line or in a URL's
// query.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "query/selection/selection.h"

namespace plimsoll::query {

// Names and texts in the order in which they came; a name may come more than once.
using Parameters = std::vector<std::pair<std::string, std::string>>;

// Takes one of event, where, since, until: true. False for any other name; kInvalid, with that field, for a text that
// does not fit. Relative times count from `now_ns`.
Result<bool> add_to_selection(std::string_view name, const std::string& text, int64_t now_ns,
                              Selection& selection);

// kInvalid where the time range is empty.
Status check_selection(const Selection& selection);

// Appends the dimensions of a list, "function,file".
Status add_dimensions(std::string_view list, std::vector<Dimension>& by);

// A whole number from 1 to `max`.
Result<size_t> parse_count(std::string_view name, std::string_view text, size_t max);
Status set_count(std::string_view name, std::string_view text, size_t max, size_t& count);

// "yes" or "no".
Status set_flag(std::string_view name, std::string_view text, bool& flag);

// A number above `low`, up to `high`.
Result<double> parse_number(std::string_view name, std::string_view text, double low, double high);

// A share, "0.5%" or "0.005", from 0 to 1.
Result<double> parse_share(std::string_view name, std::string_view text);

// For a name that is none of `known`: names the nearest, or all.
std::unexpected<Error> unknown_parameter(std::string_view name, std::span<const std::string_view> known);

}  // namespace plimsoll::query
