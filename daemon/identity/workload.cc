#include "daemon/identity/workload.h"

#include "daemon/identity/cgroup.h"

namespace plimsoll::identity {

std::string_view base_name(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

Workload workload_of(std::string_view cgroup_path, std::string_view executable, std::string_view comm) {
  const std::string program(executable.empty() ? comm : base_name(executable));
  const std::string container = container_id(cgroup_path);
  if (!container.empty()) {
    return {program, container, container};
  }
  const std::string service = systemd_service(cgroup_path);
  if (!service.empty()) {
    return {service, std::string(cgroup_path), {}};
  }
  return {program, std::string(cgroup_path), {}};
}

}  // namespace plimsoll::identity
