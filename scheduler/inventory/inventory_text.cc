#include "scheduler/inventory/inventory_text.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "base/printable.h"
#include "formats/csv.h"

namespace plimsoll::scheduler {
namespace {

using Json = nlohmann::json;
using store::InventoryMachine;

constexpr size_t kMostBytesOfName = 128;

struct Column {
  const char* name;
  std::string InventoryMachine::* member;
};

constexpr std::array kColumns{
    Column{"machine", &InventoryMachine::id},        Column{"datacenter", &InventoryMachine::datacenter},
    Column{"cluster", &InventoryMachine::cluster},   Column{"rack", &InventoryMachine::rack},
    Column{"platform", &InventoryMachine::platform}, Column{"owner", &InventoryMachine::owner},
};

Result<std::vector<InventoryMachine>> from_csv(std::string_view text) {
  const auto table = formats::read_csv(text);
  if (!table) {
    return propagate(table);
  }
  if (!table->column("machine")) {
    return with_hint(fail(ErrorCode::kInvalid, "no column is called \"machine\""),
                     "the first line names the columns: machine,datacenter,cluster,rack,platform,owner");
  }
  std::vector<InventoryMachine> machines;
  for (const formats::CsvTable::Row& row : table->rows) {
    InventoryMachine& machine = machines.emplace_back();
    for (const Column& column : kColumns) {
      if (const auto place = table->column(column.name)) {
        machine.*column.member = row.fields[*place];
      }
    }
  }
  return machines;
}

Result<std::vector<InventoryMachine>> from_json(std::string_view text) {
  const Json document = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!document.is_array()) {
    return fail(ErrorCode::kCorrupt, "this is no JSON list");
  }
  std::vector<InventoryMachine> machines;
  for (const Json& object : document) {
    InventoryMachine& machine = machines.emplace_back();
    for (const Column& column : kColumns) {
      const auto value = object.is_object() ? object.find(column.name) : object.end();
      if (value == object.end() || value->is_null()) {
        continue;
      }
      if (!value->is_string()) {
        return fail(ErrorCode::kInvalid, "entry {}: {} is not a text", machines.size(), column.name);
      }
      machine.*column.member = value->get<std::string>();
    }
  }
  return machines;
}

Status check(const std::vector<InventoryMachine>& machines) {
  std::set<std::string_view> ids;
  for (const InventoryMachine& machine : machines) {
    if (machine.id.empty()) {
      return fail(ErrorCode::kInvalid, "entry {}: it does not name its machine",
                  &machine - machines.data() + 1);
    }
    for (const Column& column : kColumns) {
      const std::string& text = machine.*column.member;
      if (text.size() > kMostBytesOfName || printable(text) != text) {
        return fail(ErrorCode::kInvalid, "machine {}: {} is to be at most {} printable bytes",
                    printable(machine.id), column.name, kMostBytesOfName);
      }
    }
    if (!ids.insert(machine.id).second) {
      return fail(ErrorCode::kInvalid, "machine {} is there twice", machine.id);
    }
  }
  return {};
}

}  // namespace

Result<std::vector<InventoryMachine>> parse_inventory(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r\n");
  const bool is_json = begin != std::string_view::npos && (text[begin] == '[' || text[begin] == '{');
  auto machines = is_json ? from_json(text) : from_csv(text);
  const Status checked = machines ? check(*machines) : propagate(machines);
  return checked ? std::move(machines) : propagate(checked);
}

}  // namespace plimsoll::scheduler
