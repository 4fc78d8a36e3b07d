#include "query/views/series.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <string>

#include "base/time.h"
#include "query/rows/estimate_columns.h"
#include "query/rows/grouping.h"
#include "query/rows/per_machine_rows.h"
#include "query/rows/row_estimates.h"
#include "query/rows/row_sums.h"
#include "query/rows/symbol_coverage.h"
#include "query/selection/selected_events.h"
#include "statistics/linearization.h"

namespace plimsoll::query {
namespace {

constexpr size_t kMaxSeries = 10'000;
constexpr int64_t kSecond = kNsPerSecond;
constexpr int64_t kMinute = 60 * kSecond;
constexpr int64_t kHour = 60 * kMinute;
constexpr int64_t kDay = 24 * kHour;

// Of lengths that people count in, the shortest with at most so many buckets.
int64_t fitting_bucket_ns(int64_t span_ns) {
  constexpr int64_t kBuckets = 30;
  constexpr std::array<int64_t, 15> kLengths{
      kSecond, 5 * kSecond, 10 * kSecond, 30 * kSecond, kMinute, 5 * kMinute, 10 * kMinute, 30 * kMinute,
      kHour,   3 * kHour,   6 * kHour,    12 * kHour,   kDay,    7 * kDay,    28 * kDay};
  const auto fitting =
      std::ranges::find_if(kLengths, [&](int64_t length) { return span_ns / length < kBuckets; });
  return fitting == kLengths.end() ? kLengths.back() : *fitting;
}

class SeriesQuery {
 public:
  SeriesQuery(const SeriesRequest& request, const Snapshot& snapshot)
      : request_(request),
        snapshot_(snapshot),
        grouping_(request.by, hidden_frames(request.selection, snapshot), snapshot) {}

  Result<Table> run() {
    auto resolved = resolve(request_.selection, snapshot_);
    if (!resolved) {
      return propagate(resolved);
    }
    resolved_ = std::move(*resolved);
    grouping_.add_groups(resolved_.request);
    if (auto summed = sum(); !summed) {
      return propagate(summed);
    }
    find_buckets();
    if (origins_of_bucket_.size() > kMaxBuckets) {
      return with_hint(with_field(fail(ErrorCode::kTooLarge, "{} buckets, more than {}",
                                       origins_of_bucket_.size(), kMaxBuckets),
                                  "bucket"),
                       "give a longer bucket, or a shorter time (since, until)");
    }
    if (request_.measure == Measure::kRate) {
      exposures_ = rate_exposures(resolved_, snapshot_);
    }
    start_table();
    const RowSplitter splitter(rows_.keys, 1, grouping_, snapshot_);
    for (const auto& [start_ns, origins] : origins_of_bucket_) {
      if (auto added = add_bucket(start_ns, origins, splitter); !added) {
        return propagate(added, "summing the bucket of {}", format_time(start_ns));
      }
    }
    return std::move(table_);
  }

 private:
  // Leaves the rows to show, in their order.
  Status sum() {
    SymbolCoverage symbols(snapshot_);
    const auto rows = sum_event(request_.selection, resolved_, grouping_, snapshot_, symbols);
    if (!rows) {
      return propagate(rows);
    }
    std::vector<uint32_t> places(rows->size());
    std::iota(places.begin(), places.end(), 0);
    rows_ = first_rows(*rows, std::move(places), request_.limit, [&](uint32_t a, uint32_t b) {
      const RowValues& x = rows->of(a);
      const RowValues& y = rows->of(b);
      if (x.self != y.self) {
        return x.self > y.self;
      }
      return x.total != y.total ? x.total > y.total : grouping_.less(rows->keys[a], rows->keys[b]);
    });
    return {};
  }

  void find_buckets() {
    const Coverage& coverage = resolved_.coverage;
    bucket_ns_ =
        request_.bucket_ns != 0 ? request_.bucket_ns : fitting_bucket_ns(coverage.to_ns - coverage.from_ns);
    for_each_selected(snapshot_, resolved_.request.filter, [this](const store::OriginEventEntry& entry) {
      if (entry.event != resolved_.event || !entry.ran) {
        return;
      }
      const store::OriginEntry& origin = snapshot_.dictionaries.origins[entry.origin];
      const int64_t middle_ns = std::midpoint(origin.from_ns, origin.to_ns);
      const int64_t into_bucket_ns = (middle_ns % bucket_ns_ + bucket_ns_) % bucket_ns_;
      origins_of_bucket_[middle_ns - into_bucket_ns].push_back(entry.origin);
      longest_window_ns_ = std::max(longest_window_ns_, origin.to_ns - origin.from_ns);
    });
  }

