#include "query/table/table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "base/time.h"

namespace plimsoll::query {
namespace {

struct Scale {
  double factor;
  std::string_view suffix;
};

constexpr std::array<Scale, 4> kTimes{{{1e9, " s"}, {1e6, " ms"}, {1e3, " us"}, {1, " ns"}}};
constexpr std::array<Scale, 4> kBytes{
    {{1U << 30U, " GiB"}, {1U << 20U, " MiB"}, {1U << 10U, " KiB"}, {1, " B"}}};
constexpr std::array<Scale, 4> kCounts{{{1e9, " G"}, {1e6, " M"}, {1e3, " k"}, {1, ""}}};

constexpr std::string_view kPerSecond = "/s";

// Names come from outside, and must not command the terminal.
std::string without_controls(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }, ' ');
  return text;
}

std::string cell_text(const Value& value, std::string_view unit) {
  if (const auto* text = std::get_if<std::string>(&value)) {
    return without_controls(*text);
  }
  if (const auto* whole = std::get_if<int64_t>(&value)) {
    return unit.empty() ? fmt::format("{}", *whole) : readable(static_cast<double>(*whole), unit);
  }
  if (const auto* real = std::get_if<double>(&value)) {
    return readable(*real, unit);
  }
  return "-";
}

std::string csv_cell(const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) {
    if (text->find_first_of(",\"\r\n") == std::string::npos) {
      return *text;
    }
    std::string quoted = "\"";
    for (const char c : *text) {
      quoted += c == '"' ? "\"\"" : std::string(1, c);
    }
    return quoted + "\"";
  }
  if (const auto* whole = std::get_if<int64_t>(&value)) {
    return fmt::format("{}", *whole);
  }
  if (const auto* real = std::get_if<double>(&value)) {
    return fmt::format("{}", *real);
  }
  return {};
}

// Terminals count characters, not bytes: those that do not continue a UTF-8 sequence.
size_t width_of(std::string_view text) {
  return static_cast<size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80; }));
}

// Names of templates run to hundreds of characters; within a line they must leave room for what follows.
constexpr size_t kWidestInnerText = 60;

std::string clip(const std::string& text) {
  if (width_of(text) <= kWidestInnerText) {
    return text;
  }
  std::string clipped;
  for (size_t i = 0, width = 0; width < kWidestInnerText; ++i) {
    width += (static_cast<unsigned char>(text[i + 1]) & 0xC0U) != 0x80 ? 1 : 0;
    clipped += text[i];
  }
  return clipped + "…";
}

std::string pad(const std::string& text, size_t width, bool to_the_left) {
  const std::string spaces(width - std::min(width, width_of(text)), ' ');
  return to_the_left ? spaces + text : text + spaces;
}

bool is_absent(const Table& table, size_t column) {
  return !table.rows.empty() && std::ranges::all_of(table.rows, [&](const auto& row) {
    return std::holds_alternative<std::monostate>(row[column]);
  });
}

bool has_column(const Table& table, std::string_view name) {
  return std::ranges::find(table.columns, name, &TableColumn::name) != table.columns.end();
}

// Whether the column is `suffix` of another one.
bool is_of_another(const Table& table, size_t column, std::string_view suffix) {
  const std::string_view name = table.columns[column].name;
  return name.ends_with(suffix) && has_column(table, name.substr(0, name.size() - suffix.size()));
}

// It stands behind its value: "12.30 % ±0.41".
bool is_margin(const Table& table, size_t column) {
  return is_of_another(table, column, "_margin");
}

// What margins are made of: summed up below the table.
bool is_summed_up(const Table& table, size_t column) {
  return table.columns[column].name.ends_with("_margin_kind");
}

// The ends of an interval say hardly more than its margin.
bool is_for_people(const Table& table, size_t column) {
  return !is_absent(table, column) && !is_summed_up(table, column) && !is_of_another(table, column, "_low") &&
         !is_of_another(table, column, "_high");
}

bool is_change(const Table& table, size_t column) {
  return table.columns[column].name.ends_with("_change");
}

std::string signed_text(const Value& value, std::string_view unit) {
  const auto* change = std::get_if<double>(&value);
  return (change != nullptr && *change > 0 ? "+" : "") + cell_text(value, unit);
}

std::string margin_text(const Value& value, std::string_view unit) {
  const auto* margin = std::get_if<double>(&value);
  if (margin == nullptr) {
    return "";
  }
  return unit == "share" ? fmt::format("±{:.2f}", *margin * 100) : "±" + readable(*margin, unit);
}

// "±: 95 % margins; 38 between machines, 2 too few samples".
std::string margins_text(const Table& table) {
  std::map<std::string, size_t> kinds;
  for (size_t column = 0; column < table.columns.size(); ++column) {
    for (const auto& row : table.rows) {
      const auto* kind = is_summed_up(table, column) ? std::get_if<std::string>(&row[column]) : nullptr;
      if (kind != nullptr) {
        ++kinds[*kind];
      }
    }
  }
  std::vector<std::string> counts;
  for (const auto& [kind, count] : kinds) {
    counts.push_back(kinds.size() == 1 ? "all " + kind : fmt::format("{} {}", count, kind));
  }
  return counts.empty() ? "" : fmt::format("±: 95 % margins; {}\n", fmt::join(counts, ", "));
}

