#include "query/series_files/pooling_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/time.h"
#include "statistics/false_discovery.h"
#include "statistics/pooling.h"

namespace plimsoll::query {
namespace {

constexpr double kLevel = 0.05;
constexpr size_t kDefaultLags = 20;
constexpr int64_t kMaxLags = 1000;

struct Pair {
  size_t first = 0;
  size_t second = 0;
  Result<statistics::ShiftTest> test;
};

std::vector<Pair> test_pairs(const ServiceSeries& series, statistics::ShiftRequest request) {
  // Holm multiplies the smallest p by the number of pairs: it must be able to come out at half the level.
  constexpr size_t kPermutationsPerPair = 40;
  const size_t services = series.services.size();
  request.permutations = std::max(request.permutations, kPermutationsPerPair * services * (services - 1) / 2);
  std::vector<double> times;
  for (const std::vector<double>& service : series.services) {
    times.push_back(
        statistics::autocorrelation_time(service, statistics::max_autocorrelation_time(service.size())));
  }
  std::vector<Pair> pairs;
  for (size_t i = 0; i < services; ++i) {
    for (size_t j = i + 1; j < services; ++j) {
      request.autocorrelation_time = std::max(times[i], times[j]);
      pairs.push_back({i, j, statistics::test_shift(series.services[i], series.services[j], request)});
    }
  }
  return pairs;
}

std::string verdict_of(const statistics::ShiftTest& test, double p) {
  if (p >= kLevel) {
    return "no dependence found";
  }
  return fmt::format("dependent: {}{}", test.correlation > 0 ? "together" : "in turn",
                     test.lag == 0 ? "" : ", shifted");
}

void add_pairs(const ServiceSeries& series, const std::vector<Pair>& pairs, Table& table) {
  std::vector<double> p;
  for (const Pair& pair : pairs) {
    if (pair.test) {
      p.push_back(pair.test->p);
    }
  }
  const std::vector<double> of_tested = statistics::holm(p);
  auto family_wise = of_tested.begin();
  for (const Pair& pair : pairs) {
    const std::string name = fmt::format("{} + {}", series.names[pair.first], series.names[pair.second]);
    if (!pair.test) {
      table.rows.push_back({"pair", name, {}, {}, {}, {}, {}, {}, pair.test.error().message});
      continue;
    }
    const double chance = *family_wise++;
    table.rows.push_back({"pair",
                          name,
                          {},
                          {},
                          {},
                          static_cast<double>(pair.test->lag) * static_cast<double>(series.step_ns),
                          pair.test->correlation,
                          chance,
                          verdict_of(*pair.test, chance)});
  }
}

void add_needs(const ServiceSeries& series, const statistics::PooledNeed& need, Table& table) {
  const auto add = [&](const char* kind, const std::string& name, double cpus) -> std::vector<Value>& {
    return table.rows.emplace_back(std::vector<Value>{kind, name, cpus, {}, {}, {}, {}, {}, std::string()});
  };
  for (size_t i = 0; i < series.names.size(); ++i) {
    add("service", series.names[i], need.alone[i]);
  }
  add("separate", "sum of the services' needs", need.separate);
  std::vector<Value>& pooled = add("pooled", "need of the sum, as observed", need.pooled);
  pooled.back() = need.pooled > need.independent_high  ? "more than if independent"
                  : need.pooled < need.independent_low ? "less than if independent"
                                                       : "as if independent";
  std::vector<Value>& independent = add("independent", "if shifted in time at random", need.independent);
  independent[3] = need.independent_low;
  independent[4] = need.independent_high;
  add("normal", "if independent and normal", need.normal);
}

}  // namespace

Result<Table> pooling_table(const ServiceSeries& series, const PoolingRequest& request) {
  const auto need = statistics::pool_need(series.services, {.share = request.share, .seed = request.seed});
  if (!need) {
    return propagate(need);
  }
  const int64_t lags = request.max_lag_ns > 0 ? request.max_lag_ns / series.step_ns : int64_t{kDefaultLags};
  if (lags > kMaxLags) {
    return with_hint(
        fail(ErrorCode::kInvalid, "{} lags of {} are too many", lags, format_duration(series.step_ns)),
        fmt::format("give a --max-lag of {} at most", format_duration(kMaxLags * series.step_ns)));
  }
  Table table;
  table.columns = {{"kind", ""},  {"name", ""},        {"cpus", ""}, {"cpus_from", ""}, {"cpus_to", ""},
                   {"lag", "ns"}, {"correlation", ""}, {"p", ""},    {"verdict", ""}};
  add_needs(series, *need, table);
  const std::vector<Pair> pairs =
      test_pairs(series, {.max_lag = static_cast<size_t>(lags), .seed = request.seed});
  add_pairs(series, pairs, table);
  table.notes.push_back(fmt::format("{} steps of {}; cpus meet the need in {:g} % of the steps",
                                    series.services.front().size(), format_duration(series.step_ns),
                                    request.share * 100));
  if (need->separate > 0) {
    table.notes.push_back(fmt::format("sharing CPUs saves {:.3g} of {:.3g} ({:.1f} %)",
                                      need->separate - need->pooled, need->separate,
                                      100 * (1 - need->pooled / need->separate)));
  }
  if (series.left_out > 0 || series.gaps > 0) {
    table.notes.push_back(
        fmt::format("{} steps lack a service and are left out; time is missing in {} places", series.left_out,
                    series.gaps));
  }
  table.notes.push_back(
      "lag: the second of the pair follows the first; p over all pairs and lags, if they were independent");
  return table;
}

}  // namespace plimsoll::query
