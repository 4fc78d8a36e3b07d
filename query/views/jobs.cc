#include "query/views/jobs.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "query/views/estimate_columns.h"

namespace plimsoll::query {
namespace {

constexpr size_t kMaxLimit = 1'000'000;

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
        add(census);
      }
    }
  }

  Table run() {
    if (jobs_.empty()) {
      table_.notes.push_back("nothing: " + why_empty());
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
      table_.notes.push_back(fmt::format("{} of {} jobs are shown", request_.limit, order.size()));
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
      return "no machine has registered";
    }
    return table_.coverage.machines_live == 0
               ? fmt::format("none of the {} machines that have registered is live", registered_)
               : fmt::format("none of the {} live machines has told what runs on it",
                             table_.coverage.machines_live);
  }

  void add(const store::Census& census) {
    Coverage& coverage = table_.coverage;
    coverage.from_ns =
        coverage.machines_drawn == 0 ? census.taken_ns : std::min(coverage.from_ns, census.taken_ns);
    coverage.to_ns = std::max(coverage.to_ns, census.taken_ns);
    ++coverage.machines_drawn;
    std::set<std::string_view> seen;
    for (const wire::InstanceUsage& usage : census.instances) {
      Job& job = jobs_[usage.job()];
      job.machines += seen.insert(usage.job()).second ? 1 : 0;
      ++job.instances;
      job.quota_cpus += usage.quota_cpus();
      job.unlimited += usage.quota_cpus() > 0 ? 0 : 1;
      if (census.interval_ns > 0) {
        job.used_cpus = job.used_cpus.value_or(0) +
                        static_cast<double>(usage.cpu_time_ns()) / static_cast<double>(census.interval_ns);
      }
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
  const Parameter limit = count_parameter("limit", kMaxLimit, request.limit);
  if (auto read = read_parameters(parameters, std::span(&limit, 1)); !read) {
    return propagate(read);
  }
  return request;
}

Table jobs(const JobsRequest& request, const LiveFleet& fleet) {
  return JobsQuery(request, fleet).run();
}

}  // namespace plimsoll::query
