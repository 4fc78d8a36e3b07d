#include "store/model/wire_entries.h"

#include "base/hex.h"

namespace plimsoll::store {

std::string build_id_text(wire::IdentityKind kind, std::string_view identity) {
  return (kind == wire::CONTENT_HASH ? "xxh3:" : "") + to_hex(identity);
}

MachineEntry machine_entry(const wire::Machine& machine) {
  return {.machine_id = machine.id(),
          .hostname = machine.hostname(),
          .datacenter = machine.datacenter(),
          .cluster = machine.cluster(),
          .platform = machine.platform(),
          .architecture = machine.architecture(),
          .kernel = machine.kernel_release(),
          .cores = machine.cores(),
          .cpu_model = machine.cpu_model(),
          .kernel_build_id = to_hex(machine.kernel_build_id()),
          .os = machine.os(),
          .daemon_version = machine.daemon_version()};
}

}  // namespace plimsoll::store
