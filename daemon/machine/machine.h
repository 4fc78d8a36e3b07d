// The attributes of this machine.
#pragma once

#include <string>

#include "base/result.h"
#include "proto/machine.pb.h"

namespace plimsoll::identity {

struct MachineSettings {
  std::string id;  // empty: derived from /etc/machine-id, else random and kept in `state_dir`
  std::string datacenter;
  std::string cluster;
  std::string state_dir = "/var/lib/plimsoll";
};

// Everything that can be read; what cannot is left empty, but for the ID.
Result<wire::Machine> read_machine(const MachineSettings& settings);

// A hash of /etc/machine-id keyed by our name: the ID itself must not leave the machine (machine-id(5)).
std::string machine_id_from(std::string_view etc_machine_id);

// Sets platform and cpu_model ("AMD Zen 3", "EPYC 7763 (AuthenticAMD 25/1)") from the text of /proc/cpuinfo and what sysfs
// says of cores and PMUs.
void set_platform(std::string_view cpuinfo, const std::string& sysfs, wire::Machine& machine);

}  // namespace plimsoll::identity
