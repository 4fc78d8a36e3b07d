#include "query/traces/category_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/sort_stably.h"
#include "base/stop_scope.h"
#include "base/time.h"
#include "query/traces/category_statistics.h"
#include "statistics/rank_test.h"
#include "statistics/student_t.h"

namespace plimsoll::query {
namespace {

using diagnosis::Side;

// Of a latency, from which on CloudDiag's paper calls a category anomalous.
constexpr double kAnomalousVariation = 1;
// Of all judged rows together, that one is called slower or faster, or new, by chance.
constexpr double kFalseCategories = 0.01;
// A difference of ranks that is larger than chance, and small nevertheless (Vargha and Delaney, J. Educational and Behavioral Statistics 25,
// 2000), is no answer.
constexpr double kMinCategoryAuc = 0.56;
// Stands for all categories beyond the limit.
constexpr uint64_t kOtherCategories = 0;

// When the requests of one side began.
struct ObservedTimes {
  int64_t first_ns = std::numeric_limits<int64_t>::max();
  int64_t last_ns = std::numeric_limits<int64_t>::min();

  void add(int64_t start_ns) {
    first_ns = std::min(first_ns, start_ns);
    last_ns = std::max(last_ns, start_ns);
  }
  int64_t between_ns() const { return std::max<int64_t>(1, last_ns - first_ns); }
  // Within so long from `from_ns` on, or from then to the end. 0: none, or a moment.
  double seconds(int64_t from_ns, int64_t length_ns) const {
    const int64_t begin_ns = std::max(first_ns, from_ns);
    const int64_t end_ns = length_ns == 0 ? last_ns : std::min(last_ns, from_ns + length_ns);
    return begin_ns < end_ns ? static_cast<double>(end_ns - begin_ns) / static_cast<double>(kNsPerSecond) : 0;
  }
};

struct CategoryRow {
  int64_t begin_ns = 0;  // of the part of the window; 0: all of it
  uint64_t hash = kOtherCategories;
  store::CategoryStatistics window = {};
  Value rate = {};
  std::vector<std::string> kinds = {};
  std::string evidence = {};
};

// What is compared with: of one category in the reference.
struct ReferenceCategory {
  CategoryLatencies latencies = {};
  store::CategoryStatistics statistics = {};
  std::vector<double> sorted_ns = {};
};

std::vector<double> as_doubles(const std::vector<int64_t>& sorted_ns) {
  return {sorted_ns.begin(), sorted_ns.end()};
}

Value rate_of(double weight, double seconds) {
  return seconds > 0 ? Value(weight / seconds) : Value();
}

double in_ms(int64_t ns) {
  return static_cast<double>(ns) / static_cast<double>(kNsPerMs);
}

class CategoryReport {
 public:
  CategoryReport(const CategoryRequest& request, const TracedRequests& requests,
                 const diagnosis::Sides& sides)
      : request_(request), requests_(requests), sides_(sides) {}

  Result<Table> run() {
    count_requests();
    if (request_.every_ns > 0 &&
        window_times_.last_ns / request_.every_ns - window_times_.first_ns / request_.every_ns >=
            kMaxCategoryTimes) {
      return with_hint(
          with_field(fail(ErrorCode::kInvalid, "over {} parts of the window", kMaxCategoryTimes), "every"),
          "give a longer part, or a shorter window");
    }
    gather();
    describe();
    const Status judged = judge();
    return judged ? Result<Table>(table()) : propagate(judged);
  }

 private:
  bool takes(const traces::Trace& trace) const {
    const traces::Node& root = requests_.assembly.nodes_of(trace).front();
    return request_.service == 0 || requests_.spans->spans()[root.span].service == request_.service;
  }
  uint64_t hash_of(const traces::Trace& trace) const {
    return request_.by_tree ? trace.tree_hash : trace.set_hash;
  }

  // Which categories have rows of their own: those with the most requests in the window.
  void count_requests() {
    std::map<uint64_t, size_t> counts;
    for (size_t i = 0; i < sides_.size(); ++i) {
      const traces::Trace& trace = requests_.assembly.traces[i];
      // Of all requests, so that a rate is that of the time which was observed.
      if (sides_[i] == Side::kWindow) {
        window_times_.add(trace.start_ns);
        counts[hash_of(trace)] += takes(trace) ? 1U : 0U;
      } else if (sides_[i] == Side::kReference) {
        reference_times_.add(trace.start_ns);
      }
    }
    std::erase_if(counts, [](const auto& of) { return of.second == 0; });
    std::vector<std::pair<uint64_t, size_t>> order(counts.begin(), counts.end());
    sort_stably(order, [](const auto& of) {
      return std::pair(std::numeric_limits<size_t>::max() - of.second, of.first);
    });
    all_categories_ = order.size();
    order.resize(std::min(order.size(), kMaxCategories));
    for (const auto& [hash, count] : order) {
      has_row_.insert(hash);
    }
  }

