#include "tests/sample_profile.h"

#include <google/protobuf/text_format.h>

namespace plimsoll::wire {

RawProfile sample_profile() {
  RawProfile profile;
  const bool parsed = google::protobuf::TextFormat::ParseFromString(R"(
    format_version: 1
    profile_id: "0123456789abcdef"
    machine {
      id: "m1" boot_id: "b" hostname: "h" datacenter: "east" cluster: "c" platform: "EPYC" architecture: "x86_64"
      kernel_release: "6.1" kernel_build_id: "\x01\xff" cores: 2 memory_bytes: 4096 daemon_version: "0.1" os: "Debian"
      cpu_model: "EPYC 7763"
    }
    assignment {
      id: "a1" events { name: "cycles" period: 7 set: 1 } rate_hz: 99 start_ns: 1 duration_ns: 2 continuous: true stack_bytes: 16384 stack_rate_hz: 9 turn_ns: 5 branch_rate_hz: 3 application_kinds: "heap"
      bursts { config_bits: 32512 duration_ns: 6 events: "disk" max_bytes: 7 max_overhead: 0.5 }
      draw { id: "d1" stratum: "s" inclusion_probability: 0.5 interval_start_ns: 3 interval_ns: 4 }
    }
    window {
      start { monotonic_ns: 100 wall_ns: 1000 } end { monotonic_ns: 200 wall_ns: 1100 }
      server_offset_ns: -5 clock_corrected: true
    }
    events {
      name: "cpu-clock" requested_name: "cycles" note: "no PMU" unit: NANOSECONDS kind: DELTA counter_total: 1e9
      hits: 10 ticks_due: 40 lost: 1 throttles: 2 time_enabled_ns: 100 time_running_ns: 50 mean_period: 1000 not_sampled: 3
      samples: 8
    }
    events { name: "page-faults" unit: COUNT kind: DELTA hits: 5 }
    events { name: "branch-records" unit: COUNT kind: DELTA counter_total: 900 hits: 9 }
    events { name: "branch-mispredictions" unit: COUNT kind: DELTA counter_total: 300 hits: 3 }
    events { name: "branch-ranges" unit: COUNT kind: DELTA counter_total: 7 hits: 7 }
    binaries { identity_kind: GNU_BUILD_ID identity: "\x00\x01" path: "/bin/job" compiler: "gcc 12" revision: "r1" builder: "dpkg" }
    binaries { identity_kind: CONTENT_HASH identity: "hash" path: "[kernel]" }
    binaries { path: "/gone" }
    processes {
      pid: 7 start_ns: 50 comm: "job" executable: "/bin/job" binary_plus_1: 1 cgroup: "/docker/c0ffee" container: "c0ffee"
      image: "job:1" job: "job" instance: "c0ffee" labels { key: "team" value: "search" }
    }
    processes { pid: 8 comm: "gone" }
    threads { process: 0 tid: 7 name: "job" }
    threads { process: 1 tid: 9 name: "worker" }
    mappings { process: 0 binary: 0 start: 4096 size_bytes: 8192 file_offset: 1024 }
    locations {
      kind: [ELF, ELF_FILE_OFFSET, KERNEL, MODULE, BPF, JIT, NAMED, UNRESOLVED]
      owner: [0, 2, 1, 1, 0, 1, 0, 0]
      address: [64, 128, 256, 512, 2, 140737488355327, 0, 0]
    }
    frames { function: "f" file: "f.cc" line: 3 column: 4 inlined_into_next: true linkage_name: "_Z1fv" }
    frames { function: "g" }
    frames { function: "h" }
    stacks { parent: [0, 1, 1] location: [0, 1, 7] }
    samples { event: 0 thread: [0, 1] stack: [2, 3] hits: [4, 1] label_set: [0, 1] }
    samples { event: [0, 1] thread: 0 stack: 0 hits: [5, 5] }
    label_sets { labels { key: "query" value: "q1" } }
    branches { event: 2 thread: 1 from_location: 0 to_location: 1 hits: 9 mispredicted: 3 mispredicted_event_plus_1: 4 }
    branches { event: 4 thread: 1 from_location: 1 to_location: 0 hits: 7 }
    stack_problems { problem: TOO_DEEP samples: 2 }
    kernel_symbols { images { binary: 1 offset_delta: [0, 16] names: "_text\0start\0" } }
    lost_side_band: 6
    notes: "no PMU"
    missing_events { name: "llc-misses" reason: "no PMU" }
    cost { cpu_time_ns: 7 peak_resident_bytes: 4096 slowdown: 2 cut_short: "over its memory" }
  )",
                                                                    &profile);
  return parsed ? profile : RawProfile();
}

}  // namespace plimsoll::wire
