#include "daemon/probe.h"

#include <sys/capability.h>

#include <algorithm>
#include <array>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "daemon/energy.h"
#include "daemon/event_plan.h"
#include "daemon/identity/kernel.h"
#include "daemon/identity/machine.h"
#include "daemon/identity/proc_fs.h"
#include "daemon/perf/machine_aliases.h"
#include "daemon/perf/tracepoints.h"

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

void probe_event(std::string_view name, const LiveEvents& machine, std::vector<ProbeFinding>& findings) {
  const auto event = machine.find(name);
  std::string note;
  const auto part = event ? sampleable_part(*event, machine, note) : event;
  findings.push_back(from_status(fmt::format("event {}", name), part ? Status() : propagate(part),
                                 note.empty() ? "can be sampled on every CPU" : note));
}

void probe_events(const LiveEvents& machine, std::vector<ProbeFinding>& findings) {
  for (const perf::EventType& known : perf::known_events()) {
    probe_event(known.name, machine, findings);
  }
  for (const std::string_view alias : perf::alias_names()) {
    probe_event(alias, machine, findings);
  }
}

std::string list_of(const std::vector<std::string>& names) {
  constexpr size_t kMost = 8;
  const std::vector<std::string> first(names.begin(),
                                       names.begin() + static_cast<long>(std::min(names.size(), kMost)));
  return fmt::format("{}{}", fmt::join(first, ", "),
                     names.size() > kMost ? fmt::format(" and {} more", names.size() - kMost) : "");
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
    findings.push_back(
        {"CPU's PMU", Ability::kNo,
         "none: no hardware events; cpu-clock stands in for cycles (a virtual machine has what its host "
         "passes on)"});
  }
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
  const LiveEvents machine;
  probe_platform(machine.catalogue(), findings);
  probe_pmus(machine.catalogue(), findings);
  probe_events(machine, findings);
  probe_tracepoints(machine.catalogue(), findings);
  probe_energy(machine.catalogue(), findings);
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
