#include "query/rows/estimate_columns.h"

namespace plimsoll::query {

Value value_or_absent(std::optional<double> value) {
  return value ? Value(*value) : Value();
}

Value count_or_absent(std::optional<size_t> count) {
  return count ? Value(static_cast<int64_t>(*count)) : Value();
}

void add_estimate_columns(const TableColumn& x, const std::string& kind_name,
                          std::vector<TableColumn>& columns) {
  for (const char* end : {"_margin", "_low", "_high"}) {
    columns.push_back({x.name + end, x.unit});
  }
  columns.push_back({kind_name, ""});
}

void add_estimate(const statistics::Estimate* estimate, std::vector<Value>& row) {
  if (estimate == nullptr) {
    row.resize(row.size() + 4);
    return;
  }
  for (const std::optional<double>& value : {estimate->margin, estimate->low, estimate->high}) {
    row.push_back(value_or_absent(value));
  }
  row.emplace_back(std::string(statistics::margin_kind_name(estimate->margin_kind)));
}

}  // namespace plimsoll::query
