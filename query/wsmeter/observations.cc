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

std::map<std::string, std::string> racks_of(const LiveFleet& fleet) {
  std::map<std::string, std::string> racks;
  for (const store::LiveMachine& machine : fleet.machines) {
    racks[machine.attributes.id()] = machine.rack;
  }
  return racks;
}

}  // namespace

Result<ObservationsRequest> parse_observations(const Parameters& parameters, int64_t now_ns) {
  ObservationsRequest request;
  std::vector<Parameter> own = filter_parameters(now_ns, request.selection);
  own.push_back(ratio_parameter(request.ratio));
  own.push_back(count_parameter("limit", 100'000'000, request.limit));
  const auto read = read_parameters(parameters, own);
  const auto checked = read ? check_selection(request.selection) : read;
  return checked ? Result<ObservationsRequest>(std::move(request)) : propagate(checked);
}

Result<Table> observations(const ObservationsRequest& request, const Snapshot& snapshot,
                           const LiveFleet& fleet) {
  RatioRequest ratio{request.selection, request.ratio, {}, request.limit, true};
  for (const char* dimension : {"job", "machine", "platform", "instance"}) {
    ratio.by.push_back(*find_dimension(dimension));
  }
  auto table = ratio_table(ratio, snapshot);
  if (!table) {
    return table;
  }
  const size_t performance = column_of(*table, "ratio");
  const size_t margin = column_of(*table, "ratio_margin");
  const size_t kind = column_of(*table, "margin_kind");
  const size_t denominator = column_of(*table, "denominator");
  const size_t all = table->rows.size();
  if (all == request.limit) {
    table->notes.push_back(fmt::format("limited to the {} instances with the most {}: raise --limit", all,
                                       table->columns[denominator].name));
  }
  std::erase_if(table->rows,
                [&](const auto& row) { return std::holds_alternative<std::monostate>(row[performance]); });
  if (const size_t left_out = all - table->rows.size(); left_out > 0) {
    table->notes.push_back(fmt::format(
        "{} of {} instances have no samples of one of the events and are not listed", left_out, all));
  }
  const auto quotas = quotas_of(fleet);
  const auto racks = racks_of(fleet);
  for (auto& row : table->rows) {
    const auto text = [&](size_t column) { return std::get<std::string>(row[column]); };
    const auto rack = racks.find(text(1));
    row = {row[0],
           row[1],
           rack == racks.end() ? std::string() : rack->second,
           row[2],
           row[3],
           row[performance],
           row[margin],
           row[kind],
           row[denominator],
           quota_of(quotas, {text(1), text(0), text(3)})};
  }
  table->columns = {{"job", ""},
                    {"machine", ""},
                    {"rack", ""},
                    {"platform", ""},
                    {"instance", ""},
                    {"performance", table->columns[performance].unit},
                    {"performance_margin", table->columns[margin].unit},
                    {"margin_kind", ""},
                    {"denominator", table->columns[denominator].unit},
                    {"quota_cpus", "CPUs"}};
  return table;
}

}  // namespace plimsoll::query
