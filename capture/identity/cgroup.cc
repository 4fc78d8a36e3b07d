#include "capture/identity/cgroup.h"

#include <algorithm>
#include <array>
#include <ranges>
#include <vector>

#include "capture/identity/proc_fs.h"

namespace plimsoll::identity {
namespace {

std::vector<std::string_view> components(std::string_view path) {
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    const size_t end = std::min(path.find('/'), path.size());
    if (end > 0) {
      parts.push_back(path.substr(0, end));
    }
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return parts;
}

bool is_container_id(std::string_view text) {
  return text.size() >= 12 && text.size() <= 64 &&
         std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

// "docker-ID.scope" -> "ID". Without systemd, Podman and CRI-O leave ".scope" out.
std::string_view id_of_scope(std::string_view component) {
  constexpr std::array<std::string_view, 6> kPrefixes{"docker-", "libpod-",     "cri-containerd-",
                                                      "crio-",   "containerd-", "nerdctl-"};
  constexpr std::string_view kScope = ".scope";
  component.remove_suffix(component.ends_with(kScope) ? kScope.size() : 0);
  for (const std::string_view prefix : kPrefixes) {
    if (component.starts_with(prefix)) {
      return component.substr(prefix.size());
    }
  }
  return {};
}

bool is_pod_uid(std::string_view text) {
  return text.size() >= 8 && text.size() <= 64 && std::ranges::all_of(text, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || c == '-';
         });
}

// "kubepods-burstable-podUID.slice", with underscores for the UID's dashes, which mean levels to systemd; "podUID" under
// kubepods.
std::string pod_of(std::string_view component, bool is_under_kubepods) {
  constexpr std::string_view kSlice = ".slice";
  const size_t marker = component.rfind("-pod");
  if (component.ends_with(kSlice) && component.find("kubepods") != std::string_view::npos &&
      marker != std::string_view::npos) {
    component = component.substr(marker + 4, component.size() - marker - 4 - kSlice.size());
  } else if (is_under_kubepods && component.starts_with("pod")) {
    component.remove_prefix(3);
  } else {
    return {};
  }
  std::string uid(component);
  std::ranges::replace(uid, '_', '-');
  return is_pod_uid(uid) ? uid : std::string();
}

// Of the text of /proc/PID/cgroup.
struct CgroupPaths {
  std::string unified;
  std::string of_perf_events;
  std::string of_cpu_time = "/";  // v1's cpu or cpuacct
  std::string longest_of_v1 = "/";

  const std::string& of_v1() const { return of_cpu_time.size() > 1 ? of_cpu_time : longest_of_v1; }
};

// `controllers` are "cpu,cpuacct" and the like, of a line of /proc/PID/cgroup.
bool has_controller(std::string_view controllers, std::string_view controller) {
  return std::ranges::any_of(std::views::split(controllers, ','), [&](const auto part) {
    return std::string_view(part.begin(), part.end()) == controller;
  });
}

CgroupPaths read_paths(std::string_view proc_cgroup_text) {
  CgroupPaths paths;
  while (!proc_cgroup_text.empty()) {
    const size_t end = std::min(proc_cgroup_text.find('\n'), proc_cgroup_text.size());
    const std::string_view line = proc_cgroup_text.substr(0, end);
    proc_cgroup_text.remove_prefix(std::min(end + 1, proc_cgroup_text.size()));
    const size_t first_colon = line.find(':');
    const size_t second_colon = line.find(':', std::min(first_colon, line.size() - 1) + 1);
    if (first_colon == std::string_view::npos || second_colon == std::string_view::npos) {
      continue;
    }
    const std::string path = printable(line.substr(second_colon + 1));
    if (line.starts_with("0::")) {
      paths.unified = path;
      continue;
    }
    const std::string_view controllers = line.substr(first_colon + 1, second_colon - first_colon - 1);
    if (path.size() > 1 && (has_controller(controllers, "cpu") || has_controller(controllers, "cpuacct"))) {
      paths.of_cpu_time = path;
    }
    if (has_controller(controllers, "perf_event")) {
      paths.of_perf_events = path;
    }
    if (path.size() > paths.longest_of_v1.size()) {
      paths.longest_of_v1 = path;
    }
  }
  return paths;
}

}  // namespace

std::string cgroup_path(std::string_view proc_cgroup_text) {
  const CgroupPaths paths = read_paths(proc_cgroup_text);
  if (paths.of_perf_events.size() > 1) {
    return paths.of_perf_events;
  }
  return paths.unified.size() > 1 ? paths.unified : paths.of_v1();
}

std::string v1_cgroup_path(std::string_view proc_cgroup_text) {
  return read_paths(proc_cgroup_text).of_v1();
}

std::string container_id(std::string_view cgroup_path) {
  const auto parts = components(cgroup_path);
  const auto kubepods = static_cast<size_t>(std::ranges::find(parts, "kubepods") - parts.begin());
  for (size_t i = parts.size(); i-- > 0;) {
    const std::string_view scope_id = id_of_scope(parts[i]);
    if (is_container_id(scope_id)) {
      return std::string(scope_id);
    }
    // A bare ID stands under /docker, or under a pod of kubepods, which may itself be in a container.
    const bool is_bare = i > kubepods || (i > 0 && parts[i - 1] == "docker");
    if (is_bare && is_container_id(parts[i])) {
      return std::string(parts[i]);
    }
  }
  return {};
}

std::string pod_uid(std::string_view cgroup_path) {
  std::string innermost;
  bool is_under_kubepods = false;
  for (const std::string_view part : components(cgroup_path)) {
    if (std::string uid = pod_of(part, is_under_kubepods); !uid.empty()) {
      innermost = std::move(uid);
    }
    is_under_kubepods = is_under_kubepods || part == "kubepods";
  }
  return innermost;
}

std::string_view path_to_unit(std::string_view cgroup_path) {
  while (!cgroup_path.empty() && !cgroup_path.ends_with(".service") && !cgroup_path.ends_with(".scope")) {
    cgroup_path = cgroup_path.substr(0, std::min(cgroup_path.rfind('/'), cgroup_path.size() - 1));
  }
  return cgroup_path;
}

}  // namespace plimsoll::identity
