// Descriptions that views have in common.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "query/registry/view.h"

namespace plimsoll::query {

// event
ParameterSpec event_spec();
// where, focus, ignore, hide, since, until
std::vector<ParameterSpec> filter_specs();
// event and the filters.
std::vector<ParameterSpec> selection_specs();
// base_where, new_where, base_since, base_until, new_since, new_until, earlier
std::vector<ParameterSpec> side_specs();

ParameterSpec by_spec(std::string default_value, std::string help = "Dimensions to group by");
ParameterSpec limit_spec(std::string default_value, std::string help = "Rows to show");
ParameterSpec margins_spec();
// share or rate
ParameterSpec measure_spec(std::string help);
ParameterSpec ratio_spec(std::string default_value, std::string help);
// "ipc, cpi, ...", for a ratio's help.
std::string ratio_names();
ParameterSpec at_spec(std::string help);

// One list of several.
std::vector<ParameterSpec> joined(std::initializer_list<std::vector<ParameterSpec>> lists);

ColumnSpec dimension_columns();
// X, and X_margin, X_low, X_high, and a column `kind_name` (default: X_margin_kind).
std::vector<ColumnSpec> estimate_columns(const ColumnSpec& x, const std::string& kind_name = {});
std::vector<ColumnSpec> joined_columns(std::initializer_list<std::vector<ColumnSpec>> lists);

}  // namespace plimsoll::query
