#include "daemon/machine/census.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <set>
#include <span>

#include "base/file.h"
#include "capture/identity/cgroup.h"
#include "capture/identity/cgroup_folder.h"

namespace plimsoll::identity {
namespace {

constexpr uint64_t kMaxFileBytes = 4096;
constexpr double kDefaultWeight = 100;
constexpr double kDefaultShares = 1024;

std::optional<double> number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() ? std::optional(value) : std::nullopt;
}

std::string read(const std::string& path) {
  return read_file(path, kMaxFileBytes).value_or(std::string());
}

// The number after "NAME " at the start of a line.
std::optional<double> field(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    if (line.starts_with(name) && line.size() > name.size() && line[name.size()] == ' ') {
      return number(line.substr(name.size() + 1));
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return std::nullopt;
}

bool exists(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

// Instances of one name are one. A quota that several of its groups share counts once, and one without a quota has none.
std::vector<InstanceUsage> with_one_of_each_name(std::vector<InstanceUsage> instances,
                                                 const std::vector<std::string>& quota_groups) {
  struct Merged {
    size_t index;
    std::set<std::string> quota_groups;
  };
  std::map<std::pair<std::string, std::string>, Merged> by_name;
  std::vector<InstanceUsage> merged;
  for (size_t i = 0; i < instances.size(); ++i) {
    const auto [entry, is_new] =
        by_name.try_emplace({instances[i].job, instances[i].instance}, Merged{merged.size(), {}});
    const bool is_new_quota = entry->second.quota_groups.insert(quota_groups[i]).second;
    if (is_new) {
      merged.push_back(std::move(instances[i]));
      continue;
    }
    InstanceUsage& whole = merged[entry->second.index];
    const bool has_quota = whole.quota_cpus != 0 && instances[i].quota_cpus != 0;
    whole.quota_cpus = has_quota ? whole.quota_cpus + (is_new_quota ? instances[i].quota_cpus : 0) : 0;
    whole.weight += instances[i].weight;
    whole.cpu_time_ns += instances[i].cpu_time_ns;
  }
  return merged;
}

// `instances` have the busiest first.
void sum_others(const CensusLimits& limits, std::vector<InstanceUsage>& instances) {
  size_t named = 0;
  for (size_t bytes = 0; named < std::min(instances.size(), limits.max_instances); ++named) {
    const InstanceUsage& usage = instances[named];
    bytes += usage.job.size() + usage.instance.size() + usage.container.size();
    if (bytes > limits.max_name_bytes) {
      break;
    }
  }
  if (named == instances.size()) {
    return;
  }
  InstanceUsage others;
  others.job = others.instance = others.cgroup = others.comm = kOtherInstances;
  for (size_t i = named; i < instances.size(); ++i) {
    others.cpu_time_ns += instances[i].cpu_time_ns;
  }
  instances.resize(named);
  instances.push_back(std::move(others));
}

}  // namespace

// One census in the making.
struct Census::Walk {
  const Layout& layout;
  std::vector<InstanceUsage> instances;
  std::vector<std::string> quota_groups;  // of each instance: which group's quota it has
  std::map<std::string, int64_t> counters;
  bool is_cut = false;
};

Census::Census(const ProcFs& proc_fs, std::string root, CensusLimits limits,
               std::shared_ptr<const JobRules> rules)
    : proc_fs_(proc_fs), root_(std::move(root)), limits_(limits), namer_(proc_fs, std::move(rules)) {}

std::optional<Census::Layout> Census::find_layout() const {
  for (const char* usage : {"cpuacct", "cpu,cpuacct"}) {
    const std::string usage_root = root_ + "/" + usage;
    if (exists(usage_root + "/cpuacct.usage")) {
      const std::string limit_root = root_ + "/cpu";
      return Layout{usage_root, exists(limit_root) ? limit_root : usage_root, false};
    }
  }
  for (const std::string& unified : {root_, root_ + "/unified"}) {
    if (exists(unified + "/cgroup.controllers")) {
      return Layout{unified, unified, true};
    }
  }
  return std::nullopt;
}

std::optional<int64_t> Census::usage_ns(const Layout& layout, const std::string& group) const {
  const std::string folder = layout.usage_root + group;
  if (layout.is_unified) {
    const auto usage_us = field(read(folder + "/cpu.stat"), "usage_usec");
    return usage_us ? std::optional(static_cast<int64_t>(*usage_us * 1000)) : std::nullopt;
  }
  const auto usage = number(read(folder + "/cpuacct.usage"));
  return usage ? std::optional(static_cast<int64_t>(*usage)) : std::nullopt;
}

double Census::quota_cpus(const Layout& layout, const std::string& group) const {
  const std::string folder = layout.limit_root + group;
  std::optional<double> quota_us;
  std::optional<double> period_us;
  if (layout.is_unified) {
    const std::string limit = read(folder + "/cpu.max");  // "max 100000" or "50000 100000"
    quota_us = number(limit);
    period_us = number(std::string_view(limit).substr(std::min(limit.find(' '), limit.size() - 1) + 1));
  } else {
    quota_us = number(read(folder + "/cpu.cfs_quota_us"));  // -1: none
    period_us = number(read(folder + "/cpu.cfs_period_us"));
  }
  const double quota = quota_us.value_or(0);
  const double period = period_us.value_or(0);
  return quota > 0 && period > 0 ? quota / period : 0;
}

double Census::weight(const Layout& layout, const std::string& group) const {
  const std::string folder = layout.limit_root + group;
  if (layout.is_unified) {
    return number(read(folder + "/cpu.weight")).value_or(0);
  }
  // Such that the defaults of both are equal.
  return number(read(folder + "/cpu.shares")).value_or(0) / kDefaultShares * kDefaultWeight;
}

int64_t Census::delta_ns(const std::string& group, int64_t usage_ns, Walk& walk) const {
  walk.counters[group] = usage_ns;
  const auto before = counters_.find(group);
  if (before != counters_.end()) {
    return usage_ns >= before->second ? usage_ns - before->second : usage_ns;
  }
  return is_first_ || was_cut_ ? 0 : usage_ns;
}

InstanceUsage Census::name_instance(const std::string& group, uint32_t pid) {
  InstanceUsage usage;
  if (group.empty()) {
    usage.job = kUngroupedJob;
    usage.instance = "/";
    usage.cgroup = usage.instance;
    usage.comm = usage.job;
    return usage;
  }
  // As a profile names it: by the process's own group, which in a hybrid layout may be of another hierarchy.
  std::string path = pid == 0 ? std::string() : cgroup_path(proc_fs_.cgroup(pid));
  path = path.size() > 1 ? path : printable(group);
  usage.cgroup = path;
  Workload workload;
  if (pid == 0) {
    usage.comm = kOutsideComm;
    workload = namer_.name(ProcessFacts{path, {}, usage.comm});
  } else {
    usage.executable = proc_fs_.executable(pid);
    usage.comm = proc_fs_.comm(pid);
    workload = namer_.name(pid, path);
  }
  usage.job = workload.job.empty() ? path : std::move(workload.job);
  usage.instance = std::move(workload.instance);
  usage.container = std::move(workload.container);
  usage.image = std::move(workload.image);
  usage.labels = std::move(workload.labels);
  return usage;
}

int64_t Census::visit(const std::string& group, size_t depth, const Quota& quota, Walk& walk) {
  const auto usage = usage_ns(walk.layout, group);
  if (!usage) {
    return 0;  // it has vanished; its time is its parent's
  }
  const int64_t own_ns = delta_ns(group, *usage, walk);
  const double own_quota = quota_cpus(walk.layout, group);
  const bool is_tighter = own_quota != 0 && (quota.cpus == 0 || own_quota < quota.cpus);
  const Quota tightest = is_tighter ? Quota{own_quota, group} : quota;
  int64_t claimed_ns = 0;
  if (depth < limits_.max_depth) {
    for (const std::string& name : groups_below(walk.layout.usage_root + group)) {
      if (walk.counters.size() >= limits_.max_groups) {
        walk.is_cut = true;
        break;
      }
      claimed_ns += visit(fmt::format("{}/{}", group, name), depth + 1, tightest, walk);
    }
  }
  const bool is_root = group.empty();
  const auto pid = is_root ? 0 : oldest_process(walk.layout.usage_root + group, proc_fs_);
  if (!pid) {
    return claimed_ns;
  }
  InstanceUsage instance = name_instance(group, *pid);
  instance.quota_cpus = tightest.cpus;
  instance.weight = weight(walk.layout, group);
  // Counters are read one after the other: those below may already have gone on.
  instance.cpu_time_ns = std::max<int64_t>(0, own_ns - claimed_ns);
  walk.instances.push_back(std::move(instance));
  walk.quota_groups.push_back(tightest.group);
  return std::max(own_ns, claimed_ns);
}

Result<CensusTaken> Census::take(int64_t now_ns) {
  const auto layout = find_layout();
  if (!layout) {
    return fail(ErrorCode::kNotFound, "counting instances: no control groups with CPU time under {}", root_);
  }
  Walk walk{*layout, {}, {}, {}, false};
  visit("", 0, {}, walk);
  CensusTaken taken{is_first_ ? 0 : now_ns - taken_ns_,
                    with_one_of_each_name(std::move(walk.instances), walk.quota_groups)};
  std::ranges::sort(taken.instances, [](const InstanceUsage& a, const InstanceUsage& b) {
    return a.cpu_time_ns != b.cpu_time_ns ? a.cpu_time_ns > b.cpu_time_ns : a.instance < b.instance;
  });
  sum_others(limits_, taken.instances);
  counters_ = std::move(walk.counters);
  taken_ns_ = now_ns;
  is_first_ = false;
  was_cut_ = walk.is_cut;
  return taken;
}

}  // namespace plimsoll::identity
