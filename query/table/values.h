// Reading a table of unknown origin: a server may be another version.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "query/table/table.h"

namespace plimsoll::query {

// The place of the column of that name; kCorrupt where there is none.
Result<size_t> find_column(const Table& table, std::string_view name);

// Whole or not; nothing for texts and what is absent.
std::optional<double> number_in(const Value& value);
// Empty for numbers and what is absent.
std::string text_in(const Value& value);

}  // namespace plimsoll::query
