#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <boost/unordered/unordered_flat_map.hpp>

#include "base/stop_scope.h"
#include "diagnosis/buckets/table_builder.h"

namespace plimsoll::diagnosis {
namespace {

constexpr size_t kBlocksForHosts = 64;

}  // namespace

void TableBuilder::choose_traces() {
  size_t rootless = 0;
  for (uint32_t i = 0; i < assembly_.traces.size(); ++i) {
    const traces::Trace& trace = assembly_.traces[i];
    if (trace.start_ns < options_.since_ns || trace.start_ns >= options_.until_ns) {
      continue;
    }
    if (nodes_of(i).front().has(traces::kOrphan)) {
      ++rootless;
    } else {
      chosen_.push_back(i);
    }
  }
  if (rootless > 0) {
    made_.notes.push_back(fmt::format("{} requests without their root left out", rootless));
  }
}

// Requests of other versions go.
void TableBuilder::keep_sides() {
  ComparedRequests& requests = made_.requests;
  size_t kept = 0;
  for (size_t i = 0; i < made_.trace.size(); ++i) {
    const VersionGroup& version = made_.versions[version_of_[i]];
    if (!version.is_base && !version.is_current) {
      continue;
    }
    requests.is_new.push_back(version.is_current ? 1 : 0);
    made_.trace[kept] = made_.trace[i];
    ran_by_[kept++] = ran_by_[i];
  }
  made_.trace.resize(kept);
  ran_by_.resize(kept);
}

void TableBuilder::add_times() {
  for (const uint32_t trace : made_.trace) {
    const traces::Node& root = nodes_of(trace).front();
    made_.requests.ms.push_back(static_cast<float>(static_cast<double>(root.duration_ns()) / 1e6));
    made_.requests.start_ns.push_back(root.start_ns);
  }
}

// The machines that replicas run on, by replica: as for clocks, a replica of which some spans name a machine, and all the same one, runs on it.
std::vector<uint32_t> TableBuilder::machines_of_replicas() const {
  constexpr uint32_t kSeveral = UINT32_MAX;
  std::vector<uint32_t> machines(spans_.names().replicas.size(), 0);
  for (const traces::Span& span : spans_.spans()) {
    uint32_t& machine = machines[span.replica];
    if (span.replica != 0 && span.machine != 0) {
      machine = machine == 0 || machine == span.machine ? span.machine : kSeveral;
    }
  }
  std::ranges::replace(machines, kSeveral, 0U);
  return machines;
}

// Requests whose host is unknown go, unless they are most of a side.
void TableBuilder::set_hosts() {
  ComparedRequests& requests = made_.requests;
  const std::vector<uint32_t> machines = machines_of_replicas();
  std::vector<uint64_t> hosts;  // by request; 0: unknown
  std::array<size_t, 2> all{};
  std::array<size_t, 2> unknown{};
  for (size_t i = 0; i < ran_by_.size(); ++i) {
    const traces::Span& span = *ran_by_[i];
    const uint32_t machine = span.machine != 0 ? span.machine : machines[span.replica];
    hosts.push_back(machine != 0 ? machine : uint64_t{span.replica} << 32U);
    ++all[requests.is_new[i]];
    unknown[requests.is_new[i]] += hosts.back() == 0 ? 1 : 0;
  }
  made_.has_hosts = 2 * unknown[0] < all[0] && 2 * unknown[1] < all[1];
  if (!made_.has_hosts) {
    // Requests are in the order of their start.
    for (size_t i = 0; i < hosts.size(); ++i) {
      hosts[i] = 1 + i * kBlocksForHosts / hosts.size();
    }
    made_.notes.push_back(
        fmt::format("{} of {} requests have no machine or replica: blocks of time stand for hosts, so that a "
                    "busy hour can pass for a version",
                    unknown[0] + unknown[1], hosts.size()));
  } else if (unknown[0] + unknown[1] > 0) {
    made_.notes.push_back(
        fmt::format("{} requests left out: the span that has the version names no machine "
                    "or replica",
                    unknown[0] + unknown[1]));
  }
  boost::unordered_flat_map<uint64_t, uint32_t> numbers;
  size_t kept = 0;
  for (size_t i = 0; i < hosts.size(); ++i) {
    if (hosts[i] == 0) {
      continue;
    }
    requests.host.push_back(
        numbers.try_emplace(hosts[i], static_cast<uint32_t>(numbers.size())).first->second);
    requests.is_new[kept] = requests.is_new[i];
    made_.trace[kept] = made_.trace[i];
    ran_by_[kept++] = ran_by_[i];
  }
  requests.is_new.resize(kept);
  made_.trace.resize(kept);
  ran_by_.resize(kept);
  requests.hosts = numbers.size();
}

Result<RequestTable> TableBuilder::build() {
  choose_traces();
  if (chosen_.empty()) {
    return with_hint(fail(ErrorCode::kNotFound, "no request of {} began between --since and --until",
                          assembly_.traces.size()),
                     "change --since and --until, or give other files");
  }
  // Each step goes through all requests, and some through all spans.
  if (auto goes_on = check_stop(); !goes_on) {
    return propagate(goes_on);
  }
  if (auto found = find_versions(); !found) {
    return propagate(found);
  }
  if (auto goes_on = check_stop(); !goes_on) {
    return propagate(goes_on);
  }
  if (auto chosen = choose_sides(); !chosen) {
    return propagate(chosen);
  }
  keep_sides();
  if (auto goes_on = check_stop(); !goes_on) {
    return propagate(goes_on);
  }
  set_hosts();
  add_times();
  if (auto goes_on = check_stop(); !goes_on) {
    return propagate(goes_on);
  }
  if (auto added = add_attributes(); !added) {
    return propagate(added);
  }
  return std::move(made_);
}

std::string RequestTable::current_version() const {
  const auto current = std::ranges::find_if(versions, &VersionGroup::is_current);
  return current == versions.end() ? "" : current->name;
}

std::string RequestTable::base_version() const {
  std::vector<std::string_view> names;
  for (const VersionGroup& version : versions) {
    if (version.is_base) {
      names.push_back(version.name);
    }
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

Result<RequestTable> request_table(const traces::SpanSet& spans, const traces::Assembly& assembly,
                                   const RequestTableOptions& options) {
  return TableBuilder(spans, assembly, options).build();
}

}  // namespace plimsoll::diagnosis
