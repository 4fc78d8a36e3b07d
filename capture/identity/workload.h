// Who a process works for: the job and instance of a process, from what is known of it.
#pragma once

#include <string>
#include <string_view>

#include "capture/identity/environment.h"

namespace plimsoll::identity {

// What is known of a process when it is named. Borrows.
struct ProcessFacts {
  std::string_view cgroup;  // path
  std::string_view executable;
  std::string_view comm;
  const Environment* environment = nullptr;  // null: none
};

struct Workload {
  std::string job;
  std::string instance;
  std::string container;  // ID
  std::string image;
  Environment labels;  // by name
};

// Without configured rules. A container is an instance of the job named like its executable. A systemd service is a job by
// its name ("web@1.service" and "web@2.service" of the job "web"), and its control group is an instance. Anything else
// (user sessions, transient units, whose names hold serial numbers, and what no unit holds) is the executable's job, in the
// instance of its control group. Job names hold nothing that differs between machines or boots. Neither image nor labels.
Workload workload_of(const ProcessFacts& facts);

// The last part of a path.
std::string_view base_name(std::string_view path);

}  // namespace plimsoll::identity
