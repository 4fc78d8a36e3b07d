#include "daemon/probe.h"

#include <linux/capability.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <span>

#include "base/file.h"
#include "capture/identity/kernel.h"
#include "capture/identity/proc_fs.h"
#include "capture/identity/safe_open.h"
#include "daemon/bursts/burst_recorder.h"
#include "daemon/energy.h"
#include "daemon/event_plan.h"
#include "daemon/events/machine_aliases.h"
#include "daemon/events/tracepoints.h"
#include "daemon/exact_counts.h"
#include "daemon/machine/machine.h"
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

void probe_event(std::string_view name, const LiveEvents& machine, std::vector<ProbeFinding>& findings) {
  const auto event = machine.find(name);
  std::string note;
  const auto part = event ? sampleable_part(*event, machine, note) : event;
  findings.push_back(from_status(fmt::format("event {}", name), part ? Status() : propagate(part),
                                 note.empty() ? "can be sampled on every CPU" : note));
}

std::vector<std::string> event_names() {
  std::vector<std::string> names;
  for (const perf::EventType& known : perf::known_events()) {
    names.emplace_back(known.name);
  }
  for (const std::string_view alias : perf::alias_names()) {
    names.emplace_back(alias);
  }
  return names;
}

void probe_events(const LiveEvents& machine, std::vector<ProbeFinding>& findings) {
  for (const std::string& name : event_names()) {
    probe_event(name, machine, findings);
  }
}

bool can_measure(const std::string& name, const LiveEvents& machine) {
  const auto event = machine.find(name);
  std::string note;
  return event && (sampleable_part(*event, machine, note) || machine.try_counting(*event));
}

std::string list_of(const std::vector<std::string>& names) {
  constexpr size_t kMax = 8;
  const std::vector<std::string> first(names.begin(),
                                       names.begin() + static_cast<long>(std::min(names.size(), kMax)));
  return fmt::format("{}{}", fmt::join(first, ", "),
                     names.size() > kMax ? fmt::format(" and {} more", names.size() - kMax) : "");
}

void probe_pmus(const perf::EventCatalogue& catalogue, std::vector<ProbeFinding>& findings) {
  for (const perf::Pmu& pmu : catalogue.pmus()) {
    const auto names = perf::event_names(pmu);
    const std::string where = pmu.cpus.empty() ? "every CPU"
                              : pmu.is_for_packages
                                  ? fmt::format("packages, on CPUs {}", fmt::join(pmu.cpus, ","))
                                  : fmt::format("{} CPUs", pmu.cpus.size());
    findings.push_back(
        {fmt::format("PMU {}", pmu.name), Ability::kYes,
         fmt::format("type {}, {}{}{}", pmu.type, where, names.empty() ? "" : "; events: ", list_of(names))});
  }
  const bool has_core = std::ranges::any_of(catalogue.pmus(), &perf::Pmu::is_core);
  if (!has_core) {
    findings.push_back({"CPU's PMU", Ability::kNo,
                        "none: no hardware events, cpu-clock is used instead of cycles (a virtual machine "
                        "has the counters that its host passes on)"});
  }
}

void probe_branch_stacks(const LiveEvents& machine, std::vector<ProbeFinding>& findings) {
  const auto stacks = branch_stacks(machine);
  findings.push_back(from_status("branch stacks", stacks ? Status() : propagate(stacks),
                                 "of user code, with samples of cycles (collect.branch_rate_hz)"));
}

void probe_tracepoints(const perf::EventCatalogue& catalogue, std::vector<ProbeFinding>& findings) {
  const auto tracefs = perf::find_tracefs(catalogue.sysfs());
  findings.push_back(from_status(
      "tracepoints", tracefs ? Status() : propagate(tracefs),
      tracefs ? fmt::format("of {} systems, in {}", perf::count_tracepoint_systems(*tracefs), *tracefs)
              : ""));
}

void probe_energy(const perf::EventCatalogue& catalogue, std::vector<ProbeFinding>& findings) {
  std::vector<std::string> names;
  for (const perf::EventType& event : power_events(catalogue)) {
    names.push_back(event.name);
  }
  if (!names.empty()) {
    findings.push_back({"energy", Ability::kYes, fmt::format("{}, of the PMU power", list_of(names))});
    return;
  }
  const auto zones = energy_zones(catalogue.sysfs());
  Status readable =
      zones.empty() ? fail(ErrorCode::kUnsupported,
                           "no PMU called power, and no known zone in {}/class/powercap", catalogue.sysfs())
                    : Status();
  for (const EnergyZone& zone : zones) {
    names.push_back(zone.event);
    if (const auto file = read_file(zone.folder + "/energy_uj", 256); !file) {
      readable = propagate(file);
    }
  }
  findings.push_back(from_status("energy", readable, fmt::format("{}, of powercap", list_of(names))));
}

void probe_exact_counts(std::vector<ProbeFinding>& findings) {
  const auto tried = try_exact_counts();
  findings.push_back(from_status(
      "counts of control groups", tried ? Status() : propagate(tried),
      fmt::format("exact, for those of {} that match count.groups", tried.value_or(std::string()))));
}

void probe_platform(const perf::EventCatalogue& catalogue, std::vector<ProbeFinding>& findings) {
  wire::Machine machine;
  identity::set_platform(read_file("/proc/cpuinfo", uint64_t{16} << 20).value_or(std::string()),
                         catalogue.sysfs(), machine);
  findings.push_back({"platform", machine.platform().empty() ? Ability::kNo : Ability::kYes,
                      fmt::format("{} [{}]", machine.platform(), machine.cpu_model())});
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
       has_build_id ? "from /sys/kernel/notes" : "/sys/kernel/notes has none or cannot be read"});
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
    detail += missing.empty() ? ": the others are protected by more than capabilities"
                              : fmt::format("; missing for the others: {}", missing);
  }
  return {std::move(subject), count.denied == 0 ? Ability::kYes : Ability::kPartly, std::move(detail)};
}

void probe_processes(std::vector<ProbeFinding>& findings) {
  const identity::ProcFs proc_fs;
  Reached mappings;
  Reached binaries;
  for (const uint32_t pid : proc_fs.pids()) {
    if (const auto stat = proc_fs.stat(pid); stat && !stat->is_kernel_thread) {
      mappings.count(proc_fs.maps(pid));
      binaries.count(identity::open_regular_file(proc_fs.executable_link(pid)));
    }
  }
  findings.push_back(reach_finding("process mappings", mappings, kForMappings));
  findings.push_back(reach_finding("process binaries", binaries, kForBinaries));
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
  const LiveEvents machine;
  probe_platform(machine.catalogue(), findings);
  probe_pmus(machine.catalogue(), findings);
  probe_events(machine, findings);
  probe_branch_stacks(machine, findings);
  probe_tracepoints(machine.catalogue(), findings);
  probe_energy(machine.catalogue(), findings);
  probe_exact_counts(findings);
  findings.push_back(from_status("bursts", bursts::BurstRecorder::check(),
                                 "switches, wake-ups and marks: \"plimsolld bursts record\", or by "
                                 "assignment where bursts.permit is set"));
  probe_kernel(findings);
  probe_processes(findings);
  probe_system_calls(findings);
  return findings;
}

std::vector<std::string> missing_events(std::span<const std::string> allowed) {
  const LiveEvents machine;
  std::vector<std::string> missing = event_names();
  std::erase_if(missing, [&](const std::string& name) {
    return is_allowed(name, allowed) && can_measure(name, machine);
  });
  return missing;
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
