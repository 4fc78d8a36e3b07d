#include "query/wsmeter/experiment/arm.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "query/table/values.h"

namespace plimsoll::query {
namespace {

struct Columns {
  size_t job, machine, rack, instance, performance, load;
};

Result<Columns> columns_of(const Table& table) {
  Columns columns{};
  for (const auto& [name, place] :
       {std::pair("job", &columns.job), std::pair("machine", &columns.machine),
        std::pair("rack", &columns.rack), std::pair("instance", &columns.instance),
        std::pair("performance", &columns.performance), std::pair("denominator", &columns.load)}) {
    const auto found = find_column(table, name);
    if (!found) {
      return propagate(found);
    }
    *place = *found;
  }
  return columns;
}

// Job, instance, machine.
using Place = std::tuple<std::string, std::string, std::string>;

class ArmBuilder {
 public:
  Status add(const Columns& columns, const std::vector<Value>& row) {
    const auto performance = number_in(row[columns.performance]);
    const auto load = number_in(row[columns.load]);
    if (!performance || !load) {
      return fail(ErrorCode::kCorrupt, "an observation has no number for performance or load");
    }
    const Place place{text_in(row[columns.job]), text_in(row[columns.instance]),
                      text_in(row[columns.machine])};
    const auto& [job, instance, machine] = place;
    auto& instances = arm_.instances[job];
    auto& loads = arm_.loads[job];
    const auto [known, is_new] = places_.try_emplace(place, instances.size());
    if (is_new) {
      instances.push_back(
          {.performance = *performance, .machine = machine, .rack = text_in(row[columns.rack])});
      loads.push_back(*load);
      arm_.names[job].push_back(instance + " on " + machine);
      return {};
    }
    double& sum = loads[known->second];
    double& mean = instances[known->second].performance;
    sum += *load;
    mean += sum > 0 ? (*performance - mean) * *load / sum : 0;
    return {};
  }

  Arm take() { return std::move(arm_); }

 private:
  Arm arm_;
  std::map<Place, size_t> places_;
};

}  // namespace

Result<Arm> arm_of(const Table& observations) {
  const auto columns = columns_of(observations);
  if (!columns) {
    return propagate(columns);
  }
  ArmBuilder builder;
  for (const auto& row : observations.rows) {
    if (auto added = builder.add(*columns, row); !added) {
      return propagate(added);
    }
  }
  Arm arm = builder.take();
  arm.from_ns = observations.coverage.from_ns;
  arm.to_ns = observations.coverage.to_ns;
  arm.notes = observations.notes;
  return arm;
}

size_t instances_of(const Arm& arm) {
  size_t count = 0;
  for (const auto& [job, instances] : arm.instances) {
    count += instances.size();
  }
  return count;
}

double load_of(const Arm& arm) {
  double load = 0;
  for (const auto& [job, loads] : arm.loads) {
    load += std::accumulate(loads.begin(), loads.end(), 0.0);
  }
  return load;
}

size_t instances_of_both(const Arm& control, const Arm& test) {
  size_t count = 0;
  for (const auto& [job, names] : control.names) {
    const auto other = test.names.find(job);
    if (other != test.names.end()) {
      const std::set<std::string> known(names.begin(), names.end());
      count += static_cast<size_t>(std::ranges::count_if(
          other->second, [&](const std::string& name) { return known.contains(name); }));
    }
  }
  return count;
}

}  // namespace plimsoll::query
