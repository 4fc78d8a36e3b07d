#include "daemon/privileges/capabilities.h"

#include <sys/capability.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <type_traits>

namespace plimsoll {
namespace {

constexpr std::array<Capability, 4> kNeeded{{
    {CAP_PERFMON, "CAP_PERFMON", "sampling all processes of the machine",
     "nothing can be sampled, unless kernel.perf_event_paranoid is 0 or less"},
    {CAP_SYS_PTRACE, "CAP_SYS_PTRACE", "reading mappings and binaries of other users' processes",
     "code of other users' processes is unresolved where their mappings or binaries are out of reach, as in "
     "containers"},
    {CAP_DAC_READ_SEARCH, "CAP_DAC_READ_SEARCH", "reading binaries and tracepoints whatever their file modes",
     "there are no tracepoints, and code of binaries that this user may not read is unresolved"},
    {CAP_SYSLOG, "CAP_SYSLOG", "kernel addresses in /proc/kallsyms",
     "kernel code is unresolved, unless kernel.kptr_restrict is 0 and kernel.perf_event_paranoid 1 or less"},
}};

using CapabilityState = std::unique_ptr<std::remove_pointer_t<cap_t>, int (*)(void*)>;

bool has(const CapabilityState& state, int number, cap_flag_t set) {
  cap_flag_value_t value = CAP_CLEAR;
  return state && ::cap_get_flag(state.get(), number, set, &value) == 0 && value == CAP_SET;
}

bool is_needed(int number) {
  return std::ranges::find(kNeeded, number, &Capability::number) != kNeeded.end();
}

// Only who holds CAP_SETPCAP may; for others the bounding set means nothing once they can gain nothing by exec.
Status shrink_bounding_set() {
  if (!holds_capability(CAP_SETPCAP)) {
    return {};
  }
  for (int number = 0; number < ::cap_max_bits(); ++number) {
    if (!is_needed(number) && ::cap_drop_bound(number) != 0) {
      return fail_errno(errno, "dropping capability {} from the bounding set", number);
    }
  }
  return {};
}

}  // namespace

std::span<const Capability> needed_capabilities() {
  return kNeeded;
}

bool holds_capability(int number) {
  return has(CapabilityState(::cap_get_proc(), ::cap_free), number, CAP_EFFECTIVE);
}

std::string missing_capability_text(const Capability& capability) {
  return fmt::format("{} is missing: {}", capability.name, capability.loss);
}

std::string_view grant_hint() {
  return "grant it in the systemd unit or by a file capability (docs/security.md), or run as root";
}

Status keep_only_needed_capabilities() {
  if (auto shrunk = shrink_bounding_set(); !shrunk) {
    return shrunk;
  }
  const CapabilityState held(::cap_get_proc(), ::cap_free);
  const CapabilityState kept(::cap_init(), ::cap_free);
  if (!held || !kept) {
    return fail_errno(errno, "reading this process's capabilities");
  }
  for (const Capability& capability : kNeeded) {
    if (has(held, capability.number, CAP_PERMITTED)) {
      const cap_value_t number = capability.number;
      ::cap_set_flag(kept.get(), CAP_PERMITTED, 1, &number, CAP_SET);
      ::cap_set_flag(kept.get(), CAP_EFFECTIVE, 1, &number, CAP_SET);
    }
  }
  // Ambient capabilities are a part of the inheritable ones, and go with them.
  if (::cap_set_proc(kept.get()) != 0) {
    return fail_errno(errno, "dropping capabilities");
  }
  return {};
}

}  // namespace plimsoll
