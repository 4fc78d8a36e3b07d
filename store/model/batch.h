// Profiles that become visible together, with the dictionary entries that are new with them: what a sink is given (store/door/sink.h).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "store/model/bindings.h"
#include "store/model/dictionaries.h"
#include "store/model/profile_record.h"
#include "store/model/row.h"

namespace plimsoll::store {

// The entries behind those that a sink has. Borrowed from dictionaries, which must not change meanwhile.
struct NewEntries {
  DictionarySizes before;  // that the sink has: each first new entry has this ID, and IDs are dense
  std::span<const MachineEntry> machines = {};
  std::span<const EventEntry> events = {};
  std::span<const OriginEntry> origins = {};
  std::span<const WorkloadEntry> workloads = {};
  std::span<const std::string> threads = {};
  std::span<const std::string> label_sets = {};
  std::span<const BinaryEntry> binaries = {};
  std::span<const LocationEntry> locations = {};
  std::span<const StackNode> stacks = {};

  // Of the dictionaries with these.
  DictionarySizes after() const {
    return {.machines = before.machines + machines.size(),
            .events = before.events + events.size(),
            .origins = before.origins + origins.size(),
            .workloads = before.workloads + workloads.size(),
            .threads = before.threads + threads.size(),
            .label_sets = before.label_sets + label_sets.size(),
            .binaries = before.binaries + binaries.size(),
            .locations = before.locations + locations.size(),
            .stacks = before.stacks + stacks.size()};
  }
};

inline NewEntries entries_since(const DictionarySizes& before, const Dictionaries& entries) {
  return {.before = before,
          .machines = entries.machines.span().subspan(before.machines),
          .events = entries.events.span().subspan(before.events),
          .origins = entries.origins.span().subspan(before.origins),
          .workloads = entries.workloads.span().subspan(before.workloads),
          .threads = entries.threads.span().subspan(before.threads),
          .label_sets = entries.label_sets.span().subspan(before.label_sets),
          .binaries = entries.binaries.span().subspan(before.binaries),
          .locations = entries.locations.span().subspan(before.locations),
          .stacks = entries.stacks.span().subspan(before.stacks)};
}

// A wire::KernelImage that a profile brought of a binary, serialized.
struct KernelSymbols {
  uint32_t binary = 0;
  std::string content;
};

// The machine that reported a binary first.
struct BinaryMachine {
  uint32_t binary = 0;
  std::string machine_id;
};

// A profile of which no rows can be built.
struct SetAside {
  int64_t sequence = 0;
  std::string reason;
};

struct Batch {
  // The place that it was made for (Sink::Place): its IDs mean something there alone.
  int64_t epoch = 0;
  int64_t after = 0;  // archive sequence of the last profile before it
  // The last of its profiles: by this number it is known. It has all that the archive has from `after` on, or says why not.
  int64_t last = 0;

  NewEntries entries;
  std::vector<ProfileRecord> profiles;  // for each of the new origins, in their order
  std::vector<Row> rows;                // of the new origins alone
  std::vector<Binding> bindings;  // in the place of what these locations were bound to; each location once
  std::vector<KernelSymbols> kernel_symbols;   // of a binary that has some already, they change nothing
  std::vector<BinaryMachine> binary_machines;  // of new binaries
  std::vector<SetAside> set_aside;
};

}  // namespace plimsoll::store
