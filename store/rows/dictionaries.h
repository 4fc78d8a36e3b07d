// The dictionaries that rows refer to. A dictionary ID is an index into these arrays; entry 0 is empty.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "base/append_only_list.h"
#include "base/result.h"
#include "proto/profile.pb.h"
#include "store/rows/entry_index.h"
#include "store/rows/key_index.h"
#include "store/sqlite/database.h"

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

// Where and when: one raw profile.
struct OriginEntry {
  uint32_t machine = 0;
  int64_t from_ns = 0;  // wall clock
  int64_t to_ns = 0;
  std::string draw;                  // empty: not drawn
  double inclusion_probability = 1;  // of the machine in the draw
  int64_t interval_ns = 0;           // that the draw speaks for; 0: the window itself
  std::string series = {};   // whose snapshots are of the same things, on a machine; empty: no snapshots
  std::string stratum = {};  // part of the fleet that the draw drew from separately; empty: the only one
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
  AppendOnlyList<BinaryEntry> binaries{1};
  AppendOnlyList<LocationEntry> locations{1};
  AppendOnlyList<StackNode> stacks{1};

  static Result<Dictionaries> load(sqlite::Database& database);

  // Adds what has been committed since: entries are only ever added, and reading costs as much as what is new. After an error it is of
  // no use.
  Status extend(sqlite::Database& database);

  // The same in two parts, of which the larger is often the stacks. Another connection, whose state may be newer, has those up to `last`
  // as they were.
  Status extend_without_stacks(sqlite::Database& database);
  static Result<uint32_t> last_stack(sqlite::Database& database);
  Status extend_stacks(sqlite::Database& database, uint32_t last);

 private:
  Status extend_origin_events(sqlite::Database& database);

  size_t origins_with_events_ = 1;  // whose events are there
};

// Adds entries, to memory and to the database together, within the caller's transaction. If that is rolled back, roll_back() takes this
// object to where it was at the transaction's beginning. An exception of an allocation leaves it fit for that.
class DictionaryWriter {
 public:
  static Result<DictionaryWriter> open(sqlite::Database& database);

  const Dictionaries& entries() const { return entries_; }

  // How many entries of each there are.
  struct Mark {
    size_t machines, events, origins, workloads, threads, binaries, locations, stacks;
  };
  Mark mark() const;
  // Takes back what was added since. Allocates nothing; costs as much as adding did.
  void roll_back(const Mark& mark);

  Result<uint32_t> machine(const MachineEntry& entry);
  // kConflict where an event of this name has another unit or kind.
  Result<uint32_t> event(const EventEntry& entry);
  Result<uint32_t> workload(const WorkloadEntry& entry);
  Result<uint32_t> thread(const std::string& name);
  Result<uint32_t> binary(const BinaryEntry& entry);
  Result<uint32_t> location(const LocationEntry& entry);
  Result<uint32_t> stack(StackNode node);
  // The ID of a node that is known; 0 where it is new.
  uint32_t find_stack(StackNode node) const { return stacks_.find(node); }

  // What to prefetch for a look-up that follows (KeyIndex::place_of). Not of locations with names.
  const void* place_of(const LocationEntry& entry) const {
    return locations_.place_of({entry.address, entry.owner, entry.kind});
  }
  const void* place_of(StackNode node) const { return stacks_.place_of(node); }

  // Always new: an origin is one profile.
  Result<uint32_t> origin(const OriginEntry& entry, const std::string& profile_id, int64_t archive_sequence);

 private:
  // A location without a name.
  struct LocationKey {
    uint64_t address = 0;
    uint32_t owner = 0;
    wire::LocationKind kind = wire::LOCATION_UNSPECIFIED;

    bool operator==(const LocationKey&) const = default;
    uint64_t hash() const { return hash_of(address, owner, static_cast<int>(kind)); }
  };

  explicit DictionaryWriter(sqlite::Database& database) : database_(&database) {}
  void add_to_index(const LocationEntry& entry, uint32_t id);

  sqlite::Database* database_;
  Dictionaries entries_;
  EntryIndex<MachineEntry> machines_;
  EntryIndex<WorkloadEntry> workloads_;
  EntryIndex<std::string> threads_;
  EntryIndex<BinaryEntry> binaries_;
  EntryIndex<LocationEntry> named_locations_;
  KeyIndex<LocationKey> locations_;  // the others
  KeyIndex<StackNode> stacks_;
};

}  // namespace plimsoll::store
