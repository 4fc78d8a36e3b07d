#include "query/wsmeter/observed/performance.h"

#include <fmt/ranges.h>

#include <ranges>
#include <tuple>

#include "query/wsmeter/observed/columns.h"

namespace plimsoll::query {
namespace {

struct PerformanceColumns {
  Column platform;
  Column job;
  Column instance;
  Column performance;
  Column machine;
  Column rack;
};

Status check_columns(const PerformanceColumns& columns) {
  for (const Column* column : {&columns.platform, &columns.job, &columns.instance, &columns.performance}) {
    auto checked = column->require(
        "the first line must name the columns: platform,job,instance,performance and optionally "
        "machine,rack");
    if (!checked) {
      return checked;
    }
  }
  return {};
}

// Puts the observations of an instance together.
class Collector {
 public:
  explicit Collector(PerformanceTable& table) : table_(table) {}

  void add(const Observation& seen) {
    auto& instances = table_.platforms[seen.platform][seen.job];
    const auto [place, is_new] = rows_.try_emplace({&instances, seen.machine, seen.instance},
                                                   Rows{.place = instances.size(), .count = 0});
    if (is_new) {
      instances.push_back({.performance = 0, .machine = seen.machine, .rack = seen.rack});
    }
    double& mean = instances[place->second.place].performance;
    mean += (seen.performance - mean) / static_cast<double>(++place->second.count);
  }

 private:
  using Key = std::tuple<const void*, std::string, std::string>;  // platform and job, machine, instance
  struct Rows {
    size_t place;
    int64_t count;
  };

  PerformanceTable& table_;
  std::map<Key, Rows> rows_;
};

}  // namespace

Result<PerformanceTable> read_performance(std::string_view content) {
  const auto csv = read_table(content);
  if (!csv) {
    return propagate(csv);
  }
  const PerformanceColumns columns{.platform = Column(*csv, {"platform"}),
                                   .job = Column(*csv, {"job"}),
                                   .instance = Column(*csv, {"instance"}),
                                   .performance = Column(*csv, {"performance", "ipc"}),
                                   .machine = Column(*csv, {"machine"}),
                                   .rack = Column(*csv, {"rack"})};
  if (auto checked = check_columns(columns); !checked) {
    return propagate(checked);
  }
  PerformanceTable table{
      .platforms = {}, .has_machines = columns.machine.is_there(), .has_racks = columns.rack.is_there()};
  Collector collector(table);
  for (const formats::CsvTable::Row& row : csv->rows) {
    const auto performance = columns.performance.number(row);
    if (!performance) {
      return propagate(performance);
    }
    collector.add({.job = columns.job.text(row),
                   .machine = columns.machine.text(row),
                   .rack = columns.rack.text(row),
                   .platform = columns.platform.text(row),
                   .instance = columns.instance.text(row),
                   .performance = *performance});
  }
  return table;
}

PerformanceTable performance_of(const Observations& observations) {
  PerformanceTable table{.platforms = {}, .has_machines = true, .has_racks = true};
  Collector collector(table);
  for (const Observation& seen : observations.seen) {
    collector.add(seen);
  }
  return table;
}

Result<const InstancesByJob*> platform_of(const PerformanceTable& table, std::string_view platform) {
  if (table.platforms.empty()) {
    return fail(ErrorCode::kNotFound, "no observations{}",
                platform.empty() ? "" : fmt::format(" of {} or any platform", platform));
  }
  const auto found = platform.empty() && table.platforms.size() == 1 ? table.platforms.begin()
                                                                     : table.platforms.find(platform);
  if (found != table.platforms.end()) {
    return &found->second;
  }
  const auto names = fmt::format("{}", fmt::join(std::views::keys(table.platforms), ", "));
  if (platform.empty()) {
    return with_hint(
        fail(ErrorCode::kInvalid, "{} platforms, and --current is missing", table.platforms.size()),
        fmt::format("give --current, one of: {}", names));
  }
  return with_hint(fail(ErrorCode::kNotFound, "no observations of the platform {}", platform),
                   fmt::format("platforms with observations: {}", names));
}

}  // namespace plimsoll::query
