// Four machines, as their files say.
#pragma once

#include "tests/unit/daemon/fake_machine.h"

namespace plimsoll::testing {

// Eight threads of P-cores, four E-cores: a PMU for each kind.
inline FakeMachine intel_hybrid() {
  return {R"(
    bus/event_source/devices/cpu_core/type: 4
    bus/event_source/devices/cpu_core/cpus: 0-7
    bus/event_source/devices/cpu_core/format/event: config:0-7
    bus/event_source/devices/cpu_core/format/umask: config:8-15
    bus/event_source/devices/cpu_core/format/cmask: config:24-31
    bus/event_source/devices/cpu_core/format/edge: config:18
    bus/event_source/devices/cpu_core/format/ldlat: config1:0-15
    bus/event_source/devices/cpu_core/format/acr_mask: config3:0-63
    bus/event_source/devices/cpu_core/events/mem-loads: event=0xcd,umask=0x1,ldlat=3
    bus/event_source/devices/cpu_core/events/cache-misses: event=0x2e,umask=0x41
    bus/event_source/devices/cpu_atom/type: 10
    bus/event_source/devices/cpu_atom/cpus: 8-11
    bus/event_source/devices/cpu_atom/format/event: config:0-7
    bus/event_source/devices/cpu_atom/format/umask: config:8-15
    bus/event_source/devices/software/type: 1
    bus/event_source/devices/power/type: 21
    bus/event_source/devices/power/cpumask: 0
    bus/event_source/devices/power/format/event: config:0-7
    bus/event_source/devices/power/events/energy-pkg: event=0x02
    bus/event_source/devices/power/events/energy-pkg.scale: 2.3283064365386962890625e-10
    bus/event_source/devices/power/events/energy-pkg.unit: Joules
    bus/event_source/devices/uncore_imc_0/type: 22
    bus/event_source/devices/uncore_imc_0/cpumask: 0
    bus/event_source/devices/uncore_imc_0/format/event: config:0-7
    bus/event_source/devices/uncore_imc_0/events/cas_count_read: event=0x04
    bus/event_source/devices/uncore_imc_0/events/cas_count_read.scale: 6.103515625e-5
    bus/event_source/devices/uncore_imc_0/events/cas_count_read.unit: MiB
    kernel/tracing/events/sched/sched_switch/id: 316
    kernel/tracing/events/sched/sched_wakeup/id: 319
  )",
          "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 151\n"
          "model name\t: 12th Gen Intel(R) Core(TM) i7-12700\nstepping\t: 2\n\n"};
}

// A server of one kind of cores. The event code has its upper four bits elsewhere.
inline FakeMachine amd_zen3() {
  return {R"(
    bus/event_source/devices/cpu/type: 4
    bus/event_source/devices/cpu/format/event: config:0-7,32-35
    bus/event_source/devices/cpu/format/umask: config:8-15
    bus/event_source/devices/cpu/format/inv: config:23
    bus/event_source/devices/cpu/events/open: event=0x76,cmask=?
    bus/event_source/devices/software/type: 1
    kernel/debug/tracing/events/irq/irq_handler_entry/id: 88
  )",
          "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 1\n"
          "model name\t: AMD EPYC 7763 64-Core Processor\nstepping\t: 1\n\n"};
}

// Four small and two large cores. /proc/cpuinfo of a 64-bit Arm machine names implementer and part of each.
inline FakeMachine arm_two_clusters() {
  return {
      R"(
    bus/event_source/devices/armv8_cortex_a55/type: 8
    bus/event_source/devices/armv8_cortex_a55/cpus: 0-3
    bus/event_source/devices/armv8_cortex_a55/format/event: config:0-15
    bus/event_source/devices/armv8_cortex_a55/events/l2d_cache_refill: event=0x0017
    bus/event_source/devices/armv8_cortex_a55/events/dtlb_walk: event=0x0034
    bus/event_source/devices/armv8_cortex_a76/type: 9
    bus/event_source/devices/armv8_cortex_a76/cpus: 4-5
    bus/event_source/devices/armv8_cortex_a76/format/event: config:0-15
    bus/event_source/devices/armv8_cortex_a76/events/l2d_cache_refill: event=0x0017
    bus/event_source/devices/software/type: 1
    devices/system/cpu/cpu0/regs/identification/midr_el1: 0x00000000412fd050
    devices/system/cpu/cpu1/regs/identification/midr_el1: 0x00000000412fd050
    devices/system/cpu/cpu2/regs/identification/midr_el1: 0x00000000414fd0b0
  )",
      "processor\t: 0\nBogoMIPS\t: 48.00\nCPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: 0x2\n"
      "CPU part\t: 0xd05\nCPU revision\t: 0\n\n"
      "processor\t: 4\nCPU implementer\t: 0x41\nCPU variant\t: 0x4\nCPU part\t: 0xd0b\n\n"};
}

// A cloud's machine: no PMU of the cores, and a model name that says nothing.
inline FakeMachine vm_without_pmu() {
  return {R"(
    bus/event_source/devices/msr/type: 9
    bus/event_source/devices/msr/format/event: config:0-63
    bus/event_source/devices/msr/events/tsc: event=0x00
    bus/event_source/devices/software/type: 1
    bus/event_source/devices/tracepoint/type: 2
    kernel/tracing/
  )",
          "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 106\n"
          "model name\t: Intel(R) Xeon(R) Processor @ 2.70GHz\nstepping\t: 6\n\n"};
}

}  // namespace plimsoll::testing
