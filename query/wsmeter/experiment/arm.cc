#include "query/wsmeter/experiment/arm.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <variant>

namespace plimsoll::query {
namespace {

struct Columns {
  size_t job, machine, rack, instance, performance, load;
};

Result<Columns> columns_of(const Table& table) {
  for (const char* name : {"job", "machine", "rack", "instance", "performance", "denominator"}) {
    if (std::ranges::find(table.columns, name, &TableColumn::name) == table.columns.end()) {
      return fail(ErrorCode::kInvalid, "observations have no column {}", name);
    }
  }
  return Columns{.job = column_of(table, "job"),
                 .machine = column_of(table, "machine"),
                 .rack = column_of(table, "rack"),
                 .instance = column_of(table, "instance"),
                 .performance = column_of(table, "performance"),
                 .load = column_of(table, "denominator")};
}

// Whole numbers come as such where they went through JSON.
Result<double> number_in(const Value& value) {
  if (const auto* real = std::get_if<double>(&value)) {
    return *real;
  }
  const auto* whole = std::get_if<int64_t>(&value);
  return whole != nullptr ? Result<double>(static_cast<double>(*whole))
                          : fail(ErrorCode::kInvalid, "an observation has a text in place of a number");
}

std::string text_in(const Value& value) {
  const auto* text = std::get_if<std::string>(&value);
  return text != nullptr ? *text : std::string();
}

// Job, instance, machine.
using Place = std::tuple<std::string, std::string, std::string>;

class ArmBuilder {
 public:
  Status add(const Columns& columns, const std::vector<Value>& row) {
    const auto performance = number_in(row[columns.performance]);
    const auto load = number_in(row[columns.load]);
    if (!performance || !load) {
      return propagate(!performance ? performance : load);
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
  return arm;
}

size_t instances_of(const Arm& arm) {
  size_t count = 0;
  for (const auto& [job, instances] : arm.instances) {
    count += instances.size();
  }
  return count;
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
