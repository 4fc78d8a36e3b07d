// Control groups: which one a process is in, and which container or unit that means.
#pragma once

#include <string>
#include <string_view>

namespace plimsoll::identity {

// The path that attributes a process best, from the text of /proc/PID/cgroup, and that samples tell: that of v1's perf_event;
// where that is the root or absent, the unified hierarchy's ("0::/..."); else (hybrid layouts) that of v1's cpu or cpuacct,
// or the longest of a v1 hierarchy. "/" at least.
std::string cgroup_path(std::string_view proc_cgroup_text);

// Likewise, of v1's hierarchies alone.
std::string v1_cgroup_path(std::string_view proc_cgroup_text);

// The container ID (12 to 64 hexadecimal digits) in a cgroup path of Docker, Podman, containerd or CRI-O,
// with or without Kubernetes; empty where there is none.
std::string container_id(std::string_view cgroup_path);

// The UID of the Kubernetes pod in a cgroup path, as the API server writes it (with dashes; that of a static pod is a hash);
// empty where there is none.
std::string pod_uid(std::string_view cgroup_path);

// The path down to the innermost systemd unit, service or scope, such as "/system.slice/web@1.service"; empty where there
// is none.
std::string_view path_to_unit(std::string_view cgroup_path);

}  // namespace plimsoll::identity
