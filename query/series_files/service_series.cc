#include "query/series_files/service_series.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "statistics/robust.h"

namespace plimsoll::query {
namespace {

struct ServiceValue {
  int64_t time_ns = 0;
  double cpus = 0;
};

using ServiceValues = std::map<std::string, std::vector<ServiceValue>, std::less<>>;

// The times of a service, ascending, each once.
std::vector<int64_t> times_of(const std::vector<ServiceValue>& values) {
  std::vector<int64_t> times;
  for (const ServiceValue& value : values) {
    if (times.empty() || value.time_ns != times.back()) {
      times.push_back(value.time_ns);
    }
  }
  return times;
}

// The step of the service with the most times; 0: none has two. Times scatter, so that the median of the gaps is off by a part of a step: counted over
// twice as many times, time after time, its error never comes to half a step, and goes down with the time that is counted over.
double step_of(ServiceValues& values) {
  std::vector<int64_t> times;
  for (auto& [name, of] : values) {
    // By value too: sums of one time do not depend on the order of the rows.
    std::ranges::sort(of, {}, [](const ServiceValue& value) { return std::pair(value.time_ns, value.cpus); });
    if (std::vector<int64_t> others = times_of(of); others.size() > times.size()) {
      times = std::move(others);
    }
  }
  if (times.size() < 2) {
    return 0;
  }
  std::vector<double> gaps;
  for (size_t i = 1; i < times.size(); ++i) {
    gaps.push_back(static_cast<double>(times[i] - times[i - 1]));
  }
  constexpr size_t kFirstTimes = 4;
  double step_ns = statistics::median_of(gaps);
  for (size_t to = std::min(kFirstTimes, times.size() - 1);; to = std::min(2 * to, times.size() - 1)) {
    const auto since_ns = static_cast<double>(times[to] - times.front());
    step_ns = since_ns / std::max(std::round(since_ns / step_ns), 1.0);
    if (to == times.size() - 1) {
      return step_ns;
    }
  }
}

Status lay_out(const ServiceValues& values, const std::string& file, double step_ns, ServiceSeries& series) {
  constexpr double kRoundingNs = 1000;  // of times in microseconds
  int64_t first_ns = std::numeric_limits<int64_t>::max();
  for (const auto& [name, of] : values) {
    series.names.push_back(name);
    first_ns = std::min(first_ns, of.front().time_ns);
  }
  std::map<int64_t, std::vector<std::optional<double>>> steps;
  for (size_t service = 0; service < series.names.size(); ++service) {
    for (const ServiceValue& value : values.at(series.names[service])) {
      const auto since_ns = static_cast<double>(value.time_ns - first_ns);
      const double step = std::round(since_ns / step_ns);
      if (std::abs(since_ns - step * step_ns) > step_ns / 10 + kRoundingNs) {
        return with_hint(fail(ErrorCode::kInvalid, "{}: times of {} are not {} ms apart", file,
                              series.names[service], static_cast<double>(series.step_ns) / 1e6),
                         "give every service one value per step");
      }
      auto& row = steps[static_cast<int64_t>(step)];
      row.resize(series.names.size());
      row[service] = row[service].value_or(0) + value.cpus;
    }
  }
  series.services.resize(series.names.size());
  std::optional<int64_t> before;
  for (const auto& [step, row] : steps) {
    if (!std::ranges::all_of(row, [](const auto& value) { return value.has_value(); })) {
      ++series.left_out;
      continue;
    }
    series.gaps += before && step != *before + 1 ? 1 : 0;
    before = step;
    for (size_t service = 0; service < row.size(); ++service) {
      series.services[service].push_back(row[service].value_or(0));
    }
  }
  return {};
}

}  // namespace

Result<ServiceSeries> read_service_series(const NamedSeries& series) {
  static constexpr std::array<WantedColumn, 3> kColumns{
      {{.name = "time"}, {.name = "service"}, {.name = "cpus"}}};
  ServiceValues values;
  const Status done =
      for_each_record(series, kColumns, [&](uint64_t, std::span<const std::string_view> fields) -> Status {
        const auto time_ns = time_field(fields[0]);
        const auto cpus = number_field("cpus", fields[2]);
        if (!time_ns || !cpus) {
          return !time_ns ? propagate(time_ns) : propagate(cpus);
        }
        auto at = values.find(fields[1]);
        if (at == values.end()) {
          at = values.try_emplace(std::string(fields[1])).first;
        }
        at->second.push_back({.time_ns = *time_ns, .cpus = *cpus});
        return values.size() <= kMaxPooledServices
                   ? Status()
                   : fail(ErrorCode::kInvalid, "more than {} services", kMaxPooledServices);
      });
  if (!done) {
    return propagate(done);
  }
  ServiceSeries result;
  const double step_ns = step_of(values);
  result.step_ns = std::llround(step_ns);
  if (values.size() < 2 || result.step_ns == 0) {
    return fail(ErrorCode::kInvalid, "{}: pooling requires two services with two times each", series.name);
  }
  if (const Status laid = lay_out(values, series.name, step_ns, result); !laid) {
    return propagate(laid);
  }
  if (result.services.front().empty()) {
    return fail(ErrorCode::kInvalid, "{}: at no time do all services have a value", series.name);
  }
  return result;
}

}  // namespace plimsoll::query
