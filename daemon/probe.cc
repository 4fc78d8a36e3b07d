#include "daemon/probe.h"

#include <linux/capability.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <span>

#include "base/file.h"
#include "daemon/identity/kernel.h"
#include "daemon/identity/machine.h"
#include "daemon/identity/proc_fs.h"
#include "daemon/identity/safe_open.h"
#include "daemon/perf/cpu_list.h"
#include "daemon/perf/event_config.h"
#include "daemon/perf/open_event.h"
#include "daemon/privileges/capabilities.h"
#include "daemon/privileges/system_call_filter.h"

namespace plimsoll {
namespace {

ProbeFinding from_status(std::string subject, const Status& status, std::string how) {
  return status ? ProbeFinding{std::move(subject), Ability::kYes, std::move(how)}
                : ProbeFinding{std::move(subject), Ability::kNo, status.error().text()};
}

void probe_capabilities(std::vector<ProbeFinding>& findings) {
  for (const Capability& capability : needed_capabilities()) {
    const bool held = holds_capability(capability.number);
    findings.push_back({std::string(capability.name), held ? Ability::kYes : Ability::kNo,
                        held ? fmt::format("for {}", capability.purpose)
                             : fmt::format("missing: {}; {}", capability.loss, grant_hint())});
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

constexpr std::array<int, 1> kForMappings{CAP_SYS_PTRACE};
constexpr std::array<int, 2> kForBinaries{CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH};

// The names of those that are not held, with commas.
std::string missing_of(std::span<const int> capabilities) {
  std::string missing;
  for (const Capability& capability : needed_capabilities()) {
    const bool matters = std::ranges::find(capabilities, capability.number) != capabilities.end();
    if (matters && !holds_capability(capability.number)) {
      missing += fmt::format("{}{}", missing.empty() ? "" : ", ", capability.name);
    }
  }
  return missing;
}

// How many processes let themselves be looked at.
struct Reached {
  size_t reached = 0;
  size_t denied = 0;

  // Those that end meanwhile are neither.
  template <typename T>
  void count(const Result<T>& tried) {
    reached += tried ? 1 : 0;
    denied += !tried && tried.error().code == ErrorCode::kDenied ? 1 : 0;
  }
};

ProbeFinding reach_finding(std::string subject, const Reached& count, std::span<const int> capabilities) {
  std::string detail = fmt::format("of {} of {} processes", count.reached, count.reached + count.denied);
  const std::string missing = missing_of(capabilities);
  if (count.denied > 0) {
    detail += missing.empty() ? ": the others are guarded by more than capabilities"
                              : fmt::format("; missing for the others: {}", missing);
  }
  return {std::move(subject), count.denied == 0 ? Ability::kYes : Ability::kPartly, std::move(detail)};
}

void probe_processes(std::vector<ProbeFinding>& findings) {
  const identity::ProcFs proc_fs;
  Reached mappings;
  Reached binaries;
  for (const uint32_t pid : proc_fs.pids()) {
    if (!proc_fs.is_kernel_thread(pid)) {
      mappings.count(proc_fs.maps(pid));
      binaries.count(identity::open_regular_file(proc_fs.executable_link(pid)));
    }
  }
  findings.push_back(reach_finding("process mappings", mappings, kForMappings));
  findings.push_back(reach_finding("process binaries", binaries, kForBinaries));
}

void probe_tracepoints(std::vector<ProbeFinding>& findings) {
  const auto id = read_file("/sys/kernel/tracing/events/sched/sched_switch/id", 64);
  if (id) {
    findings.push_back({"tracepoints", Ability::kYes, "described in /sys/kernel/tracing"});
    return;
  }
  const char* hint = id.error().code == ErrorCode::kDenied
                         ? "CAP_DAC_READ_SEARCH permits it"
                         : "\"mount -t tracefs tracefs /sys/kernel/tracing\" makes them visible";
  findings.push_back({"tracepoints", Ability::kNo, fmt::format("{}; {}", id.error().text(), hint)});
}

void probe_system_calls(std::vector<ProbeFinding>& findings) {
  const SystemCallFilterState state = describe_system_call_filter();
  findings.push_back({"system call filter", state.in_force ? Ability::kYes : Ability::kNo, state.text});
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
  probe_tracepoints(findings);
  probe_system_calls(findings);
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
