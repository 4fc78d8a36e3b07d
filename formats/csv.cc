#include "formats/csv.h"

#include <algorithm>
#include <set>

namespace plimsoll::formats {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

// Takes rows off a text.
class CsvReader {
 public:
  explicit CsvReader(std::string_view text) : rest_(text) {}

  bool is_at_end() const { return rest_.empty(); }

  Result<CsvTable::Row> next() {
    CsvTable::Row row{.line = line_, .fields = {}};
    while (true) {
      auto field = next_field();
      if (!field) {
        return propagate(field);
      }
      row.fields.push_back(std::move(*field));
      if (!take(",")) {
        break;
      }
    }
    take("\r");
    if (!rest_.empty() && !take("\n")) {
      return fail(ErrorCode::kCorrupt, "line {}: text after the end of a field", line_);
    }
    ++line_;
    return row;
  }

 private:
  bool take(std::string_view text) {
    const bool is_there = rest_.starts_with(text);
    rest_.remove_prefix(is_there ? text.size() : 0);
    return is_there;
  }

  Result<std::string> next_field() {
    if (take("\"")) {
      return rest_of_quoted();
    }
    const size_t end = std::min(rest_.find_first_of(",\r\n"), rest_.size());
    std::string field(rest_.substr(0, end));
    rest_.remove_prefix(end);
    return field;
  }

  Result<std::string> rest_of_quoted() {
    const uint64_t first_line = line_;
    std::string field;
    while (true) {
      const size_t quote = rest_.find('"');
      if (quote == std::string_view::npos) {
        return fail(ErrorCode::kCorrupt, "line {}: unterminated quote", first_line);
      }
      const std::string_view part = rest_.substr(0, quote);
      line_ += static_cast<uint64_t>(std::ranges::count(part, '\n'));
      field += part;
      rest_.remove_prefix(quote + 1);
      if (!take("\"")) {
        return field;
      }
      field += '"';
    }
  }

  std::string_view rest_;
  uint64_t line_ = 1;
};

bool is_empty_line(const CsvTable::Row& row) {
  return row.fields.size() == 1 && row.fields[0].empty();
}

Status check_columns(const CsvTable& table) {
  std::set<std::string_view> seen;
  for (const std::string& column : table.columns) {
    if (!seen.insert(column).second) {
      return fail(ErrorCode::kCorrupt, "two columns are named \"{}\"", column);
    }
  }
  return {};
}

}  // namespace

std::optional<size_t> CsvTable::column(std::string_view name) const {
  const auto found = std::ranges::find(columns, name);
  return found == columns.end() ? std::nullopt : std::optional(static_cast<size_t>(found - columns.begin()));
}

Result<CsvTable> read_csv(std::string_view text) {
  if (text.starts_with(kByteOrderMark)) {
    text.remove_prefix(kByteOrderMark.size());
  }
  CsvTable table;
  for (CsvReader reader(text); !reader.is_at_end();) {
    auto row = reader.next();
    if (!row) {
      return propagate(row);
    }
    if (is_empty_line(*row)) {
      continue;
    }
    if (table.columns.empty()) {
      table.columns = std::move(row->fields);
      if (auto checked = check_columns(table); !checked) {
        return propagate(checked);
      }
      continue;
    }
    if (row->fields.size() != table.columns.size()) {
      return fail(ErrorCode::kCorrupt, "line {}: {} fields, the header has {}", row->line, row->fields.size(),
                  table.columns.size());
    }
    table.rows.push_back(std::move(*row));
  }
  return table;
}

}  // namespace plimsoll::formats
