#include "formats/traces/table_spans.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <optional>
#include <vector>

#include "formats/csv.h"
#include "formats/traces/attribute_list.h"

namespace plimsoll::formats {
namespace {

enum Column : uint8_t {
  kTrace,
  kSpan,
  kParent,
  kOperation,
  kStart,
  kEnd,
  kDurationUs,
  kService,
  kReplica,
  kMachine,
  kVersion,
  kKind,
  kColumns,
};

struct ColumnName {
  std::string_view name;
  Column column;
};

constexpr std::array kColumnNames{
    ColumnName{"traceid", kTrace},
    ColumnName{"trace_id", kTrace},
    ColumnName{"spanid", kSpan},
    ColumnName{"span_id", kSpan},
    ColumnName{"parentid", kParent},
    ColumnName{"parent_id", kParent},
    ColumnName{"parentspanid", kParent},
    ColumnName{"operationname", kOperation},
    ColumnName{"operation", kOperation},
    ColumnName{"method", kOperation},
    ColumnName{"starttimeunixnano", kStart},
    ColumnName{"start_ns", kStart},
    ColumnName{"endtimeunixnano", kEnd},
    ColumnName{"end_ns", kEnd},
    ColumnName{"duration_us", kDurationUs},
    ColumnName{"servicename", kService},
    ColumnName{"service", kService},
    ColumnName{"podname", kReplica},
    ColumnName{"replica", kReplica},
    ColumnName{"pod", kReplica},
    ColumnName{"instance", kReplica},
    ColumnName{"nodename", kMachine},
    ColumnName{"machine", kMachine},
    ColumnName{"host", kMachine},
    ColumnName{"version", kVersion},
    ColumnName{"kind", kKind},
};

constexpr size_t kNoPlace = SIZE_MAX;

bool is_equal_in_any_case(std::string_view text, std::string_view lower) {
  return std::ranges::equal(text, lower, {}, [](unsigned char c) { return std::tolower(c); });
}

std::optional<Column> column_named(std::string_view name) {
  const auto* const found = std::ranges::find_if(
      kColumnNames, [name](const ColumnName& known) { return is_equal_in_any_case(name, known.name); });
  return found == kColumnNames.end() ? std::nullopt : std::optional(found->column);
}

// -1, which no span may have as time, for anything but a number.
int64_t time_in(std::string_view text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && !text.empty() ? number : -1;
}

std::string_view service_of_pod(std::string_view pod) {
  for (int parts = 0; parts < 2; ++parts) {
    const size_t dash = pod.rfind('-');
    pod = dash == std::string_view::npos ? pod : pod.substr(0, dash);
  }
  return pod;
}

traces::SpanKind kind_named(std::string_view name) {
  for (uint8_t kind = 1; kind <= static_cast<uint8_t>(traces::SpanKind::kConsumer); ++kind) {
    if (is_equal_in_any_case(name, traces::name_of(static_cast<traces::SpanKind>(kind)))) {
      return static_cast<traces::SpanKind>(kind);
    }
  }
  return traces::SpanKind::kUnspecified;
}

class SpanTableReader {
 public:
  explicit SpanTableReader(SpanSink& sink) : sink_(sink), attributes_(sink.spans()) {
    places_.fill(kNoPlace);
  }

  Status take(std::span<const std::string_view> fields) {
    return std::exchange(is_first_, false) ? take_names(fields) : take_span(fields);
  }

 private:
  Status take_names(std::span<const std::string_view> names) {
    for (size_t i = 0; i < names.size(); ++i) {
      const auto column = column_named(names[i]);
      if (column && places_[*column] == kNoPlace) {
        places_[*column] = i;
      } else if (!column && attributes_.is_wanted()) {
        attribute_columns_.emplace_back(i, names[i]);
      }
    }
    for (const auto& [column, name] :
         {ColumnName{"TraceID", kTrace}, ColumnName{"SpanID", kSpan}, ColumnName{"OperationName", kOperation},
          ColumnName{"StartTimeUnixNano", kStart}}) {
      if (places_[name] == kNoPlace) {
        return fail(ErrorCode::kInvalid, "the table of spans has no column {}", column);
      }
    }
    if (places_[kEnd] == kNoPlace && places_[kDurationUs] == kNoPlace) {
      return fail(ErrorCode::kInvalid, "the table of spans has no column EndTimeUnixNano or duration_us");
    }
    return {};
  }

  Status take_span(std::span<const std::string_view> fields) {
    const auto field = [&](Column column) {
      return places_[column] == kNoPlace ? std::string_view() : fields[places_[column]];
    };
    const std::string_view replica = field(kReplica);
    const int64_t start_ns = time_in(field(kStart));
    const traces::SpanId id = traces::parse_span_id(field(kSpan)).value_or(0);
    const auto parent = traces::parse_parent_id(field(kParent));
    if (!parent) {
      return sink_.reject_parent(id);
    }
    attributes_.clear();
    for (const auto& [place, name] : attribute_columns_) {
      attributes_.take(name, fields[place]);
    }
    return sink_.add({.trace = traces::parse_trace_id(field(kTrace)).value_or(traces::TraceId{}),
                      .id = id,
                      .parent = *parent,
                      .start_ns = start_ns,
                      .end_ns = places_[kEnd] != kNoPlace ? time_in(field(kEnd))
                                                          : end_of(start_ns, time_in(field(kDurationUs))),
                      .service = places_[kService] != kNoPlace ? field(kService) : service_of_pod(replica),
                      .operation = field(kOperation),
                      .replica = replica,
                      .machine = field(kMachine),
                      .version = field(kVersion),
                      .kind = kind_named(field(kKind)),
                      .attributes = attributes_.all()});
  }

  static int64_t end_of(int64_t start_ns, int64_t duration_us) {
    constexpr int64_t kNsPerUs = 1000;
    const bool fits = start_ns >= 0 && duration_us >= 0 && duration_us <= (INT64_MAX - start_ns) / kNsPerUs;
    return fits ? start_ns + duration_us * kNsPerUs : -1;
  }

  SpanSink& sink_;
  std::array<size_t, kColumns> places_{};
  AttributeList attributes_;
  std::vector<std::pair<size_t, std::string>> attribute_columns_;  // the others, by the names that they have
  bool is_first_ = true;
};

}  // namespace

Status read_span_table(std::string_view text, SpanSink& sink) {
  SpanTableReader reader(sink);
  return for_each_csv_row(
      text, [&reader](uint64_t, std::span<const std::string_view> fields) { return reader.take(fields); });
}

bool is_span_table(std::string_view text) {
  bool has_trace = false;
  bool has_span = false;
  const Status stopped =
      for_each_csv_row(text, [&](uint64_t, std::span<const std::string_view> names) -> Status {
        has_trace = std::ranges::any_of(names, [](auto name) { return column_named(name) == kTrace; });
        has_span = std::ranges::any_of(names, [](auto name) { return column_named(name) == kSpan; });
        return fail(ErrorCode::kInvalid, "the first row is enough");
      });
  return !stopped && has_trace && has_span;
}

}  // namespace plimsoll::formats
