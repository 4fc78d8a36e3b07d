// Records of a file: CSV with a line of names, or JSON, which is an array of objects or an object with one as its "rows".
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace plimsoll::query {

// What a file holds, and what errors call it. Borrowed.
struct NamedSeries {
  std::string name;
  std::string_view text;
};

struct WantedColumn {
  std::string_view name;
  bool is_required = true;
};

// The fields of the wanted columns, in their order; empty for one that is not there. `line` is of CSV; of JSON the number of the record.
using TakeRecord = std::function<Status(uint64_t line, std::span<const std::string_view> fields)>;

// Calls `take` for each record until it fails; errors name the file and the line. JSON takes some ten times the text's memory.
Status for_each_record(const NamedSeries& series, std::span<const WantedColumn> columns,
                       const TakeRecord& take);

// RFC 3339, or seconds since 1970 with a fraction: from 1970 to 9e9 s, so that differences and sums with a step hold in 64 bits.
Result<int64_t> time_field(std::string_view field);
// Finite and at least 0.
Result<double> number_field(std::string_view name, std::string_view field);

}  // namespace plimsoll::query
