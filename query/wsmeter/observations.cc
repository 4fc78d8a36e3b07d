#include "query/wsmeter/observations.h"

#include <map>
#include <optional>
#include <tuple>
#include <utility>

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

std::optional<double> quota_of(const std::map<InstanceKey, double>& quotas, const InstanceKey& key) {
  const auto found = quotas.find(key);
  return found == quotas.end() ? std::nullopt : std::optional(found->second);
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

Result<Observations> observe(const ObservationsRequest& request, const Snapshot& snapshot,
                             const LiveFleet& fleet) {
  RatioRequest ratio{request.selection, request.ratio, {}, request.limit, true};
  for (const char* dimension : {"job", "machine", "platform", "instance"}) {
    ratio.by.push_back(*find_dimension(dimension));
  }
  auto ratios = ratio_rows(ratio, snapshot);
  if (!ratios) {
    return propagate(ratios);
  }
  Observations observations{.event = ratios->event,
                            .performance_unit = ratios->event,
                            .load_unit = ratios->denominator_unit,
                            .seen = {},
                            .notes = std::move(ratios->notes),
                            .coverage = std::move(ratios->coverage)};
  const auto quotas = quotas_of(fleet);
  const auto racks = racks_of(fleet);
  for (RatioRow& row : ratios->rows) {
    if (!row.ratio) {
      continue;
    }
    Observation seen{.job = std::move(row.key[0]),
                     .machine = std::move(row.key[1]),
                     .platform = std::move(row.key[2]),
                     .instance = std::move(row.key[3]),
                     .performance = *row.ratio,
                     .load = row.denominator};
    const auto rack = racks.find(seen.machine);
    seen.rack = rack == racks.end() ? std::string() : rack->second;
    if (row.estimate) {
      seen.margin = row.estimate->margin;
      seen.margin_kind = statistics::margin_kind_name(row.estimate->margin_kind);
    }
    seen.quota_cpus = quota_of(quotas, {seen.machine, seen.job, seen.instance});
    observations.seen.push_back(std::move(seen));
  }
  const size_t all = ratios->rows.size();
  if (all == request.limit) {
    observations.notes.push_back(
        fmt::format("limited to the {} instances with the most denominator: raise --limit", all));
  }
  if (const size_t left_out = all - observations.seen.size(); left_out > 0) {
    observations.notes.push_back(fmt::format(
        "{} of {} instances have no samples of one of the events and are not listed", left_out, all));
  }
  return observations;
}

Result<Table> observations(const ObservationsRequest& request, const Snapshot& snapshot,
                           const LiveFleet& fleet) {
  const auto seen = observe(request, snapshot, fleet);
  return seen ? Result<Table>(table_of(*seen)) : propagate(seen);
}

}  // namespace plimsoll::query
