// Which processor a machine has, as it says of itself: family and model on x86, implementer and part on Arm. Pure but for
// read_cpu_id(); any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll::platform {

struct X86Model {
  std::string vendor;  // "GenuineIntel", "AuthenticAMD"
  uint32_t family = 0;
  uint32_t model = 0;
  uint32_t stepping = 0;
  bool operator==(const X86Model&) const = default;
};

// Fields of the register MIDR_EL1.
struct ArmCore {
  uint32_t implementer = 0;
  uint32_t part = 0;
  bool operator==(const ArmCore&) const = default;
};

struct CpuId {
  std::optional<X86Model> x86;
  std::vector<ArmCore> arm;  // distinct ones, as they come: two on a machine of two clusters
  std::string model_name;    // in the processor's or the hypervisor's words; empty where there are none
};

// From the text of /proc/cpuinfo. Whatever it does not tell is left out.
CpuId cpu_id_from(std::string_view cpuinfo);

// From what recordings say: "GenuineIntel,6,85,4" (vendor, family, model, stepping) of x86 machines, the register in hex
// ("0x00000000410fd0c0") of Arm ones. Anything else tells nothing.
CpuId cpu_id_from_recording(std::string_view cpu_id, std::string_view model_name);

// Of this machine, or of one whose files are copied elsewhere: the text of /proc/cpuinfo, and where that tells no Arm core,
// cpu*/regs/identification/midr_el1 below `sysfs`/devices/system/cpu.
CpuId read_cpu_id(std::string_view cpuinfo, const std::string& sysfs);

// "EPYC 7763 (AuthenticAMD 25/1)": the model's own name with its family and model, or the Arm cores' numbers.
std::string model_text(const CpuId& id);

}  // namespace plimsoll::platform
