// Names of processor generations: "AMD Zen 3", "Intel Ice Lake server", "Arm Neoverse N1".
//
// Sources: Linux, arch/x86/include/asm/intel-family.h (models of Intel's family 6), arch/x86/kernel/cpu/amd.c (which models
// of the families 0x17, 0x19 and 0x1a are which Zen), arch/arm64/include/asm/cputype.h (implementers and parts).
#pragma once

#include <string>
#include <string_view>

#include "capture/platform/cpu_id.h"

namespace plimsoll::platform {

// Empty where the table does not have it. Several Arm clusters are named together ("Arm Cortex-A55 + Arm Cortex-A76").
std::string generation_of(const CpuId& id);

// What Machine.platform says: the generation, followed by " hybrid" where the machine has two kinds of x86 cores; or the
// processor's own text where the generation has no name here.
std::string platform_name(const CpuId& id, bool is_hybrid);

}  // namespace plimsoll::platform