  void gather() {
    for (size_t i = 0; i < sides_.size(); ++i) {
      const traces::Trace& trace = requests_.assembly.traces[i];
      if (sides_[i] == Side::kNeither || !takes(trace)) {
        continue;
      }
      const uint64_t hash = has_row_.contains(hash_of(trace)) ? hash_of(trace) : kOtherCategories;
      if (sides_[i] == Side::kReference) {
        ++reference_requests_;
        reference_[hash].latencies.add(trace, requests_);
        continue;
      }
      ++window_requests_;
      const int64_t begin_ns =
          request_.every_ns == 0 ? 0 : trace.start_ns / request_.every_ns * request_.every_ns;
      window_[{begin_ns, hash}].add(trace, requests_);
    }
  }

  void describe() {
    for (auto& [hash, of] : reference_) {
      of.statistics = statistics_of(of.latencies);
      of.sorted_ns = as_doubles(of.latencies.latencies_ns);
    }
    for (auto& [key, latencies] : window_) {
      const auto& [begin_ns, hash] = key;
      CategoryRow row{.begin_ns = begin_ns, .hash = hash};
      row.window = hash == kOtherCategories ? statistics_of(latencies)
                                            : statistics_of(latencies, hash, *requests_.spans);
      row.rate = rate_of(row.window.weight, window_times_.seconds(begin_ns, request_.every_ns));
      rows_.push_back(std::move(row));
    }
  }

  // What all other categories are together changes with what the others do.
  static bool is_judged(const CategoryRow& row) {
    return row.hash != kOtherCategories && row.window.requests >= kMinJudgedRequests;
  }

  Status judge() {
    const auto judged = std::ranges::count_if(rows_, is_judged);
    if (judged == 0) {
      return {};
    }
    // Each row has four tests, of ranks and of p95 to either side, or one, whether it is new (Bonferroni).
    const double alpha = kFalseCategories / (4 * static_cast<double>(judged));
    const double min_z = statistics::student_t_quantile(1 - alpha, std::numeric_limits<double>::infinity());
    for (CategoryRow& row : rows_) {
      if (!is_judged(row)) {
        continue;
      }
      if (const Status goes_on = check_stop(); !goes_on) {
        return propagate(goes_on);
      }
      if (row.window.variation > kAnomalousVariation) {
        row.kinds.emplace_back("anomalous");
      }
      const auto reference = reference_.find(row.hash);
      if (reference != reference_.end()) {
        compare(row, reference->second, min_z);
      } else if (is_new(row, alpha)) {
        row.kinds.emplace_back("new");
        row.evidence = fmt::format("none of {} requests of the reference", reference_requests_);
      }
    }
    return {};
  }

  // By Fisher's exact test: the chance that all requests of a category are in the window, were they spread over both sides.
  bool is_new(const CategoryRow& row, double alpha) const {
    const auto window = static_cast<double>(window_requests_);
    const auto all = static_cast<double>(window_requests_ + reference_requests_);
    const double max_log_p = std::log(alpha);
    double log_p = 0;
    for (uint64_t i = 0; i < row.window.requests && log_p >= max_log_p; ++i) {
      const auto before = static_cast<double>(i);
      log_p += std::log((window - before) / (all - before));
    }
    return log_p < max_log_p;
  }

  void compare(CategoryRow& row, const ReferenceCategory& reference, double min_z) const {
    if (reference.statistics.requests < kMinJudgedRequests) {
      return;
    }
    const std::vector<int64_t>& window_ns = window_.at({row.begin_ns, row.hash}).latencies_ns;
    const std::vector<int64_t>& reference_ns = reference.latencies.latencies_ns;
    const statistics::RankTest ranks = statistics::mann_whitney(as_doubles(window_ns), reference.sorted_ns);
    // By chance intervals of that width lie apart more rarely than such a z comes.
    const store::LatencyQuantile now = latency_quantile(window_ns, 0.95, min_z);
    const store::LatencyQuantile before = latency_quantile(reference_ns, 0.95, min_z);
    const bool have_intervals = now.has_interval() && before.has_interval();
    if ((ranks.z > min_z && ranks.auc >= kMinCategoryAuc) ||
        (have_intervals && now.low_ns > before.high_ns)) {
      row.kinds.emplace_back("slower");
    }
    if ((ranks.z < -min_z && ranks.auc <= 1 - kMinCategoryAuc) ||
        (have_intervals && now.high_ns < before.low_ns)) {
      row.kinds.emplace_back("faster");
    }
    row.evidence =
        fmt::format("p50 {:.3g} ms, before {:.3g} ms (z = {:.1f}); p95 {:.3g} ms, before {:.3g} ms",
                    in_ms(row.window.p50.value_ns), in_ms(reference.statistics.p50.value_ns), ranks.z,
                    in_ms(row.window.p95.value_ns), in_ms(reference.statistics.p95.value_ns));
  }

