#include "query/traces/stored_requests.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "base/stop_scope.h"
#include "base/time.h"
#include "store/directory/data_directory.h"
#include "store/store.h"

namespace plimsoll::query {
namespace {

// Of spans of requests that began in a time.
constexpr int64_t kAroundNs = int64_t{600} * 1'000'000'000;
constexpr uint64_t kSpansBetweenChecks = 4096;

// Nothing that is computed from a SpanSet knows weights: counts and shares of the two mix.
class WeightRange {
 public:
  void add(double weight) {
    min_ = std::min(min_, weight);
    max_ = std::max(max_, weight);
  }
  void note_in(std::vector<std::string>& notes) const {
    if (min_ < max_) {
      notes.push_back(fmt::format(
          "spans of different sampling rates are counted alike: each stands for {} to {} requests", min_,
          max_));
    }
  }

 private:
  double min_ = std::numeric_limits<double>::infinity();
  double max_ = 0;
};

// More than that have one cause.
constexpr size_t kMaxDamagedParts = 3;

std::vector<std::string> described(const std::vector<store::DamagedPart>& damaged,
                                   const std::string& data_dir) {
  std::vector<std::string> texts;
  for (const store::DamagedPart& part : damaged) {
    if (texts.size() == kMaxDamagedParts) {
      texts.push_back(
          fmt::format("spans are missing: {} more damaged parts", damaged.size() - kMaxDamagedParts));
      break;
    }
    texts.push_back(fmt::format("{} spans are missing: {}",
                                part.rows == 0 ? "some" : std::to_string(part.rows),
                                within_directory(part.why, data_dir)));
  }
  return texts;
}

Result<TracedRequests> read_store(const std::string& data_dir, const store::SpanQuestion& question,
                                  const MachineAttributes* machines = nullptr) {
  const auto directory = store::DataDirectory::open_for_reading(data_dir);
  if (!directory) {
    return propagate(directory);
  }
  TracedRequests made{.spans = std::make_unique<traces::SpanSet>(
                          traces::SpanLimits{.keeps_attributes = question.with_attributes}),
                      .assembly = {},
                      .notes = {}};
  WeightRange weights;
  uint64_t visited = 0;
  std::vector<traces::Attribute> attributes;
  const auto damaged =
      store::open_span_source(data_dir)->read(question, [&](const store::StoredSpan& stored) -> Status {
        if (++visited % kSpansBetweenChecks == 0) {
          if (Status goes_on = check_stop(); !goes_on) {
            return goes_on;
          }
        }
        weights.add(stored.weight);
        made.weights.push_back(static_cast<float>(stored.weight));
        if (machines == nullptr) {
          return made.spans->add(stored.span);
        }
        attributes.assign(stored.span.attributes.begin(), stored.span.attributes.end());
        machines->append_to(attributes, stored.span.machine, stored.span.start_ns);
        traces::NamedSpan span = stored.span;
        span.attributes = attributes;
        return made.spans->add(span);
      });
  if (!damaged) {
    return propagate(damaged);
  }
  made.damage = described(*damaged, data_dir);
  made.notes = made.damage;
  weights.note_in(made.notes);
  return made;
}

}  // namespace

Parameter time_of_traces(std::string_view name, int64_t now_ns, int64_t& time_ns, bool& is_given) {
  return {name, [name, now_ns, &time_ns, &is_given](const std::string& text) -> Status {
            const auto parsed_ns = parse_time_ns(text, now_ns);
            if (!parsed_ns) {
              return invalid_parameter(name, text,
                                       "a time: RFC 3339 (2026-11-21T07:00:00Z), or a duration before now "
                                       "with its unit (30m, 2h, 1d)");
            }
            time_ns = *parsed_ns;
            is_given = true;
            return {};
          }};
}

std::string within_directory(std::string text, std::string data_dir) {
  // As paths within it are made.
  data_dir += '/';
  for (size_t at = text.find(data_dir); at != std::string::npos; at = text.find(data_dir, at)) {
    // Not within another path.
    const bool begins_path = at == 0 || text[at - 1] == ' ';
    text.erase(at, begins_path ? data_dir.size() : 0);
    at += begins_path ? 0 : data_dir.size();
  }
  return text;
}

std::unexpected<Error> with_damage(std::unexpected<Error> failure, const std::vector<std::string>& damage) {
  if (!damage.empty()) {
    fmt::format_to(std::back_inserter(failure.error().message), "; {}", fmt::join(damage, "; "));
  }
  return failure;
}

void assemble_requests(TracedRequests& made) {
  made.assembly = traces::assemble(*made.spans);
  if (const std::string repairs = traces::describe(made.assembly.counts); !repairs.empty()) {
    made.notes.push_back(fmt::format("{} spans, {} requests: {}", made.assembly.counts.spans,
                                     made.assembly.traces.size(), repairs));
  }
}

Result<TracedRequests> read_stored_requests_if_any(const std::string& data_dir, const RequestTimes& began,
                                                   uint64_t max_spans, SpanAttributes attributes,
                                                   const MachineAttributes* machines) {
  store::SpanQuestion question{.max_spans = std::min(max_spans, kMaxReadSpans),
                               .with_attributes = attributes == SpanAttributes::kRead};
  question.times.from_ns = began.from_ns > kAroundNs ? began.from_ns - kAroundNs : 0;
  question.times.to_ns = began.to_ns < INT64_MAX - kAroundNs ? began.to_ns + kAroundNs : INT64_MAX;
  auto made = read_store(data_dir, question, machines);
  if (!made) {
    return made;
  }
  assemble_requests(*made);
  if (const Status goes_on = check_stop(); !goes_on) {
    return propagate(goes_on);
  }
  // What is beside it may lack spans.
  std::erase_if(made->assembly.traces,
                [&](const traces::Trace& trace) { return !began.has(trace.start_ns); });
  return made;
}

Result<TracedRequests> read_stored_requests(const std::string& data_dir, const RequestTimes& began,
                                            uint64_t max_spans, SpanAttributes attributes,
                                            const MachineAttributes* machines) {
  auto made = read_stored_requests_if_any(data_dir, began, max_spans, attributes, machines);
  if (made && made->assembly.traces.empty()) {
    return with_hint(with_damage(fail(ErrorCode::kNotFound, "no request in {} began in that time", data_dir),
                                 made->damage),
                     "change --since and --until; docs/traces.md says how applications send traces");
  }
  return made;
}

Result<TracedRequests> read_stored_request(const std::string& data_dir, const traces::TraceId& trace,
                                           uint64_t max_spans) {
  auto made = read_store(
      data_dir, {.trace = trace, .max_spans = std::min(max_spans, kMaxReadSpans), .with_attributes = true});
  if (made && made->spans->spans().empty()) {
    return with_hint(
        with_damage(fail(ErrorCode::kNotFound, "no such trace in {}: {}", data_dir, to_text(trace)),
                    made->damage),
        "it was not sampled, or is older than retention.traces_max_age; an ID requires all of its digits");
  }
  if (made) {
    assemble_requests(*made);
  }
  return made;
}

}  // namespace plimsoll::query
