// What views have in common: the parameters that say what a view is about, as they stand on a command line or in a URL's
// query; and how any of them are read.
#pragma once

#include <cstdint>
#include <functional>
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

// One that a view takes: what it is called, and what is done with a text that it is given. That gives kInvalid, with the parameter as its
// field, where the text does not fit.
struct Parameter {
  std::string_view name;
  std::function<Status(const std::string& text)> read;
};

// Hands each text to the parameter of that name; kInvalid with the nearest name, or all, where there is none.
Status read_parameters(const Parameters& parameters, std::span<const Parameter> known);

// The same with those of a selection before a view's own. kInvalid where the time range is empty.
Status read_parameters(const Parameters& parameters, int64_t now_ns, Selection& selection,
                       const std::vector<Parameter>& own);

// Parameters that set what is borrowed here. Relative times count from `now_ns`. Of a selection: event, and its filters: where, focus,
// ignore, hide, since, until.
std::vector<Parameter> selection_parameters(int64_t now_ns, Selection& selection);
std::vector<Parameter> filter_parameters(int64_t now_ns, Selection& selection);
Parameter hide_parameter(Selection& selection);
Parameter where_parameter(Selection& selection);
// Whether a parameter of that name is a filter: where, base_where, new_where, and the arms of an experiment.
bool is_filter(std::string_view parameter);
Parameter since_parameter(int64_t now_ns, Selection& selection);
Parameter until_parameter(int64_t now_ns, Selection& selection);
// Any text.
Parameter text_parameter(std::string_view name, std::string& text);
// "by": dimensions, "function,file".
Parameter by_parameter(std::vector<Dimension>& by);
// Rows of one answer: the most that --limit may ask for where a view has no smaller bound.
inline constexpr size_t kMaxRows = 1'000'000;
// A whole number from 1 to `max`.
Parameter count_parameter(std::string_view name, size_t max, size_t& count);
// "yes" or "no".
Parameter flag_parameter(std::string_view name, bool& flag);
// A number above `low`, up to `high`.
Parameter number_parameter(std::string_view name, double low, double high, double& number);
// A share, "0.5%" or "0.005", from 0 to 1.
Parameter share_parameter(std::string_view name, double& share);
// "5m", "1h"; more than none.
Parameter duration_parameter(std::string_view name, int64_t& duration_ns);

// kInvalid where the time range is empty.
Status check_selection(const Selection& selection);

// kInvalid, with the parameter as its field.
std::unexpected<Error> invalid_parameter(std::string_view name, std::string_view text,
                                         std::string_view wanted);

}  // namespace plimsoll::query
