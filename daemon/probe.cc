#include "daemon/probe.h"

#include <sys/capability.h>

#include <algorithm>
#include <array>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "daemon/identity/kernel.h"
#include "daemon/identity/machine.h"
#include "daemon/identity/proc_fs.h"
#include "daemon/perf/cpu_list.h"
#include "daemon/perf/event_config.h"
#include "daemon/perf/open_event.h"

namespace plimsoll {
namespace {

ProbeFinding from_status(std::string subject, const Status& status, std::string how) {
  return status ? ProbeFinding{std::move(subject), Ability::kYes, std::move(how)}
                : ProbeFinding{std::move(subject), Ability::kNo, status.error().text()};
}

bool holds(cap_value_t capability) {
  const std::unique_ptr<std::remove_pointer_t<cap_t>, int (*)(void*)> held(::cap_get_proc(), ::cap_free);
  cap_flag_value_t value = CAP_CLEAR;
  return held && ::cap_get_flag(held.get(), capability, CAP_EFFECTIVE, &value) == 0 && value == CAP_SET;
}

void probe_capabilities(std::vector<ProbeFinding>& findings) {
  struct Need {
    cap_value_t capability;
    std::string_view name;
    std::string_view purpose;
  };
  static constexpr std::array<Need, 4> kNeeds{{
      {CAP_PERFMON, "CAP_PERFMON", "sampling all processes of the machine"},
      {CAP_SYS_PTRACE, "CAP_SYS_PTRACE", "reading mappings and binaries of other users' processes"},
      {CAP_DAC_READ_SEARCH, "CAP_DAC_READ_SEARCH",
       "reading binaries and tracepoints whatever their file modes"},
      {CAP_SYSLOG, "CAP_SYSLOG", "kernel addresses in /proc/kallsyms"},
  }};
  for (const Need& need : kNeeds) {
    const bool held = holds(need.capability) || (need.capability == CAP_PERFMON &&
                                                 holds(CAP_SYS_ADMIN));  // the older, wider one does too
    findings.push_back({std::string(need.name), held ? Ability::kYes : Ability::kNo,
                        fmt::format("{}for {}", held ? "" : "missing: it is needed ", need.purpose)});
  }
}

void probe_events(std::vector<ProbeFinding>& findings) {
  const auto cpus = perf::online_cpus();
  for (const perf::EventType& type : perf::known_events()) {
    Status status;
    if (!cpus) {
      status = propagate(cpus);
    } else if (auto fd =
                   perf::open_event(perf::sampling_attr(type, 1'000'000, 4096, 0), cpus->front(), type.name);
               !fd) {
      status = propagate(fd);
    }
    findings.push_back(
        from_status(fmt::format("event {}", type.name), status, "can be sampled on every CPU"));
  }
}

void probe_kernel(std::vector<ProbeFinding>& findings) {
  const auto kernel = identity::KernelMap::read_running();
  if (kernel) {
    size_t symbols = 0;
    for (const auto& image : kernel->images()) {
      symbols += image.symbols.size();
    }
    findings.push_back(
        {"kernel symbols", Ability::kYes, fmt::format("{} of {} images", symbols, kernel->images().size())});
  } else {
    findings.push_back({"kernel symbols", Ability::kNo, kernel.error().text()});
  }
  const bool has_build_id = !identity::running_kernel_build_id().empty();
  findings.push_back(
      {"kernel build ID", has_build_id ? Ability::kYes : Ability::kNo,
       has_build_id ? "from /sys/kernel/notes" : "/sys/kernel/notes holds none or cannot be read"});
}

void probe_processes(std::vector<ProbeFinding>& findings) {
  const identity::ProcFs proc_fs;
  size_t processes = 0;
  size_t denied = 0;
  for (const uint32_t pid : proc_fs.pids()) {
    ++processes;
    const auto maps = proc_fs.maps(pid);
    denied += !maps && maps.error().code == ErrorCode::kDenied ? 1 : 0;
  }
  std::string detail = fmt::format("of {} of {} processes", processes - denied, processes);
  if (denied > 0) {
    detail += holds(CAP_SYS_PTRACE) ? ": the others are guarded by more than CAP_SYS_PTRACE permits"
                                    : ": CAP_SYS_PTRACE is missing for the others";
  }
  findings.push_back({"process mappings", denied == 0 ? Ability::kYes : Ability::kPartly, std::move(detail)});
}

std::string_view word_of(Ability ability) {
  switch (ability) {
    case Ability::kYes:
      return "yes";
    case Ability::kNo:
      return "no";
    case Ability::kPartly:
      return "partly";
  }
  return "no";
}

}  // namespace

std::vector<ProbeFinding> probe() {
  std::vector<ProbeFinding> findings;
  probe_capabilities(findings);
  probe_events(findings);
  probe_kernel(findings);
  probe_processes(findings);
  return findings;
}

std::string probe_table(const std::vector<ProbeFinding>& findings) {
  size_t width = 0;
  for (const ProbeFinding& finding : findings) {
    width = std::max(width, finding.subject.size());
  }
  std::string table;
  for (const ProbeFinding& finding : findings) {
    table +=
        fmt::format("{:<{}}  {:<6}  {}\n", finding.subject, width, word_of(finding.ability), finding.detail);
  }
  return table;
}

std::string probe_json(const std::vector<ProbeFinding>& findings) {
  nlohmann::json document;
  for (const char* name : {"subject", "ability", "detail"}) {
    document["columns"].push_back({{"name", name}, {"unit", ""}});
  }
  document["rows"] = nlohmann::json::array();
  for (const ProbeFinding& finding : findings) {
    document["rows"].push_back(
        {{"subject", finding.subject}, {"ability", word_of(finding.ability)}, {"detail", finding.detail}});
  }
  return document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace plimsoll
