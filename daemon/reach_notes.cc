#include "daemon/reach_notes.h"

#include <fmt/format.h>
#include <linux/capability.h>
#include <unistd.h>

#include "capture/identity/processes.h"
#include "daemon/privileges/capabilities.h"

namespace plimsoll {

void add_reach_notes(const Reach& reach, std::vector<std::string>& notes) {
  if (reach.unread_mappings > 0) {
    notes.push_back(
        fmt::format("code of {} process{} is unresolved: this user may not read the mappings; "
                    "CAP_SYS_PTRACE permits most",
                    reach.unread_mappings, reach.unread_mappings == 1 ? "" : "es"));
  }
  if (reach.unread_binaries > 0) {
    notes.push_back(
        fmt::format("code of {} binar{} is unresolved: this user may not read the file; CAP_SYS_PTRACE and "
                    "CAP_DAC_READ_SEARCH permit most",
                    reach.unread_binaries, reach.unread_binaries == 1 ? "y" : "ies"));
  }
  if (reach.is_in_pid_namespace) {
    notes.push_back(
        fmt::format("this daemon runs in its own PID namespace: processes outside it are all {}, and their "
                    "code is unresolved; run it in the machine's PID namespace (hostPID: true, --pid=host)",
                    identity::kOutsideComm));
  }
}

void add_capability_notes(std::vector<std::string>& notes) {
  for (const Capability& capability : needed_capabilities()) {
    const bool is_told_elsewhere = capability.number == CAP_PERFMON || capability.number == CAP_SYSLOG;
    if (!is_told_elsewhere && !holds_capability(capability.number)) {
      notes.push_back(missing_capability_text(capability));
    }
  }
}

std::string smaller_rings_note(uint32_t pages, uint32_t wanted_pages) {
  const auto kibibytes = [](uint32_t number) {
    return uint64_t{number} * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE)) >> 10U;
  };
  return fmt::format(
      "sample buffers have {} KiB per CPU instead of {}, and bursts may be lost: the limit of locked memory "
      "is reached; raise it (LimitMEMLOCK= of the unit, ulimit -l) or kernel.perf_event_mlock_kb",
      kibibytes(pages), kibibytes(wanted_pages));
}

}  // namespace plimsoll