  Table table() {
    sort_stably(rows_, [this](const CategoryRow& row) {
      // Parts of the window are read as a course.
      return std::tuple(row.begin_ns, request_.every_ns == 0 && row.kinds.empty(),
                        -static_cast<int64_t>(row.window.requests));
    });
    Table made;
    made.columns = columns();
    for (const CategoryRow& row : rows_) {
      made.rows.push_back(values_of(row, static_cast<int64_t>(made.rows.size() + 1)));
    }
    const auto unusual =
        std::ranges::count_if(rows_, [](const CategoryRow& row) { return !row.kinds.empty(); });
    made.notes.push_back(
        fmt::format("{} requests of {} categories, {} requests to compare with; {} rows are not as usual",
                    window_requests_, all_categories_, reference_requests_, unusual));
    return made;
  }

  static std::vector<TableColumn> columns() {
    std::vector<TableColumn> made{
        {"rank", "count"}, {"begin", ""},    {"service", ""},       {"method", ""},      {"kind", ""},
        {"evidence", ""},  {"category", ""}, {"requests", "count"}, {"weight", "count"}, {"rate", "count/s"}};
    for (const char* quantile : {"p50", "p95", "p99"}) {
      for (const char* suffix : {"", "_low", "_high"}) {
        made.push_back({fmt::format("{}{}", quantile, suffix), "ns"});
      }
    }
    made.push_back({"variation", "share"});
    made.push_back({"reference_requests", "count"});
    made.push_back({"reference_rate", "count/s"});
    for (const char* quantile : {"p50", "p95", "p99"}) {
      made.push_back({fmt::format("reference_{}", quantile), "ns"});
    }
    made.push_back({"reference_variation", "share"});
    return made;
  }

  std::vector<Value> values_of(const CategoryRow& row, int64_t rank) const {
    const bool is_other = row.hash == kOtherCategories;
    const auto text = [](const std::string& of) { return of.empty() ? Value() : Value(of); };
    std::vector<Value> values{rank,
                              request_.every_ns == 0 ? Value() : Value(format_time(row.begin_ns)),
                              is_other ? std::string("[other]") : row.window.service,
                              text(row.window.operation),
                              text(fmt::format("{}", fmt::join(row.kinds, ", "))),
                              text(row.evidence),
                              text(row.window.category),
                              static_cast<int64_t>(row.window.requests),
                              row.window.weight,
                              row.rate};
    for (const store::LatencyQuantile& quantile : {row.window.p50, row.window.p95, row.window.p99}) {
      const bool has_interval = quantile.has_interval();
      values.emplace_back(quantile.value_ns);
      values.push_back(has_interval ? Value(quantile.low_ns) : Value());
      values.push_back(has_interval ? Value(quantile.high_ns) : Value());
    }
    values.emplace_back(row.window.variation);
    add_reference(row.hash, values);
    return values;
  }

  void add_reference(uint64_t hash, std::vector<Value>& values) const {
    const auto found = reference_.find(hash);
    if (found == reference_.end()) {
      constexpr size_t kReferenceColumns = 6;
      values.resize(values.size() + kReferenceColumns);
      return;
    }
    const store::CategoryStatistics& of = found->second.statistics;
    values.emplace_back(static_cast<int64_t>(of.requests));
    // The window may lie within the reference.
    const double seconds = reference_times_.seconds(0, 0) -
                           reference_times_.seconds(window_times_.first_ns, window_times_.between_ns());
    values.push_back(rate_of(of.weight, seconds));
    for (const store::LatencyQuantile& quantile : {of.p50, of.p95, of.p99}) {
      values.emplace_back(quantile.value_ns);
    }
    values.emplace_back(of.variation);
  }

  const CategoryRequest& request_;
  const TracedRequests& requests_;
  const diagnosis::Sides& sides_;
  ObservedTimes window_times_;
  ObservedTimes reference_times_;
  std::set<uint64_t> has_row_;
  std::map<std::pair<int64_t, uint64_t>, CategoryLatencies> window_;  // by begin of the part, and category
  std::map<uint64_t, ReferenceCategory> reference_;
  std::vector<CategoryRow> rows_;
  size_t all_categories_ = 0;
  size_t window_requests_ = 0;
  size_t reference_requests_ = 0;
};

}  // namespace

Result<Table> category_table(const CategoryRequest& request, const TracedRequests& requests,
                             const diagnosis::Sides& sides) {
  return CategoryReport(request, requests, sides).run();
}

}  // namespace plimsoll::query
