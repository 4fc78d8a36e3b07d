#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>

#include "base/printable.h"
#include "base/time.h"
#include "query/table/table.h"

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

std::string cell_text(const Value& value, std::string_view unit) {
  if (const auto* text = std::get_if<std::string>(&value)) {
    return printable(*text);
  }
  if (const auto* whole = std::get_if<int64_t>(&value)) {
    return unit.empty() ? fmt::format("{}", *whole) : readable(static_cast<double>(*whole), unit);
  }
  if (const auto* real = std::get_if<double>(&value)) {
    return readable(*real, unit);
  }
  return "-";
}

bool is_empty(const Value& value) {
  const auto* text = std::get_if<std::string>(&value);
  return std::holds_alternative<std::monostate>(value) || (text != nullptr && text->empty());
}

bool is_absent(const Table& table, size_t column) {
  return !table.rows.empty() &&
         std::ranges::all_of(table.rows, [column](const auto& row) { return is_empty(row[column]); });
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

std::map<std::string, size_t> margin_kinds(const Table& table) {
  std::map<std::string, size_t> kinds;
  for (size_t column = 0; column < table.columns.size(); ++column) {
    for (const auto& row : table.rows) {
      const auto* kind = is_summed_up(table, column) ? std::get_if<std::string>(&row[column]) : nullptr;
      if (kind != nullptr) {
        ++kinds[*kind];
      }
    }
  }
  return kinds;
}

// Columns that are empty in every row say nothing to people. Text comes last, so that long names need no padding.
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
        fmt::format("{} {:.1f} %{}", printable(binary.binary), binary.share * 100,
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
             : fmt::format("; {:.1f} % without stacks, not in the totals of callers",
                           coverage.stackless_share * 100);
}

Emphasis emphasis_of_verdict(std::string_view verdict) {
  struct Known {
    std::string_view verdict;
    Emphasis emphasis;
  };
  constexpr std::array<Known, 7> kKnown{{{"more", Emphasis::kBad},
                                         {"less", Emphasis::kGood},
                                         {"higher", Emphasis::kBold},
                                         {"lower", Emphasis::kBold},
                                         {"stable", Emphasis::kGood},
                                         {"noisy", Emphasis::kWary},
                                         {"moved", Emphasis::kBad}}};
  const auto known = std::ranges::find(kKnown, verdict, &Known::verdict);
  return known == kKnown.end() ? Emphasis::kFaint : known->emphasis;
}

bool is_verdict(const Table& table, size_t column) {
  return table.columns[column].name.ends_with("verdict");
}

GridCell grid_cell(const Table& table, size_t column, const Value& value) {
  const std::string& unit = table.columns[column].unit;
  if (is_margin(table, column)) {
    const auto* half_width = std::get_if<double>(&value);
    return {half_width == nullptr ? "" : margin_text(*half_width, unit), Emphasis::kFaint};
  }
  if (is_change(table, column)) {
    return {signed_text(value, unit), Emphasis::kNone};
  }
  std::string text = cell_text(value, unit);
  const Emphasis emphasis = is_verdict(table, column) ? emphasis_of_verdict(text) : Emphasis::kNone;
  return {std::move(text), emphasis};
}

GridColumn grid_column(const Table& table, size_t column) {
  const bool margin = is_margin(table, column);
  GridColumn made{.header = {margin ? "±" : printable(table.columns[column].name), Emphasis::kBold},
                  .cells = {},
                  .is_text = table.columns[column].unit.empty(),
                  .is_margin = margin,
                  .priority = table.columns[column].priority};
  for (const auto& row : table.rows) {
    made.cells.push_back(grid_cell(table, column, row[column]));
  }
  return made;
}

// Eighths of a character, as long as the share is of `whole`.
std::string bar(double share, double whole) {
  constexpr double kWidth = 10;
  constexpr std::array<std::string_view, 8> kParts{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const auto eighths =
      static_cast<size_t>(std::clamp(std::round(share / whole * kWidth * 8), 0.0, kWidth * 8));
  std::string drawn;
  for (size_t i = 0; i < eighths / 8; ++i) {
    drawn += "█";
  }
  return drawn += kParts.at(eighths % 8);
}

// Of the first column of shares, where the table ranks by it: the longest is the largest share. Comparisons have none, as
// the share of one side says nothing about the change; beside a sparkline a bar would read as a part of it.
std::optional<GridColumn> bars(const Table& table, const std::vector<size_t>& shown) {
  const bool has_another_picture = std::ranges::any_of(shown, [&](size_t column) {
    return is_change(table, column) || table.columns[column].unit == kSparklineUnit;
  });
  const auto first = std::ranges::find_if(shown, [&](size_t column) {
    return table.columns[column].unit == "share" && !is_margin(table, column);
  });
  if (has_another_picture || first == shown.end()) {
    return std::nullopt;
  }
  const auto share_of = [&](const std::vector<Value>& row) {
    const auto* share = std::get_if<double>(&row[*first]);
    return share == nullptr ? 0 : *share;
  };
  double largest = 0;
  for (const auto& row : table.rows) {
    largest = std::max(largest, share_of(row));
  }
  if (largest <= 0) {
    return std::nullopt;
  }
  GridColumn made{.header = {}, .cells = {}, .is_text = true, .is_ornament = true};
  for (const auto& row : table.rows) {
    made.cells.push_back({bar(share_of(row), largest), Emphasis::kNone});
  }
  return made;
}

}  // namespace

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

std::string margin_text(double margin, std::string_view unit) {
  return unit == "share" ? fmt::format("±{:.2f}", margin * 100) : "±" + readable(margin, unit);
}

// Kinds as statistics::margin_kind_name() has them, with what a reader has to know of such values.
std::string margins_text(const std::map<std::string, size_t>& kinds) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kLimits{
      {{"few machines", "rest on few machines"},
       {"within machines", "cover sampling noise within machines only"},
       {"within one machine", "cover sampling noise on one machine only"},
       {"too few machines", "have none (too few machines)"},
       {"too few samples", "have none (too few samples)"},
       {"no samples", "have none (no samples)"}}};
  std::vector<std::string> limits;
  for (const auto& [kind, what] : kLimits) {
    if (const auto found = kinds.find(std::string(kind)); found != kinds.end()) {
      limits.push_back(fmt::format("{} {}", found->second, what));
    }
  }
  return kinds.empty() ? ""
                       : fmt::format("± is a 95 % margin{}{}.\n", limits.empty() ? "" : "; of the values, ",
                                     fmt::join(limits, ", "));
}

