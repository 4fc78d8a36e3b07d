#include "capture/identity/workload.h"

#include "capture/identity/cgroup.h"

namespace plimsoll::identity {
namespace {

constexpr std::string_view kService = ".service";

// Named by systemd-run ("run-u12", "run-p34-i5", "run-r" and 32 digits) or by a bus connection ("dbus-:1.2-NAME@0").
bool is_transient(std::string_view unit) {
  if (unit.starts_with("dbus-:")) {
    return true;
  }
  constexpr std::string_view kRun = "run-";
  if (!unit.starts_with(kRun)) {
    return false;
  }
  unit.remove_prefix(kRun.size());
  unit.remove_suffix(kService.size());
  unit.remove_prefix(!unit.empty() && std::string_view("rup").contains(unit.front()) ? 1 : 0);
  return !unit.empty() && unit.find_first_not_of("0123456789abcdefi-") == std::string_view::npos &&
         unit.find_first_of("0123456789") != std::string_view::npos;
}

}  // namespace

std::string_view base_name(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

Workload workload_of(const ProcessFacts& facts) {
  Workload workload;
  workload.job = facts.executable.empty() ? facts.comm : base_name(facts.executable);
  workload.container = container_id(facts.cgroup);
  if (!workload.container.empty()) {
    workload.instance = workload.container;
    return workload;
  }
  const std::string_view unit_path = path_to_unit(facts.cgroup);
  workload.instance = unit_path.empty() ? facts.cgroup : unit_path;
  const std::string_view unit = base_name(unit_path);
  if (unit.ends_with(kService) && !is_transient(unit)) {
    const std::string_view name = unit.substr(0, unit.size() - kService.size());
    workload.job = name.substr(0, name.find('@'));
  }
  return workload;
}

}  // namespace plimsoll::identity
