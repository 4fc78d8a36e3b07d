#include "query/wsmeter/observations.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "query/views/ratio.h"

namespace plimsoll::query {
namespace {

// Machine, job, instance.
using InstanceKey = std::tuple<std::string, std::string, std::string>;

std::map<InstanceKey, double> quotas_of(const LiveFleet& fleet) {
  std::map<InstanceKey, double> quotas;
  for (const store::Census& census : fleet.censuses) {
    for (const wire::InstanceUsage& usage : census.instances) {
      if (usage.quota_cpus() > 0) {
        quotas[{census.machine_id, usage.job(), usage.instance()}] = usage.quota_cpus();
      }
    }
  }
  return quotas;
}

Value quota_of(const std::map<InstanceKey, double>& quotas, const InstanceKey& key) {
  const auto found = quotas.find(key);
  return found == quotas.end() ? Value() : Value(found->second);
}

}  // namespace

Result<Table> observations(const ObservationsRequest& request, const Snapshot& snapshot,
                           const LiveFleet& fleet) {
  RatioRequest ratio{request.selection, "instructions/cycles", {}, request.limit, true};
  for (const char* dimension : {"job", "machine", "platform", "instance"}) {
    ratio.by.push_back(*find_dimension(dimension));
  }
  auto table = ratio_table(ratio, snapshot);
  if (!table) {
    return table;
  }
  const size_t ipc = column_of(*table, "ratio");
  const size_t margin = column_of(*table, "ratio_margin");
  const size_t kind = column_of(*table, "margin_kind");
  const size_t cycles = column_of(*table, "denominator");
  const auto quotas = quotas_of(fleet);
  for (auto& row : table->rows) {
    const auto text = [&](size_t column) { return std::get<std::string>(row[column]); };
    const Value quota = quota_of(quotas, {text(1), text(0), text(3)});
    row = {row[0], row[1], row[2], row[3], row[ipc], row[margin], row[kind], row[cycles], quota};
  }
  table->columns = {{"job", ""},
                    {"machine", ""},
                    {"platform", ""},
                    {"instance", ""},
                    {"ipc", table->columns[ipc].unit},
                    {"ipc_margin", table->columns[margin].unit},
                    {"margin_kind", ""},
                    {"cycles", table->columns[cycles].unit},
                    {"quota_cpus", "CPUs"}};
  return table;
}

}  // namespace plimsoll::query
