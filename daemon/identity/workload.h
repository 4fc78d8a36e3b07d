// Who a process works for: the job and instance of a process, from what is known of it.
#pragma once

#include <string>
#include <string_view>

namespace plimsoll::identity {

struct Workload {
  std::string job;
  std::string instance;
  std::string container;
};

// Without configured rules: a container is an instance of the job named like its executable; a systemd
// service is job and instance; anything else is the executable's job, in the instance of its cgroup.
Workload workload_of(std::string_view cgroup_path, std::string_view executable, std::string_view comm);

// The last part of a path.
std::string_view base_name(std::string_view path);

}  // namespace plimsoll::identity
