#include "query/snapshot/machine_attributes.h"

#include <algorithm>
#include <array>
#include <string>

namespace plimsoll::query {
namespace {

struct MachineAttribute {
  std::string_view dimension;
  std::string store::MachineEntry::* member;
};

constexpr std::array<MachineAttribute, 11> kMachineAttributes{{
    {"machine", &store::MachineEntry::machine_id},
    {"hostname", &store::MachineEntry::hostname},
    {"datacenter", &store::MachineEntry::datacenter},
    {"cluster", &store::MachineEntry::cluster},
    {"platform", &store::MachineEntry::platform},
    {"cpu_model", &store::MachineEntry::cpu_model},
    {"architecture", &store::MachineEntry::architecture},
    {"kernel", &store::MachineEntry::kernel},
    {"kernel_build_id", &store::MachineEntry::kernel_build_id},
    {"os", &store::MachineEntry::os},
    {"daemon_version", &store::MachineEntry::daemon_version},
}};

const MachineAttribute* find(std::string_view dimension) {
  const auto found = std::ranges::find(kMachineAttributes, dimension, &MachineAttribute::dimension);
  return found == kMachineAttributes.end() ? nullptr : &*found;
}

}  // namespace

std::optional<std::string_view> machine_value(const store::MachineEntry& machine,
                                              std::string_view dimension) {
  const MachineAttribute* const attribute = find(dimension);
  return attribute == nullptr ? std::nullopt : std::optional<std::string_view>(machine.*attribute->member);
}

bool is_machine_attribute(std::string_view dimension) {
  return find(dimension) != nullptr;
}

}  // namespace plimsoll::query
