// How tables show an estimate: in columns beside its value.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "query/table/table.h"
#include "statistics/estimate.h"

namespace plimsoll::query {

Value value_or_absent(std::optional<double> value);
Value count_or_absent(std::optional<size_t> count);

// X_margin, X_low, X_high, in the unit of `x`, and a column called `kind_name`: what the margin is made of, or why there is none.
void add_estimate_columns(const TableColumn& x, const std::string& kind_name,
                          std::vector<TableColumn>& columns);

// Their values. Null: no margins were asked for; all are absent.
void add_estimate(const statistics::Estimate* estimate, std::vector<Value>& row);

}  // namespace plimsoll::query
