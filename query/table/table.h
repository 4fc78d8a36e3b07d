// The answer of a view: a table, what it stands on, and its three forms (text for people, JSON, CSV).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "query/table/text_grid.h"

namespace plimsoll::query {

// Absent (an unknown margin), text, a whole number or a real one.
using Value = std::variant<std::monostate, std::string, int64_t, double>;

struct TableColumn {
  std::string name;
  std::string
      unit;  // "ns", "count", "bytes", or one of them per second ("ns/s"); "share" for fractions of 1; empty for text
  ColumnPriority priority = kUsualPriority;  // in text; not in JSON: who prints sets it (prioritize())
};

// The unit of a column of sparklines (query/table/sparkline.h), in tables that are made for text only: never cut short.
inline constexpr std::string_view kSparklineUnit = "sparkline";

// A binary whose samples lack function names.
struct UnsymbolizedBinary {
  std::string binary;    // its file's name; "[jit]" and the like for code of none
  std::string build_id;  // hexadecimal; "xxh3:..." for a content hash, empty: unknown
  double share = 0;      // of the event's value: leaves in it without a function name
  std::string reason;    // why it has no better symbols; empty: it has
};

// What an answer stands on.
struct Coverage {
  int64_t from_ns = 0;  // wall clock; the windows of the profiles that went in
  int64_t to_ns = 0;
  int64_t machines_drawn = 0;  // that contributed samples or an empty profile
  int64_t machines_live = 0;   // known to the server; those drawn, where none registered
  int64_t samples = 0;         // not hits, where some stand for several; in filtered parts by proportion
  int64_t lost = 0;
  double stackless_share =
      0;  // of the samples: taken without their stack, by the stack rate; their callers are unknown
  double unsymbolized_share = 0;  // of the event's value: leaves without a function name
  std::vector<UnsymbolizedBinary> unsymbolized_by = {};  // the largest shares first, ten at most
};

struct Table {
  std::string event;               // which event the values are of; empty: of none
  std::vector<std::string> notes;  // what a reader should know: events standing in for others
  std::vector<TableColumn> columns;
  std::vector<std::vector<Value>> rows;
  Coverage coverage;
  bool is_for_text_only = false;  // a summary: --csv and --json have other columns
};

// The place of the column of that name, which there must be.
size_t column_of(const Table& table, std::string_view name);

enum class TableForm { kText, kJson, kCsv };

// A value as people read it: "1.25 s", "3 MiB", "12.4 k", "2.50 %".
std::string readable(double value, std::string_view unit);
// Half of an interval's width behind its value: "±0.41" of a share in percent, "±1.2 ms" of a time.
std::string margin_text(double margin, std::string_view unit);
// Below values with margins: "±: 95 % margins; 38 between machines, 2 too few samples", with a line end. Counts by what the margins are
// made of; of none, nothing.
std::string margins_text(const std::map<std::string, size_t>& kinds);
// "cycles: 8451 samples, 0 lost, of 1 of 1 machine, FROM to TO; 39.9 % without symbols", with "; 90.0 % without stacks, ..."
// where some were taken so, and where symbols are missing "no symbols for: gzip 19.2 % (build ID ...), ..."; each with a line end.
std::string coverage_text(std::string_view event, const Coverage& coverage);

// For people: aligned, shares as percentages, values with readable units, and, where the table is about an event, a line
// about the coverage. A column X_margin stands behind its X ("12.30 % ±0.41"), X_low and X_high are left out, and columns
// ..._margin_kind are summed up in a line below. Columns X_change have a sign. On a terminal the first share has bars, unless
// the table compares or has sparklines, and a line below names the columns that did not fit: of those, the least important were left out first.
// Columns that are empty in every row are left out.
std::string to_text(const Table& table, const TextStyle& style = {});
// RFC 4180, with a header line; values unrounded, texts as they are. to_form() makes them fit for spreadsheets first
// (spreadsheet_text()).
std::string to_csv(const Table& table);
// {"event", "notes", "columns": [{"name", "unit"}], "rows": [{column: value}], "coverage": {...}}
std::string to_json(const Table& table);
std::string to_form(const Table& table, TableForm form, const TextStyle& style = {});

// The inverse of to_json(); for answers of a server.
Result<Table> from_json(std::string_view text);

}  // namespace plimsoll::query
