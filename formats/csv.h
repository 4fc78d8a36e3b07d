// Comma-separated values (RFC 4180), with a line of names first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace plimsoll::formats {

struct CsvTable {
  struct Row {
    uint64_t line = 0;                // of its beginning, from 1
    std::vector<std::string> fields;  // as many as there are columns
  };

  std::vector<std::string> columns;
  std::vector<Row> rows;

  // The place of a column; nothing: there is none of that name.
  std::optional<size_t> column(std::string_view name) const;
};

// The line of a row's beginning, from 1, and its fields, borrowed for the call.
using TakeCsvRow = std::function<Status(uint64_t line, std::span<const std::string_view> fields)>;

// Calls `take` for each row, that of the names first, until it fails. The rules of read_csv(), without its memory: some 300 MB a second.
Status for_each_csv_row(std::string_view text, const TakeCsvRow& take);

// Fields may stand between quotes, and then have commas, line ends, and quotes twice. Empty lines are left out. kCorrupt, naming the line, for
// rows that are longer or shorter than the first, a quote that does not end, and a name given twice. Takes some times the text's memory.
Result<CsvTable> read_csv(std::string_view text);

}  // namespace plimsoll::formats
