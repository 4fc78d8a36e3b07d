#include "formats/csv.h"

#include <algorithm>
#include <deque>
#include <set>

namespace plimsoll::formats {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

// Takes rows off a text.
class CsvReader {
 public:
  explicit CsvReader(std::string_view text) : rest_(text) {}

  bool is_at_end() const { return rest_.empty(); }
  uint64_t line() const { return row_line_; }  // where the row began that next() gave

  // Borrowed until the next call.
  Result<std::span<const std::string_view>> next() {
    row_line_ = line_;
    fields_.clear();
    unquoted_.clear();
    while (true) {
      const auto field = next_field();
      if (!field) {
        return propagate(field);
      }
      fields_.push_back(*field);
      if (!take(",")) {
        break;
      }
    }
    take("\r");
    if (!rest_.empty() && !take("\n")) {
      return fail(ErrorCode::kCorrupt, "line {}: text after the end of a field", line_);
    }
    ++line_;
    return fields_;
  }

 private:
  bool take(std::string_view text) {
    const bool is_there = rest_.starts_with(text);
    rest_.remove_prefix(is_there ? text.size() : 0);
    return is_there;
  }

  Result<std::string_view> next_field() {
    if (take("\"")) {
      return rest_of_quoted();
    }
    size_t end = 0;
    while (end < rest_.size() && rest_[end] != ',' && rest_[end] != '\n' && rest_[end] != '\r') {
      ++end;
    }
    const std::string_view field = rest_.substr(0, end);
    rest_.remove_prefix(end);
    return field;
  }

  Result<std::string_view> rest_of_quoted() {
    const uint64_t first_line = line_;
    std::string& field = unquoted_.emplace_back();
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
  std::vector<std::string_view> fields_;
  std::deque<std::string> unquoted_;  // which fields_ refer to
  uint64_t line_ = 1;
  uint64_t row_line_ = 1;
};

Status check_columns(std::span<const std::string_view> columns) {
  std::set<std::string_view> seen;
  for (const std::string_view column : columns) {
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

Status for_each_csv_row(std::string_view text, const TakeCsvRow& take) {
  if (text.starts_with(kByteOrderMark)) {
    text.remove_prefix(kByteOrderMark.size());
  }
  size_t columns = 0;
  for (CsvReader reader(text); !reader.is_at_end();) {
    const auto row = reader.next();
    if (!row) {
      return propagate(row);
    }
    if (row->size() == 1 && row->front().empty()) {
      continue;
    }
    if (columns == 0) {
      columns = row->size();
      if (auto checked = check_columns(*row); !checked) {
        return checked;
      }
    }
    if (row->size() != columns) {
      return fail(ErrorCode::kCorrupt, "line {}: {} fields, the header has {}", reader.line(), row->size(),
                  columns);
    }
    if (auto taken = take(reader.line(), *row); !taken) {
      return taken;
    }
  }
  return {};
}

Result<CsvTable> read_csv(std::string_view text) {
  CsvTable table;
  const auto take = [&table](uint64_t line, std::span<const std::string_view> fields) -> Status {
    if (table.columns.empty()) {
      table.columns.assign(fields.begin(), fields.end());
    } else {
      table.rows.push_back({line, {fields.begin(), fields.end()}});
    }
    return {};
  };
  if (auto read = for_each_csv_row(text, take); !read) {
    return propagate(read);
  }
  return table;
}

}  // namespace plimsoll::formats
