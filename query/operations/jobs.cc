#include "query/operations/jobs.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "query/rows/estimate_columns.h"

namespace plimsoll::query {
namespace {

struct Job {
  size_t machines = 0;
  int64_t instances = 0;
  int64_t unlimited = 0;  // instances
  double quota_cpus = 0;
  std::optional<double> used_cpus = {};
};

class JobsQuery {
 public:
  JobsQuery(const JobsRequest& request, const LiveFleet& fleet) : request_(request) {
    std::set<std::string_view> live;
    for (const store::LiveMachine& machine : fleet.machines) {
      if (machine.is_live(request.now_ns)) {
        live.insert(machine.attributes.id());
      }
    }
    table_.coverage.machines_live = static_cast<int64_t>(live.size());
    registered_ = fleet.machines.size();
    for (const store::Census& census : fleet.censuses) {
      if (live.contains(census.machine_id)) {
        cover(census.taken_ns);
        for (const store::JobPlacement& placement : store::placements_of(census.instances)) {
          add(placement.job, placement);
        }
        add_use(census);
      }
    }
    for (size_t number = 0; number < fleet.past_jobs.machines(); ++number) {
      const std::span<const store::PlacedJob> jobs = fleet.past_jobs.of(number);
      if (jobs.empty() || !live.contains(fleet.machines[number].attributes.id())) {
        continue;
      }
      cover(request.now_ns);
      for (const store::PlacedJob& placed : jobs) {
        add(fleet.past_jobs.name(placed.job), placed);
      }
    }
  }

  Table run() {
    if (jobs_.empty()) {
      table_.notes.push_back("no results: " + why_empty());
    }
    using Entry = std::pair<std::string_view, const Job*>;
    std::vector<Entry> order;
    double used_by_all = 0;
    for (const auto& [name, job] : jobs_) {
      order.emplace_back(name, &job);
      used_by_all += job.used_cpus.value_or(0);
    }
    std::ranges::sort(order, [](const Entry& a, const Entry& b) {
      const double x = a.second->used_cpus.value_or(0);
      const double y = b.second->used_cpus.value_or(0);
      return x != y ? x > y : a.first < b.first;
    });
    if (order.size() > request_.limit) {
      table_.notes.push_back(fmt::format("showing {} of {} jobs", request_.limit, order.size()));
      order.resize(request_.limit);
    }
    table_.columns = {{"job", ""},
                      {"machines", "count"},
                      {"instances", "count"},
                      {"cpu_quota", "CPUs"},
                      {"unlimited", "count"},
                      {"cpu_used", "CPUs"},
                      {"cpu_used_share", "share"}};
    for (const auto& [name, job] : order) {
      const bool has_share = job->used_cpus && used_by_all > 0;
      table_.rows.push_back(
          {std::string(name), static_cast<int64_t>(job->machines), job->instances,
           job->quota_cpus > 0 ? Value(job->quota_cpus) : Value(), job->unlimited,
           value_or_absent(job->used_cpus),
           value_or_absent(has_share ? std::optional(*job->used_cpus / used_by_all) : std::nullopt)});
    }
    return std::move(table_);
  }

 private:
  std::string why_empty() const {
    if (registered_ == 0) {
      return "no registered machines";
    }
    if (table_.coverage.machines_live == 0) {
      return fmt::format("none of the {} machines that have registered {} live", registered_,
                         request_.is_past ? "was" : "is");
    }
    return fmt::format("none of the {} live machines {} its instances", table_.coverage.machines_live,
                       request_.is_past ? "had reported" : "has reported");
  }

  // A machine of which it is known what it has, as of that time.
  void cover(int64_t time_ns) {
    Coverage& coverage = table_.coverage;
    coverage.from_ns = coverage.machines_drawn == 0 ? time_ns : std::min(coverage.from_ns, time_ns);
    coverage.to_ns = std::max(coverage.to_ns, time_ns);
    ++coverage.machines_drawn;
  }

  // What a machine has of a job.
  template <typename Placed>
  void add(const std::string& name, const Placed& placed) {
    Job& job = jobs_[name];
    ++job.machines;
    job.instances += placed.instances;
    job.quota_cpus += placed.quota_cpus;
    job.unlimited += placed.unlimited;
  }

  void add_use(const store::Census& census) {
    if (census.interval_ns <= 0) {
      return;
    }
    for (const wire::InstanceUsage& usage : census.instances) {
      Job& job = jobs_[usage.job()];
      job.used_cpus = job.used_cpus.value_or(0) +
                      static_cast<double>(usage.cpu_time_ns()) / static_cast<double>(census.interval_ns);
    }
  }

  const JobsRequest& request_;
  Table table_;
  size_t registered_ = 0;
  std::map<std::string, Job> jobs_;
};

}  // namespace

Result<JobsRequest> parse_jobs(const Parameters& parameters, int64_t now_ns) {
  JobsRequest request{.now_ns = now_ns};
  const std::array known{count_parameter("limit", kMaxRows, request.limit),
                         at_parameter(request.now_ns, request.is_past)};
  if (auto read = read_parameters(parameters, known); !read) {
    return propagate(read);
  }
  return request;
}

Table jobs(const JobsRequest& request, const LiveFleet& fleet) {
  return JobsQuery(request, fleet).run();
}

}  // namespace plimsoll::query