std::string coverage_text(std::string_view event, const Coverage& coverage) {
  if (coverage.to_ns == 0) {  // no profile: there is no time either
    return fmt::format("{}: no samples\n", printable(event));
  }
  return fmt::format("{}: {} samples, {} lost, of {} of {} machine{}, {} to {}; {:.1f} % without symbols{}\n",
                     printable(event), coverage.samples, coverage.lost, coverage.machines_drawn,
                     coverage.machines_live, coverage.machines_live == 1 ? "" : "s",
                     format_time(coverage.from_ns / kNsPerSecond * kNsPerSecond),
                     format_time(coverage.to_ns / kNsPerSecond * kNsPerSecond),
                     coverage.unsymbolized_share * 100, stackless_text(coverage)) +
         unsymbolized_text(coverage);
}

std::string to_text(const Table& table, const TextStyle& style) {
  const std::vector<size_t> shown = shown_columns(table);
  std::vector<GridColumn> columns;
  for (const size_t column : shown) {
    columns.push_back(grid_column(table, column));
  }
  if (auto drawn = style.width == 0 ? std::nullopt : bars(table, shown)) {
    const auto first_text = std::ranges::find(columns, true, &GridColumn::is_text);
    columns.insert(first_text, *std::move(drawn));
  }
  const Grid grid = to_grid(std::move(columns), style);
  std::string text;
  for (const std::string& note : table.notes) {
    text += "note: " + printable(note) + "\n";
  }
  text += table.event.empty() ? "" : coverage_text(table.event, table.coverage);
  text += grid.text;
  if (!grid.left_out.empty()) {
    text += fmt::format("hidden columns (terminal too narrow): {}{}\n", fmt::join(grid.left_out, ", "),
                        table.is_for_text_only ? "" : "; --csv and --json have all columns");
  }
  return text + margins_text(margin_kinds(table));
}
}  // namespace plimsoll::query
