#include "formats/traces/call_log_spans.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/checksum.h"
#include "formats/csv.h"

namespace plimsoll::formats {
namespace {

enum CallColumn : uint8_t {
  kHost,
  kTime,
  kRequest,
  kCaller,
  kCallee,
  kMethod,
  kEvent,
  kNeededColumns,
  kCallService = kNeededColumns,
  kCallReplica,
  kCallVersion,
  kCallColumns
};

constexpr std::array<std::string_view, kCallColumns> kCallColumnNames{
    "host",   "time_ns", "request_id", "caller_mid", "callee_mid",
    "method", "event",   "service",    "replica",    "version"};

constexpr size_t kAbsent = SIZE_MAX;
constexpr size_t kMaxOpenCalls = 1'000'000;

// Hexadecimal as it is, as far as it is one; else a hash.
traces::TraceId trace_of(std::string_view request) {
  if (const auto id = traces::parse_trace_id(request)) {
    return *id;
  }
  const uint64_t hash = checksum64(as_bytes(request));
  return {.high = traces::mixed(hash), .low = hash};
}

// 0: none. Of equal MIDs equal, in every file.
traces::SpanId span_of_mid(std::string_view mid) {
  return mid.empty() || mid == "root" ? 0 : std::max<uint64_t>(checksum64(as_bytes(mid)), 1);
}

std::string_view service_of_method(std::string_view method) {
  const size_t dot = method.rfind('.');
  return dot == std::string_view::npos ? "unknown_service" : method.substr(0, dot);
}

class CallLogReader {
 public:
  explicit CallLogReader(SpanSink& sink) : sink_(sink) { places_.fill(kAbsent); }

  Status take(std::span<const std::string_view> fields) {
    return std::exchange(is_first_, false) ? take_names(fields) : take_event(fields);
  }

  // What has not been completed.
  void finish() {
    for (const auto& [call, event] : open_) {
      sink_.reject(event.is_return ? "a call has no line \"invoked\"" : "a call has no line \"returned\"");
    }
  }

 private:
  struct Event {
    int64_t time_ns = 0;
    bool is_return = false;
  };

  Status take_names(std::span<const std::string_view> names) {
    for (size_t column = 0; column < kCallColumns; ++column) {
      const auto found = std::ranges::find(names, kCallColumnNames[column]);
      if (found != names.end()) {
        places_[column] = static_cast<size_t>(found - names.begin());
      } else if (column < kNeededColumns) {
        return fail(ErrorCode::kInvalid, "the log of calls has no column {}", kCallColumnNames[column]);
      }
    }
    return {};
  }

  Status take_event(std::span<const std::string_view> fields) {
    const auto field = [&](CallColumn column) {
      return places_[column] == kAbsent ? std::string_view() : fields[places_[column]];
    };
    Event event{.is_return = field(kEvent) == "returned"};
    const std::string_view time = field(kTime);
    const auto [end, error] = std::from_chars(time.data(), time.data() + time.size(), event.time_ns);
    if (error != std::errc() || end != time.data() + time.size() ||
        (!event.is_return && field(kEvent) != "invoked")) {
      sink_.reject("a line of the log has no time or no event");
      return {};
    }
    std::string call(field(kRequest));
    call.append("\n").append(field(kCallee));
    const auto [other, is_new] = open_.try_emplace(std::move(call), event);
    if (is_new) {
      return open_.size() <= kMaxOpenCalls
                 ? Status()
                 : with_hint(fail(ErrorCode::kTooLarge, "over {} calls lack their other line", kMaxOpenCalls),
                             "sort the log by time");
    }
    if (other->second.is_return == event.is_return) {
      // A line that was written twice.
      return {};
    }
    const Event first = other->second;
    open_.erase(other);
    const std::string_view method = field(kMethod);
    return sink_.add(
        {.trace = trace_of(field(kRequest)),
         .id = span_of_mid(field(kCallee)),
         .parent = span_of_mid(field(kCaller)),
         .start_ns = event.is_return ? first.time_ns : event.time_ns,
         .end_ns = event.is_return ? event.time_ns : first.time_ns,
         .service = field(kCallService).empty() ? service_of_method(method) : field(kCallService),
         .operation = method,
         .replica = field(kCallReplica),
         .machine = field(kHost),
         .version = field(kCallVersion),
         .kind = traces::SpanKind::kServer});
  }

  SpanSink& sink_;
  std::array<size_t, kCallColumns> places_{};
  std::unordered_map<std::string, Event> open_;  // by request and MID
  bool is_first_ = true;
};

}  // namespace

Status read_call_log(std::string_view text, SpanSink& sink) {
  CallLogReader reader(sink);
  const Status read = for_each_csv_row(
      text, [&reader](uint64_t, std::span<const std::string_view> fields) { return reader.take(fields); });
  if (read) {
    reader.finish();
  }
  return read;
}

bool is_call_log(std::string_view text) {
  bool has_both = false;
  const Status stopped =
      for_each_csv_row(text, [&](uint64_t, std::span<const std::string_view> names) -> Status {
        has_both = std::ranges::find(names, kCallColumnNames[kRequest]) != names.end() &&
                   std::ranges::find(names, kCallColumnNames[kCallee]) != names.end();
        return fail(ErrorCode::kInvalid, "the first row is enough");
      });
  return !stopped && has_both;
}

}  // namespace plimsoll::formats
