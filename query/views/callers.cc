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

// Either of them says which function.
Parameter function_parameter(std::string_view name, std::optional<Predicate>& of) {
  return {name, [name, &of](const std::string& text) -> Status {
            if (of) {
              return with_field(fail(ErrorCode::kInvalid, "one function, or one filter, can be asked for"),
                                std::string(name));
            }
            const auto predicate = name == "function"
                                       ? Result<Predicate>(Predicate::equal_to("function", text))
                                       : Predicate::parse(text);
            if (!predicate) {
              return with_field(propagate(predicate), std::string(name));
            }
            if (predicate->dimension().source != DimensionSource::kFrame || predicate->is_negated()) {
              return with_field(fail(ErrorCode::kInvalid,
                                     "{} is \"{}\", which says of no frame that it is meant", name, text),
                                std::string(name));
            }
            of = *predicate;
            return {};
          }};
}

Result<CallersRequest> parse(Neighbour neighbour, const Parameters& parameters, int64_t now_ns) {
  CallersRequest request{.selection = {}, .neighbour = neighbour, .of = {}};
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
        fail(ErrorCode::kInvalid, "say of which function: its name, or a filter on frames (of)"), "function");
  }
  request.of = *of;
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
  const StackLabels labels =
      neighbours(request.neighbour, request.of, snapshot, hidden_frames(request.selection.hide, snapshot));
  TopRequest top{.selection = request.selection,
                 .ratio = {},
                 .by = {},
                 .limit = request.limit,
                 .margins = request.margins};
  top.by.push_back(
      {request.neighbour == Neighbour::kCaller ? "caller" : "callee", DimensionSource::kStack, ""});
  auto table = top_of_labels(top, labels, snapshot);
  return table && table->rows.empty() ? not_found(request, snapshot) : std::move(table);
}

}  // namespace plimsoll::query
