#include "query/registry/common_parameters.h"

#include <fmt/ranges.h>

#include <iterator>
#include <ranges>
#include <utility>

#include "query/snapshot/event_pair.h"

namespace plimsoll::query {
namespace {

template <typename Spec>
std::vector<Spec> joined_lists(std::initializer_list<std::vector<Spec>> lists) {
  std::vector<Spec> all;
  for (const std::vector<Spec>& list : lists) {
    all.insert(all.end(), list.begin(), list.end());
  }
  return all;
}

}  // namespace

ParameterSpec event_spec() {
  return {"event", ValueKind::kEvent, "Event to count (default: cycles, or cpu-clock)", ""};
}

std::vector<ParameterSpec> filter_specs() {
  return {
      {"where", ValueKind::kPredicate,
       "Filter: dim=a, dim!=a, dim=~regex, dim!~regex, \"dim in a,b\"; all filters given must match", "",
       true},
      {"focus", ValueKind::kRegex, "Keep only stacks with a frame whose function, file or binary matches", "",
       true},
      {"ignore", ValueKind::kRegex, "Drop stacks with a frame that matches", "", true},
      {"hide", ValueKind::kRegex,
       "Remove frames that match from their stacks; none: show the allocator's frames in heap profiles too",
       "", true},
      {"since", ValueKind::kTime, "Start of the time range: RFC 3339, or an age such as 1h", ""},
      {"until", ValueKind::kTime, "End of the time range: RFC 3339, or an age such as 1h", ""},
  };
}

std::vector<ParameterSpec> selection_specs() {
  return joined({{event_spec()}, filter_specs()});
}

std::vector<ParameterSpec> side_specs() {
  return {
      {"base_where", ValueKind::kPredicate, "Filter of the base side only", "", true},
      {"new_where", ValueKind::kPredicate, "Filter of the new side only", "", true},
      {"base_since", ValueKind::kTime, "Start of the base side", ""},
      {"base_until", ValueKind::kTime, "End of the base side", ""},
      {"new_since", ValueKind::kTime, "Start of the new side", ""},
      {"new_until", ValueKind::kTime, "End of the new side", ""},
      {"earlier", ValueKind::kDuration,
       "Compare with the time range of the same length this long before (requires --since)", ""},
  };
}

ParameterSpec by_spec(std::string default_value, std::string help) {
  return {"by", ValueKind::kDimensions, std::move(help), std::move(default_value)};
}

ParameterSpec limit_spec(std::string default_value, std::string help) {
  return {"limit", ValueKind::kCount, std::move(help), std::move(default_value)};
}

ParameterSpec margins_spec() {
  return {"margins", ValueKind::kFlag, "Leave out margins of error, which take a second pass over the rows",
          "yes"};
}

ParameterSpec measure_spec(std::string help) {
  return {.name = "measure",
          .kind = ValueKind::kChoice,
          .help = std::move(help),
          .default_value = "share",
          .choices = {"share", "rate"}};
}

ParameterSpec ratio_spec(std::string default_value, std::string help) {
  return {"ratio", ValueKind::kRatio, std::move(help), std::move(default_value)};
}

std::string ratio_names() {
  return fmt::format("{}", fmt::join(std::views::transform(named_ratios(), &NamedRatio::name), ", "));
}

ParameterSpec at_spec(std::string help) {
  return {"at", ValueKind::kTime, std::move(help), ""};
}

std::vector<ParameterSpec> joined(std::initializer_list<std::vector<ParameterSpec>> lists) {
  return joined_lists(lists);
}

ColumnSpec dimension_columns() {
  return {"{dimension}", "", "The dimensions grouped by, one column each", kAlwaysShown};
}

std::vector<ColumnSpec> estimate_columns(const ColumnSpec& x, const std::string& kind_name) {
  return {x,
          {x.name + "_margin", x.unit, "Half the width of the 95 % confidence interval"},
          {x.name + "_low", x.unit, "Lower end of the 95 % confidence interval"},
          {x.name + "_high", x.unit, "Upper end of the 95 % confidence interval"},
          {kind_name.empty() ? x.name + "_margin_kind" : kind_name, "",
           "What the margin covers, or why there is none", kDetail}};
}

std::vector<ColumnSpec> joined_columns(std::initializer_list<std::vector<ColumnSpec>> lists) {
  return joined_lists(lists);
}

}  // namespace plimsoll::query
