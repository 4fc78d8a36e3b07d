// The dictionaries that rows refer to. A dictionary ID is an index into these arrays; entry 0 is empty.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "base/append_only_list.h"
#include "proto/profile.pb.h"
#include "store/model/column.h"
#include "store/model/entry_index.h"

namespace plimsoll::store {

// A version of a machine's attributes: one that is upgraded gets another entry, and old origins keep theirs.
struct MachineEntry {
  std::string machine_id, hostname, datacenter, cluster, platform, architecture, kernel;
  int64_t cores = 0;
  std::string cpu_model = {};
  std::string kernel_build_id = {};  // hexadecimal
  std::string os = {};
  std::string daemon_version = {};
  auto operator<=>(const MachineEntry&) const = default;
};

struct EventEntry {
  std::string name;
  wire::Unit unit = wire::UNIT_UNSPECIFIED;
  wire::Kind kind = wire::KIND_UNSPECIFIED;

  // Others are for margins of error alone.
  bool is_shown() const { return kind != wire::SQUARES; }
};

// Where and when: one raw profile; or all those of an hour that are alike (store/rollup).
struct OriginEntry {
  uint32_t machine = 0;
  int64_t from_ns = 0;  // wall clock
  int64_t to_ns = 0;
  std::string draw;                  // empty: not drawn
  double inclusion_probability = 1;  // of the machine in the draw
  int64_t interval_ns = 0;           // that the draw speaks for; 0: the window itself
  std::string series = {};    // whose snapshots are of the same things, on a machine; empty: no snapshots
  std::string stratum = {};   // part of the fleet that the draw drew from separately; empty: the only one
  bool is_rolled_up = false;  // of the profiles of an hour, without threads and instances
};

// One event of an origin.
struct OriginEventEntry {
  uint32_t origin = 0;
  uint32_t event = 0;
  double scale = 0;  // value of a hit, in the event's unit
  uint64_t hits = 0;
  uint64_t lost = 0;
  std::string note = {};
  uint64_t samples = 0;  // that the hits were made of: where some stand for several, fewer than hits
  bool ran = true;       // false: its counters never got their turn, so that no hits mean nothing
  // Of rolled-up origins; 0: of the one profile that the origin is.
  uint32_t profiles = 0;
  int64_t observed_ns = 0;       // windows in which it ran
  double effective_samples = 0;  // (sum w)^2 / sum w^2
};

// Who.
struct WorkloadEntry {
  std::string job, instance, app, image, build_id, revision, compiler, builder;
  auto operator<=>(const WorkloadEntry&) const = default;
};

struct BinaryEntry {
  wire::IdentityKind identity_kind = wire::IDENTITY_UNKNOWN;
  std::string identity;  // binary
  std::string path;
  auto operator<=>(const BinaryEntry&) const = default;
};

struct LocationEntry {
  wire::LocationKind kind = wire::LOCATION_UNSPECIFIED;
  uint32_t owner = 0;  // binary (ELF, ELF_FILE_OFFSET, KERNEL, MODULE) or workload (JIT)
  uint64_t address = 0;
  std::string name;  // NAMED and BPF: the function
  auto operator<=>(const LocationEntry&) const = default;
};

struct StackNode {
  uint32_t parent = 0;
  uint32_t location = 0;

  bool operator==(const StackNode&) const = default;
  uint64_t hash() const { return hash_of(uint64_t{parent} << 32U | location); }
};

// Everything in memory, as of one moment. Copies cost nothing: a reader's stays as it is while another is extended.
struct Dictionaries {
  AppendOnlyList<MachineEntry> machines{1};
  AppendOnlyList<EventEntry> events{1};
  AppendOnlyList<OriginEntry> origins{1};
  AppendOnlyList<OriginEventEntry> origin_events;   // of events that are shown
  AppendOnlyList<OriginEventEntry> origin_squares;  // of the others
  AppendOnlyList<WorkloadEntry> workloads{1};
  AppendOnlyList<std::string> threads{1};
  AppendOnlyList<std::string> label_sets{1};  // as label_set.h has them
  AppendOnlyList<BinaryEntry> binaries{1};
  AppendOnlyList<LocationEntry> locations{1};
  AppendOnlyList<StackNode> stacks{1};

  // Whose events are there: reading goes on from here.
  size_t origins_with_events = 1;
};

// How many entries of each dictionary there are, the empty entry 0 among them: the ID that the next one gets.
struct DictionarySizes {
  size_t machines = 1, events = 1, origins = 1, workloads = 1, threads = 1, label_sets = 1, binaries = 1,
         locations = 1, stacks = 1;

  bool operator==(const DictionarySizes&) const = default;
};

inline DictionarySizes sizes_of(const Dictionaries& entries) {
  return {.machines = entries.machines.size(),
          .events = entries.events.size(),
          .origins = entries.origins.size(),
          .workloads = entries.workloads.size(),
          .threads = entries.threads.size(),
          .label_sets = entries.label_sets.size(),
          .binaries = entries.binaries.size(),
          .locations = entries.locations.size(),
          .stacks = entries.stacks.size()};
}

// The largest ID of each column.
inline ByColumn<uint32_t> last_ids_of(const DictionarySizes& sizes) {
  const auto last = [](size_t size) { return static_cast<uint32_t>(size - 1); };
  return {{last(sizes.events), last(sizes.origins), last(sizes.workloads), last(sizes.threads),
           last(sizes.label_sets), last(sizes.stacks)}};
}

}  // namespace plimsoll::store
