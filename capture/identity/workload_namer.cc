#include "capture/identity/workload_namer.h"

namespace plimsoll::identity {
namespace {

constexpr size_t kMaxKnown = 10'000;

// No fact holds a zero byte: they are printable.
std::string key_of(const ProcessFacts& facts) {
  std::string key;
  for (const std::string_view part : {facts.cgroup, facts.executable, facts.comm}) {
    key.append(part).push_back('\0');
  }
  for (const auto& [name, value] : facts.environment == nullptr ? Environment() : *facts.environment) {
    key.append(name).append("=").append(value).push_back('\0');
  }
  return key;
}

}  // namespace

WorkloadNamer::WorkloadNamer(const ProcFs& proc_fs, std::shared_ptr<const JobRules> rules)
    : proc_fs_(proc_fs), rules_(rules == nullptr ? std::make_shared<const JobRules>() : std::move(rules)) {}

Environment WorkloadNamer::variables_of(uint32_t pid) const {
  return rules_->variables().empty() ? Environment()
                                     : select_variables(proc_fs_.environment(pid), rules_->variables());
}

void WorkloadNamer::read_variables(ProcessIdentity& process) const {
  if (rules_->variables().empty() || !process.environment.empty()) {
    return;
  }
  Environment read = variables_of(process.pid);
  if (!read.empty() && is_still(proc_fs_, process)) {
    process.environment = std::move(read);
  }
}

bool is_still(const ProcFs& proc_fs, const ProcessIdentity& process) {
  return started_then(process.started_ns, proc_fs.started_ns(process.pid)) &&
         (process.executable.empty() || proc_fs.executable(process.pid) == process.executable);
}

const Workload& WorkloadNamer::name(const ProcessFacts& facts) {
  std::string key = key_of(facts);
  const auto known = known_.find(key);
  if (known != known_.end()) {
    return known->second;
  }
  if (known_.size() >= kMaxKnown) {
    known_.clear();
  }
  return known_.emplace(std::move(key), rules_->apply(facts)).first->second;
}

const Workload& WorkloadNamer::name(const ProcessIdentity& process, std::string_view cgroup) {
  return name({cgroup, process.executable, process.comm, &process.environment});
}

const Workload& WorkloadNamer::name(uint32_t pid, std::string_view cgroup) {
  const Environment environment = variables_of(pid);
  const std::string executable = proc_fs_.executable(pid);
  const std::string comm = proc_fs_.comm(pid);
  return name({cgroup, executable, comm, &environment});
}

Workload workload_of(const ProcessIdentity& process, std::string_view cgroup) {
  return workload_of({cgroup, process.executable, process.comm});
}

wire::Process process_message(const ProcessIdentity& process, const std::string& cgroup,
                              const Workload& workload) {
  wire::Process message;
  message.set_pid(process.pid);
  message.set_start_ns(process.start_ns);
  message.set_comm(process.comm);
  message.set_executable(process.executable);
  message.set_cgroup(cgroup);
  message.set_job(workload.job);
  message.set_instance(workload.instance);
  message.set_container(workload.container);
  message.set_image(workload.image);
  for (const auto& [name, value] : workload.labels) {
    (*message.mutable_labels())[name] = value;
  }
  return message;
}

}  // namespace plimsoll::identity
