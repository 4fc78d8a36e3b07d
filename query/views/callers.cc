#include "query/views/callers.h"

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "query/selection/empty_selection.h"
#include "query/snapshot/dimension.h"
#include "query/views/top.h"

namespace plimsoll::query {
namespace {

constexpr size_t kMaxLimit = 1'000'000;

Status set_function(const std::string& name, const std::string& text, std::optional<Predicate>& of) {
  if (of) {
    return with_field(fail(ErrorCode::kInvalid, "one function, or one filter, can be asked for"), name);
  }
  const auto predicate =
      name == "function" ? Result<Predicate>(Predicate::equal_to("function", text)) : Predicate::parse(text);
  if (!predicate) {
    return with_field(propagate(predicate), name);
  }
  if (predicate->dimension().source != DimensionSource::kFrame || predicate->is_negated()) {
    return with_field(
        fail(ErrorCode::kInvalid, "{} is \"{}\", which says of no frame that it is meant", name, text), name);
  }
  of = *predicate;
  return {};
}

Status add_parameter(const std::string& name, const std::string& text, int64_t now_ns,
                     CallersRequest& request, std::optional<Predicate>& of) {
  const auto taken = add_to_selection(name, text, now_ns, request.selection);
  if (!taken) {
    return propagate(taken);
  }
  if (*taken) {
    return {};
  }
  if (name == "function" || name == "of") {
    return set_function(name, text, of);
  }
  if (name == "limit") {
    return set_count(name, text, kMaxLimit, request.limit);
  }
  if (name == "margins") {
    return set_flag(name, text, request.margins);
  }
  constexpr std::array<std::string_view, 8> kKnown{"function", "of",    "event", "where",
                                                   "since",    "until", "limit", "margins"};
  return unknown_parameter(name, kKnown);
}

Result<CallersRequest> parse(Neighbour neighbour, const Parameters& parameters, int64_t now_ns) {
  CallersRequest request{.selection = {}, .neighbour = neighbour, .of = {}};
  std::optional<Predicate> of;
  for (const auto& [name, text] : parameters) {
    if (auto added = add_parameter(name, text, now_ns, request, of); !added) {
      return propagate(added);
    }
  }
  if (!of) {
    return with_field(
        fail(ErrorCode::kInvalid, "say of which function: its name, or a filter on frames (of)"), "function");
  }
  request.of = *of;
  if (auto checked = check_selection(request.selection); !checked) {
    return propagate(checked);
  }
  return request;
}

// Where the function is on no stack: is there one with a name like it?
std::unexpected<Error> not_found(const CallersRequest& request, const Snapshot& snapshot) {
  const auto why = why_no_match(request.of, snapshot);
  return with_hint(
      with_field(fail(ErrorCode::kNotFound, "no selected stack has {}", request.of.text()), "function"),
      why ? *why + "; \"plimsoll top\" shows which there are, function=~NAME finds a part of a name"
          : "other stacks do: look at the filters (where) and times (since, until)");
}

}  // namespace

Result<CallersRequest> parse_callers(const Parameters& parameters, int64_t now_ns) {
  return parse(Neighbour::kCaller, parameters, now_ns);
}

Result<CallersRequest> parse_callees(const Parameters& parameters, int64_t now_ns) {
  return parse(Neighbour::kCallee, parameters, now_ns);
}

Result<Table> callers(const CallersRequest& request, const Snapshot& snapshot) {
  const StackLabels labels = neighbours(request.neighbour, request.of, snapshot);
  TopRequest top{.selection = request.selection,
                 .ratio = {},
                 .by = {},
                 .limit = request.limit,
                 .margins = request.margins};
  top.selection.where.push_back(request.of);
  top.by.push_back(
      {request.neighbour == Neighbour::kCaller ? "caller" : "callee", DimensionSource::kStack, ""});
  auto table = top_of_labels(top, labels, snapshot);
  return table && table->rows.empty() ? not_found(request, snapshot) : std::move(table);
}

}  // namespace plimsoll::query
