#include <fmt/ranges.h>

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>

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
    const traces::Node& root = nodes_of(made_.trace[i]).front();
    requests.ms.push_back(static_cast<float>(static_cast<double>(root.duration_ns()) / 1e6));
    requests.start_ns.push_back(root.start_ns);
    requests.is_new.push_back(version.is_current ? 1 : 0);
    made_.trace[kept] = made_.trace[i];
    ran_by_[kept++] = ran_by_[i];
  }
  made_.trace.resize(kept);
  ran_by_.resize(kept);
}

void TableBuilder::set_hosts() {
  ComparedRequests& requests = made_.requests;
  const auto unknown = static_cast<size_t>(std::ranges::count_if(
      ran_by_, [](const traces::Span* span) { return span->machine == 0 && span->replica == 0; }));
  made_.has_hosts = 2 * unknown < ran_by_.size();
  boost::unordered_flat_map<uint64_t, uint32_t> numbers;
  for (size_t i = 0; i < ran_by_.size(); ++i) {
    const traces::Span& span = *ran_by_[i];
    // Requests are in the order of their start.
    const uint64_t host = !made_.has_hosts    ? i * kBlocksForHosts / ran_by_.size()
                          : span.machine != 0 ? span.machine
                                              : uint64_t{span.replica} << 32U;
    requests.host.push_back(numbers.try_emplace(host, static_cast<uint32_t>(numbers.size())).first->second);
  }
  requests.hosts = numbers.size();
  if (!made_.has_hosts) {
    made_.notes.push_back(
        fmt::format("{} of {} requests have no machine or replica: blocks of time stand for hosts, so that a "
                    "busy hour can "
                    "pass for a version",
                    unknown, ran_by_.size()));
  }
}

Result<RequestTable> TableBuilder::build() {
  choose_traces();
  if (chosen_.empty()) {
    return with_hint(fail(ErrorCode::kNotFound, "no request of {} began between --since and --until",
                          assembly_.traces.size()),
                     "change --since and --until, or give other files");
  }
  if (auto found = find_versions(); !found) {
    return propagate(found);
  }
  if (auto chosen = choose_sides(); !chosen) {
    return propagate(chosen);
  }
  keep_sides();
  set_hosts();
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