// Columns in which every row is absent say nothing to people. Text comes last, so that long names need no padding.
std::vector<size_t> shown_columns(const Table& table) {
  std::vector<size_t> numbers;
  std::vector<size_t> texts;
  for (size_t column = 0; column < table.columns.size(); ++column) {
    if (is_for_people(table, column)) {
      (table.columns[column].unit.empty() ? texts : numbers).push_back(column);
    }
  }
  numbers.insert(numbers.end(), texts.begin(), texts.end());
  return numbers;
}

// "no symbols for: gzip 19.2 % (build ID ...), ...": those that a reader would notice.
std::string unsymbolized_text(const Coverage& coverage) {
  constexpr size_t kMaxNamed = 3;
  constexpr double kNoticeable = 0.0005;
  std::vector<std::string> named;
  size_t more = 0;
  for (const UnsymbolizedBinary& binary : coverage.unsymbolized_by) {
    if (binary.share < kNoticeable || named.size() == kMaxNamed) {
      more += binary.share < kNoticeable ? 0 : 1;
      continue;
    }
    named.push_back(
        fmt::format("{} {:.1f} %{}", without_controls(binary.binary), binary.share * 100,
                    binary.build_id.empty() ? "" : fmt::format(" (build ID {})", binary.build_id)));
  }
  if (named.empty()) {
    return "";
  }
  return fmt::format("no symbols for: {}{}\n", fmt::join(named, ", "),
                     more == 0 ? "" : fmt::format(", and {} more", more));
}

std::string stackless_text(const Coverage& coverage) {
  return coverage.stackless_share == 0
             ? std::string()
             : fmt::format("; {:.1f} % without stacks, which count in no caller's total",
                           coverage.stackless_share * 100);
}

}  // namespace

size_t column_of(const Table& table, std::string_view name) {
  return static_cast<size_t>(std::ranges::find(table.columns, name, &TableColumn::name) -
                             table.columns.begin());
}

std::string readable(double value, std::string_view unit) {
  if (unit == "share") {
    return fmt::format("{:.2f} %", value * 100);
  }
  if (unit.ends_with(kPerSecond)) {
    return readable(value, unit.substr(0, unit.size() - kPerSecond.size())) + std::string(kPerSecond);
  }
  const auto& scales = unit == "ns" ? kTimes : unit == "bytes" ? kBytes : kCounts;
  const auto fitting =
      std::ranges::find_if(scales, [&](const Scale& scale) { return std::abs(value) >= scale.factor; });
  const Scale& scale = fitting == scales.end() ? scales.back() : *fitting;
  return fmt::format("{:.4g}{}", value / scale.factor, scale.suffix);
}

std::string coverage_text(std::string_view event, const Coverage& coverage) {
  return fmt::format("{}: {} samples, {} lost, of {} of {} machine{}, {} to {}; {:.1f} % without symbols{}\n",
                     without_controls(std::string(event)), coverage.samples, coverage.lost,
                     coverage.machines_drawn, coverage.machines_live, coverage.machines_live == 1 ? "" : "s",
                     format_time(coverage.from_ns / kNsPerSecond * kNsPerSecond),
                     format_time(coverage.to_ns / kNsPerSecond * kNsPerSecond),
                     coverage.unsymbolized_share * 100, stackless_text(coverage)) +
         unsymbolized_text(coverage);
}

std::string to_text(const Table& table) {
  const std::vector<size_t> shown = shown_columns(table);
  std::vector<std::vector<std::string>> lines(1);
  for (const size_t column : shown) {
    lines[0].push_back(is_margin(table, column) ? "±" : table.columns[column].name);
  }
  for (const auto& row : table.rows) {
    auto& line = lines.emplace_back();
    for (const size_t column : shown) {
      const std::string& unit = table.columns[column].unit;
      const std::string text = is_margin(table, column)   ? margin_text(row[column], unit)
                               : is_change(table, column) ? signed_text(row[column], unit)
                                                          : cell_text(row[column], unit);
      line.push_back(column == shown.back() ? text : clip(text));
    }
  }
  std::vector<size_t> widths(shown.size());
  for (const auto& line : lines) {
    for (size_t i = 0; i < line.size(); ++i) {
      widths[i] = std::max(widths[i], width_of(line[i]));
    }
  }
  std::string text;
  for (const std::string& note : table.notes) {
    text += "note: " + without_controls(note) + "\n";
  }
  text += table.event.empty() ? "" : coverage_text(table.event, table.coverage);
  for (const auto& line : lines) {
    std::string row;
    for (size_t i = 0; i < line.size(); ++i) {
      const bool is_number = !table.columns[shown[i]].unit.empty();
      const bool is_last = i + 1 == line.size();
      const std::string_view gap = is_last ? "" : is_margin(table, shown[i + 1]) ? " " : "  ";
      row += is_last && !is_number ? line[i] : pad(line[i], widths[i], is_number).append(gap);
    }
    text += row + "\n";
  }
  return text + margins_text(table);
}

std::string to_csv(const Table& table) {
  std::string text;
  for (size_t i = 0; i < table.columns.size(); ++i) {
    text += (i == 0 ? "" : ",") + csv_cell(table.columns[i].name);
  }
  text += "\r\n";
  for (const auto& row : table.rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      text += (i == 0 ? "" : ",") + csv_cell(row[i]);
    }
    text += "\r\n";
  }
  return text;
}

std::string to_form(const Table& table, TableForm form) {
  switch (form) {
    case TableForm::kText:
      return to_text(table);
    case TableForm::kJson:
      return to_json(table);
    case TableForm::kCsv:
      return to_csv(table);
  }
  return {};
}

}  // namespace plimsoll::query
