#include "query/annotate/counts/annotate_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "proto/profile_codec.h"
#include "query/annotate/counts/function_builds.h"
#include "query/fdo/counts/count_binary.h"
#include "query/registry/damage_notes.h"
#include "query/registry/label_notes.h"
#include "query/registry/roll_up_notes.h"
#include "query/selection/sides.h"

namespace plimsoll::annotate {
namespace {

constexpr size_t kMaxEvents = 8;

Status add_events(const std::string& text, std::vector<std::string>& events) {
  for (std::string& event : split_events(text)) {
    if (event.empty()) {
      return with_field(fail(ErrorCode::kInvalid, "\"{}\" is no list of events", text), "event");
    }
    if (wire::is_of_branches(event)) {
      return with_hint(
          with_field(fail(ErrorCode::kInvalid, "{} are pairs of addresses, and no samples", event), "event"),
          "name an event of samples, such as cycles: branch records are shown beside it as arrows");
    }
    if (std::ranges::find(events, event) != events.end()) {
      return with_field(fail(ErrorCode::kInvalid, "event {} is listed twice", event), "event");
    }
    events.push_back(std::move(event));
  }
  return events.size() <= kMaxEvents
             ? Status()
             : with_field(
                   fail(ErrorCode::kInvalid, "at most {} events can be shown beside one another", kMaxEvents),
                   "event");
}

Status set_order(const std::string& text, Order& order) {
  if (text != "source" && text != "address") {
    return query::invalid_parameter("order", text, "source or address");
  }
  order = text == "source" ? Order::kSource : Order::kAddress;
  return {};
}

Status set_form(const std::string& text, AnnotationForm& form) {
  if (text != "text" && text != "json") {
    return query::invalid_parameter("format", text, "json or text");
  }
  form = text == "text" ? AnnotationForm::kText : AnnotationForm::kJson;
  return {};
}

Result<MeasuredFunction> measure_rows(const AnnotateRequest& request, const query::Snapshot& snapshot) {
  auto build = choose_build(request.function, request.binary, request.selection, snapshot);
  if (!build) {
    return propagate(build);
  }
  MeasuredFunction measured{.build_id = std::move(build->build_id), .path = std::move(build->path)};
  std::vector<std::string> events = request.events;
  events.resize(std::max<size_t>(events.size(), 1));
  for (const std::string& event : events) {
    fdo::CountsRequest of_event{.selection = request.selection, .build_id = measured.build_id};
    of_event.selection.event = event;
    auto counts = fdo::count_binary(of_event, snapshot);
    if (!counts && counts.error().code == ErrorCode::kNotFound && !measured.counts.empty()) {
      // The event is known, or resolving the selection says so: a binary without cache misses has none to show.
      const auto resolved = query::resolve(of_event.selection, snapshot);
      if (!resolved) {
        return propagate(resolved);
      }
      const store::EventEntry& entry = snapshot.dictionaries.events[resolved->event];
      counts = fdo::BinaryCounts{.build_id = measured.build_id,
                                 .event = entry.name,
                                 .unit = std::string(query::unit_name(entry.unit))};
    }
    if (!counts) {
      return propagate(counts);
    }
    measured.counts.push_back(std::move(*counts));
  }
  return measured;
}

}  // namespace

std::vector<std::string> split_events(const std::string& text) {
  std::vector<std::string> events(1);
  bool is_within_slashes = false;
  for (const char c : text) {
    is_within_slashes = is_within_slashes != (c == '/');
    if (c == ',' && !is_within_slashes) {
      events.emplace_back();
    } else {
      events.back() += c;
    }
  }
  return events;
}

Result<AnnotateRequest> parse_annotate(const query::Parameters& parameters, int64_t now_ns) {
  AnnotateRequest request;
  query::Selection& selection = request.selection;
  const std::vector<query::Parameter> known{
      query::text_parameter("function", request.function),
      query::text_parameter("binary", request.binary),
      {"event", [&request](const std::string& text) { return add_events(text, request.events); }},
      query::where_parameter(selection),
      query::since_parameter(now_ns, selection),
      query::until_parameter(now_ns, selection),
      {"order", [&request](const std::string& text) { return set_order(text, request.order); }},
      {"format", [&request](const std::string& text) { return set_form(text, request.form); }}};
  if (auto read = query::read_parameters(parameters, known); !read) {
    return propagate(read);
  }
  if (auto checked = query::check_selection(selection); !checked) {
    return propagate(checked);
  }
  if (request.function.empty()) {
    return with_hint(with_field(fail(ErrorCode::kInvalid, "the name of the function is missing"), "function"),
                     "\"plimsoll top\" lists functions");
  }
  selection.event = request.events.empty() ? std::string() : request.events.front();
  selection.hides_only_named = true;
  return request;
}

Result<MeasuredFunction> measure_function(const AnnotateRequest& request, const query::Parameters& parameters,
                                          int64_t now_ns, const query::Snapshot& snapshot) {
  const store::TimeSpans times = query::times_of(parameters, now_ns);
  while (true) {
    const size_t known = snapshot.rows->damage().size();
    auto measured = measure_rows(request, snapshot);
    const std::vector<store::DamagedPart> damaged = query::damaged_parts(snapshot, times);
    // What was found damaged meanwhile is part of some of the counts alone.
    if (snapshot.rows->damage().size() != known) {
      continue;
    }
    if (measured) {
      std::vector<std::string>& notes = measured->counts.front().notes;
      for (const auto& added : {query::notes_of(damaged), query::label_notes(parameters, snapshot),
                                query::roll_up_notes(parameters, times, snapshot)}) {
        notes.insert(notes.begin(), added.begin(), added.end());
      }
    }
    return measured;
  }
}

}  // namespace plimsoll::annotate
