#include "symbolizer/dwarf/unit_rows.h"

#include <dwarf.h>

namespace plimsoll::symbolizer {
namespace {

void read_lines(const UnitSet::Member& linked, CodeBudget& budget, UnitRows& result) {
  const UnitAttributes& attributes = linked.attributes;
  if (!attributes.has_line_table) {
    return;
  }
  auto lines = LineTable::read(attributes.line_table, linked.unit, attributes.directory, budget.line_rows);
  if (lines) {
    result.lines = std::move(*lines);
  } else {
    result.problems.push_back(lines.error().text());
    result.is_damaged = true;
  }
}

}  // namespace

UnitRows read_unit_rows(const UnitSet::Member& linked, const UnitSet::Member& described,
                        const std::function<bool(uint64_t from)>& is_code, CodeBudget& budget) {
  UnitRows result;
  if (linked.attributes.tag == DW_TAG_compile_unit || linked.attributes.tag == DW_TAG_skeleton_unit) {
    read_lines(linked, budget, result);
  }
  UnitCode code = read_unit_code(described.unit, budget);
  if (!code.damage.empty()) {
    result.problems.push_back(std::move(code.damage));
    result.is_damaged = true;
  }
  result.scopes = std::move(code.scopes);
  result.names = std::move(code.names);
  const LineTable* const lines = result.lines ? &*result.lines : nullptr;
  result.rows = clip(flatten(std::move(code.ranges), lines, is_code), linked.attributes.ranges);
  return result;
}

}  // namespace plimsoll::symbolizer
