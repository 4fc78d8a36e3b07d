#include "query/table/values.h"

#include <algorithm>

namespace plimsoll::query {

Result<size_t> find_column(const Table& table, std::string_view name) {
  const auto found = std::ranges::find(table.columns, name, &TableColumn::name);
  return found != table.columns.end()
             ? Result<size_t>(static_cast<size_t>(found - table.columns.begin()))
             : fail(ErrorCode::kCorrupt, "the result has no column \"{}\": is the server another version?",
                    name);
}

std::optional<double> number_in(const Value& value) {
  if (const auto* real = std::get_if<double>(&value)) {
    return *real;
  }
  const auto* whole = std::get_if<int64_t>(&value);
  return whole != nullptr ? std::optional(static_cast<double>(*whole)) : std::nullopt;
}

std::string text_in(const Value& value) {
  const auto* text = std::get_if<std::string>(&value);
  return text != nullptr ? *text : std::string();
}

}  // namespace plimsoll::query
