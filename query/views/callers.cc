#include "query/views/callers.h"

#include <algorithm>
#include <array>
#include <functional>
#include <ranges>
#include <string>
#include <string_view>
#include <vector>

#include "query/selection/empty_selection.h"
#include "query/snapshot/dimension.h"
#include "query/views/top.h"

namespace plimsoll::query {
namespace {

// "memcpy", or "~memcpy" for all that match.
Result<Predicate> predicate_of_function(const std::string& text) {
  return text.starts_with('~') ? Predicate::parse("function=" + text) : Predicate::equal_to("function", text);
}

// Either of them says which function.
Parameter function_parameter(std::string_view name, std::optional<Predicate>& of) {
  return {name, [name, &of](const std::string& text) -> Status {
            if (of) {
              return with_field(fail(ErrorCode::kInvalid,
                                     "FUNCTION and --of are given more than once: give one of them, once"),
                                std::string(name));
            }
            const auto predicate = name == "function" ? predicate_of_function(text) : Predicate::parse(text);
            if (!predicate) {
              return with_field(propagate(predicate), std::string(name));
            }
            if (predicate->dimension().source != DimensionSource::kFrame || predicate->is_negated()) {
              return with_field(
                  fail(ErrorCode::kInvalid,
                       "{} is \"{}\", which is not a filter on frames (function, file, binary)", name, text),
                  std::string(name));
            }
            of = *predicate;
            return {};
          }};
}

Result<CallersRequest> parse(Neighbour neighbour, const Parameters& parameters, int64_t now_ns) {
  CallersRequest request{.selection = {}, .neighbour = neighbour, .of = {}, .name = {}};
  std::optional<Predicate> of;
  const auto read = read_parameters(
      parameters, now_ns, request.selection,
      {function_parameter("function", of), function_parameter("of", of),
       count_parameter("limit", kMaxRows, request.limit), flag_parameter("margins", request.margins)});
  if (!read) {
    return propagate(read);
  }
  if (!of) {
    return with_field(
        fail(ErrorCode::kInvalid, "a function is required: its name, or a filter on frames (of)"),
        "function");
  }
  request.of = *of;
  const bool is_of_function = std::ranges::find(parameters, "function", [](const auto& parameter) {
                                return parameter.first;
                              }) != parameters.end();
  request.name = is_of_function ? of->wanted() : "";
  return request;
}

// Where the function is on no stack: is there one with a name like it?
std::unexpected<Error> not_found(const CallersRequest& request, const Snapshot& snapshot) {
  const auto why = why_no_match(request.of, snapshot);
  return with_hint(
      with_field(fail(ErrorCode::kNotFound, "no selected stack has {}", request.of.text()), "function"),
      why ? "\"plimsoll top\" lists functions, ~NAME matches a part of a name; " + *why
          : "stacks outside the selection have it: check the filters (where) and times (since, until)");
}

// What the linker chose, or the compiler made of a function, goes by another name.
// The functions with more than the one that is asked for, whose names contain its name. By their total. A help, and no more: where there is
// too much to look through, the answer is right without it.
void note_namesakes(const CallersRequest& request, const Snapshot& snapshot, Table& table) {
  const auto all = total_shares(request.selection, request.of.dimension(), snapshot);
  if (!all) {
    return;
  }
  double own_share = 0;
  std::vector<NamedShare> others;
  for (const NamedShare& function : *all) {
    if (function.name == request.name) {
      own_share = function.share;
    } else if (function.name.contains(request.name)) {
      others.push_back(function);
    }
  }
  std::erase_if(others, [&](const NamedShare& other) { return other.share <= own_share; });
  std::ranges::sort(others, std::greater<>(), &NamedShare::share);
  if (others.empty()) {
    return;
  }
  constexpr size_t kShown = 3;
  std::string shown;
  for (const NamedShare& other : others | std::views::take(kShown)) {
    shown += fmt::format("{}{} ({:.2f} %)", shown.empty() ? "" : ", ", other.name, 100 * other.share);
  }
  const size_t more = others.size() - std::min(others.size(), kShown);
  table.notes.push_back(fmt::format(
      "{} has {:.2f} % of all samples, but {}{} have more; give \"~{}\" to select all of them", request.name,
      100 * own_share, shown, more > 0 ? fmt::format(" and {} others", more) : "", request.name));
}

}  // namespace

Result<CallersRequest> parse_callers(const Parameters& parameters, int64_t now_ns) {
  return parse(Neighbour::kCaller, parameters, now_ns);
}

Result<CallersRequest> parse_callees(const Parameters& parameters, int64_t now_ns) {
  return parse(Neighbour::kCallee, parameters, now_ns);
}

Result<Table> callers(const CallersRequest& request, const Snapshot& snapshot) {
  const StackLabels labels =
      neighbours(request.neighbour, request.of, snapshot, hidden_frames(request.selection, snapshot));
  TopRequest top{.selection = request.selection,
                 .ratio = {},
                 .by = {},
                 .limit = request.limit,
                 .margins = request.margins};
  top.by.push_back(
      {request.neighbour == Neighbour::kCaller ? "caller" : "callee", DimensionSource::kStack, ""});
  auto table = top_of_labels(top, labels, snapshot);
  if (table && table->rows.empty()) {
    return not_found(request, snapshot);
  }
  if (table && !request.name.empty()) {
    note_namesakes(request, snapshot, *table);
  }
  return table;
}

}  // namespace plimsoll::query