  void start_table() {
    const store::EventEntry& event = snapshot_.dictionaries.events[resolved_.event];
    table_.event = event.name;
    table_.coverage = resolved_.coverage;
    table_.notes = resolved_.notes;
    table_.notes.push_back(
        fmt::format("steps of {}; a row's time is the start of its step", format_duration(bucket_ns_)));
    if (longest_window_ns_ > bucket_ns_) {
      table_.notes.push_back(fmt::format(
          "profiles of up to {} are longer than a bucket: each counts in the bucket of its middle",
          readable(static_cast<double>(longest_window_ns_), "ns")));
    }
    table_.columns = {{"time", ""}, {"machines", "count"}};
    for (const TableColumn& column : grouping_.columns()) {
      table_.columns.push_back(column);
    }
    const TableColumn measure = measure_column(request_.measure, event);
    for (const RowPart& part : kRowParts) {
      const TableColumn measured{fmt::format("{}_{}", part.name, measure.name), measure.unit};
      table_.columns.push_back(measured);
      add_estimate_columns(measured, measured.name + "_margin_kind", table_.columns);
    }
  }

  Status add_bucket(int64_t start_ns, const std::vector<uint32_t>& origins, const RowSplitter& splitter) {
    resolved_.request.filter[Column::kOrigin] = store::IdSet::of(origins);
    const MachineSample sample(snapshot_, resolved_.request.filter);
    const auto sampled = splitter.split(resolved_.request, sample.sampling_units_of_origins());
    if (!sampled) {
      return with_hint(propagate(sampled), "select fewer rows (limit)");
    }
    const Domain all = whole_domain(sample);
    UnitColumn whole;
    fill_whole(*sampled, 0, all, whole);
    if (request_.measure == Measure::kRate) {
      whole.values = sample.sampling_units_of_origins().sums(exposures_);
    }
    for (size_t row = 0; row < rows_.size(); ++row) {
      auto& values = table_.rows.emplace_back();
      values.emplace_back(format_time(start_ns));
      values.emplace_back(static_cast<int64_t>(sample.sampling_units()));
      grouping_.add_texts(rows_.keys[row], values);
      for (const RowPart& part : kRowParts) {
        UnitColumn column;
        fill(*sampled, row, 0, part.values, all, column);
        add_values(all, column, whole, values);
      }
    }
    return {};
  }

  void add_values(const Domain& all, const UnitColumn& column, const UnitColumn& whole,
                  std::vector<Value>& values) const {
    const statistics::RowSums sums = row_sums_of(column, whole);
    const statistics::Estimate estimate = request_.measure == Measure::kShare
                                              ? statistics::share(all.design, sums)
                                              : statistics::rate(all.design, sums);
    const double of = std::accumulate(whole.values.begin(), whole.values.end(), 0.0);
    const double value = std::accumulate(column.values.begin(), column.values.end(), 0.0);
    values.push_back(value_or_absent(of > 0 ? std::optional(value / of) : std::nullopt));
    add_estimate(&estimate, values);
  }

  const SeriesRequest& request_;
  const Snapshot& snapshot_;
  Grouping grouping_;
  ResolvedSelection resolved_;  // of all of the time; then its filter is of one bucket after the other
  SummedRows rows_;
  int64_t bucket_ns_ = 0;
  int64_t longest_window_ns_ = 0;
  std::map<int64_t, std::vector<uint32_t>> origins_of_bucket_;  // by its start
  std::vector<double> exposures_;                               // by origin, of rates
  Table table_;
};

}  // namespace

Result<SeriesRequest> parse_series(const Parameters& parameters, int64_t now_ns) {
  SeriesRequest request;
  const auto read = read_parameters(
      parameters, now_ns, request.selection,
      {by_parameter(request.by), measure_parameter(request.measure),
       duration_parameter("bucket", request.bucket_ns), count_parameter("limit", kMaxSeries, request.limit)});
  if (!read) {
    return propagate(read);
  }
  if (request.by.empty()) {
    request.by.push_back(*find_dimension("function"));
  }
  return request;
}

Result<Table> series(const SeriesRequest& request, const Snapshot& snapshot) {
  return SeriesQuery(request, snapshot).run();
}

}  // namespace plimsoll::query
