#include "scheduler/inventory/inventory_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <string>
#include <tuple>

#include "base/printable.h"
#include "formats/csv.h"

namespace plimsoll::scheduler {
namespace {

using Json = nlohmann::json;
using store::InventoryInstance;
using store::InventoryMachine;

constexpr size_t kMaxBytesOfName = 128;

// A CPU quota that no machine has, which a wrong unit makes easily.
constexpr double kMaxNumber = 1e6;

enum class Kind : uint8_t { kText, kNumber };

struct Column {
  const char* name;
  Kind kind = Kind::kText;
  bool is_needed = false;
};

// The texts of an entry, as many as there are columns; empty: it has none.
using Entry = std::vector<std::string>;

Result<std::vector<Entry>> from_csv(std::string_view text, std::span<const Column> columns) {
  const auto table = formats::read_csv(text);
  if (!table) {
    return propagate(table);
  }
  std::string all;
  for (const Column& column : columns) {
    all += (all.empty() ? "" : ",") + std::string(column.name);
  }
  std::vector<Entry> entries(table->rows.size(), Entry(columns.size()));
  for (size_t i = 0; i < columns.size(); ++i) {
    const auto place = table->column(columns[i].name);
    if (!place && columns[i].is_needed) {
      return with_hint(fail(ErrorCode::kInvalid, "no such column: \"{}\"", columns[i].name),
                       "the first line names the columns: " + all);
    }
    for (size_t row = 0; place && row < entries.size(); ++row) {
      entries[row][i] = table->rows[row].fields[*place];
    }
  }
  return entries;
}

Result<std::string> text_of(const Json& value, const Column& column) {
  if (value.is_null()) {
    return std::string();
  }
  if (value.is_string()) {
    return value.get<std::string>();
  }
  const bool is_wanted = column.kind == Kind::kNumber && value.is_number();
  return is_wanted ? value.dump()
                   : Result<std::string>(fail(ErrorCode::kInvalid, "{} is not a {}", column.name,
                                              column.kind == Kind::kNumber ? "number" : "text"));
}

Result<std::vector<Entry>> from_json(std::string_view text, std::span<const Column> columns) {
  const Json document = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!document.is_array()) {
    return fail(ErrorCode::kCorrupt, "not a JSON list");
  }
  std::vector<Entry> entries;
  for (const Json& object : document) {
    Entry& entry = entries.emplace_back(columns.size());
    for (size_t i = 0; i < columns.size() && object.is_object(); ++i) {
      const auto value = object.find(columns[i].name);
      auto read = value == object.end() ? Result<std::string>() : text_of(*value, columns[i]);
      if (!read) {
        return propagate(read, "entry {}", entries.size());
      }
      entry[i] = std::move(*read);
    }
  }
  return entries;
}

Status check(const Entry& entry, std::span<const Column> columns) {
  for (size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].is_needed && entry[i].empty()) {
      return fail(ErrorCode::kInvalid, "{} is missing", columns[i].name);
    }
    if (entry[i].size() > kMaxBytesOfName || printable(entry[i]) != entry[i]) {
      return fail(ErrorCode::kInvalid, "{} must be at most {} printable bytes", columns[i].name,
                  kMaxBytesOfName);
    }
  }
  return {};
}

Result<std::vector<Entry>> read_entries(std::string_view text, std::span<const Column> columns) {
  const size_t begin = text.find_first_not_of(" \t\r\n");
  const bool is_json = begin != std::string_view::npos && (text[begin] == '[' || text[begin] == '{');
  auto entries = is_json ? from_json(text, columns) : from_csv(text, columns);
  if (!entries) {
    return entries;
  }
  for (size_t i = 0; i < entries->size(); ++i) {
    if (auto checked = check((*entries)[i], columns); !checked) {
      const std::string& machine = (*entries)[i].front();
      return propagate(checked, "entry {}{}", i + 1, machine.empty() ? "" : " (" + printable(machine) + ")");
    }
  }
  return entries;
}

// Empty: 0, nothing is said.
Result<double> number_of(std::string_view text, std::string_view what) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_whole = error == std::errc() && end == text.data() + text.size();
  const bool makes_sense = std::isfinite(number) && number >= 0 && number <= kMaxNumber;
  return text.empty() || (is_whole && makes_sense)
             ? Result<double>(number)
             : fail(ErrorCode::kInvalid, "{} must be a number from 0 to {:g}, is \"{}\"", what, kMaxNumber,
                    text);
}

}  // namespace

Result<std::vector<InventoryMachine>> parse_inventory(std::string_view text) {
  constexpr std::array kColumns{Column{"machine", Kind::kText, true},
                                Column{"datacenter"},
                                Column{"cluster"},
                                Column{"rack"},
                                Column{"platform"},
                                Column{"owner"}};
  auto entries = read_entries(text, kColumns);
  if (!entries) {
    return propagate(entries);
  }
  std::vector<InventoryMachine> machines;
  std::set<std::string> seen;
  for (Entry& entry : *entries) {
    if (!seen.insert(entry[0]).second) {
      return fail(ErrorCode::kInvalid, "machine {} is listed twice", entry[0]);
    }
    machines.push_back({.id = std::move(entry[0]),
                        .datacenter = std::move(entry[1]),
                        .cluster = std::move(entry[2]),
                        .rack = std::move(entry[3]),
                        .platform = std::move(entry[4]),
                        .owner = std::move(entry[5])});
  }
  return machines;
}

Result<std::vector<InventoryInstance>> parse_inventory_instances(std::string_view text) {
  constexpr std::array kColumns{Column{"machine", Kind::kText, true}, Column{"job", Kind::kText, true},
                                Column{"instance"}, Column{"quota_cpus", Kind::kNumber},
                                Column{"weight", Kind::kNumber}};
  auto entries = read_entries(text, kColumns);
  if (!entries) {
    return propagate(entries);
  }
  std::vector<InventoryInstance> instances;
  std::set<std::tuple<std::string, std::string, std::string>> seen;
  for (Entry& entry : *entries) {
    const auto quota_cpus = number_of(entry[3], "quota_cpus");
    const auto weight = number_of(entry[4], "weight");
    if (!quota_cpus || !weight) {
      return propagate(!quota_cpus ? quota_cpus : weight, "entry {} ({} of {})", instances.size() + 1,
                       entry[1], entry[0]);
    }
    if (!seen.emplace(entry[0], entry[1], entry[2]).second) {
      return fail(ErrorCode::kInvalid, "instance \"{}\" of {} on {} is listed twice", entry[2], entry[1],
                  entry[0]);
    }
    instances.push_back(
        {std::move(entry[0]), std::move(entry[1]), std::move(entry[2]), *quota_cpus, *weight});
  }
  return instances;
}

}  // namespace plimsoll::scheduler
