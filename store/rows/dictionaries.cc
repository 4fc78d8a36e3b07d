#include "store/rows/dictionaries.h"

#include <algorithm>

namespace plimsoll::store {
namespace {

// Runs a query of the entries beyond the last one that is there, whose first column is a dense ID, and hands each row to `read`.
template <typename Entry, typename Read, typename... Values>
Status extend_dense(sqlite::Database& database, std::string_view sql, AppendOnlyList<Entry>& entries,
                    Read read, const Values&... values) {
  const size_t last = entries.size() - 1;
  return sqlite::for_each_row(
      database.query(sql, last, values...), [&](const sqlite::Statement& row) -> Status {
        if (row.integer(0) != static_cast<int64_t>(entries.size())) {
          return fail(ErrorCode::kCorrupt, "{}: the dictionary behind \"{}\" has no entry {}",
                      database.path(), sql, entries.size());
        }
        entries.push_back(read(row));
        return {};
      });
}

std::string text(const sqlite::Statement& row, int column) {
  return std::string(row.text(column));
}

MachineEntry read_machine(const sqlite::Statement& row) {
  return {text(row, 1), text(row, 2),   text(row, 3), text(row, 4),  text(row, 5),  text(row, 6),
          text(row, 7), row.integer(8), text(row, 9), text(row, 10), text(row, 11), text(row, 12)};
}

EventEntry read_event(const sqlite::Statement& row) {
  return {text(row, 1), static_cast<wire::Unit>(row.integer(2)), static_cast<wire::Kind>(row.integer(3))};
}

OriginEntry read_origin(const sqlite::Statement& row) {
  return {static_cast<uint32_t>(row.integer(1)),
          row.integer(2),
          row.integer(3),
          text(row, 4),
          row.real(5),
          row.integer(6),
          text(row, 7),
          text(row, 8)};
}

WorkloadEntry read_workload(const sqlite::Statement& row) {
  return {text(row, 1), text(row, 2), text(row, 3), text(row, 4),
          text(row, 5), text(row, 6), text(row, 7), text(row, 8)};
}

BinaryEntry read_binary(const sqlite::Statement& row) {
  return {static_cast<wire::IdentityKind>(row.integer(1)), row.blob(2), text(row, 3)};
}

LocationEntry read_location(const sqlite::Statement& row) {
  return {static_cast<wire::LocationKind>(row.integer(1)), static_cast<uint32_t>(row.integer(2)),
          static_cast<uint64_t>(row.integer(3)), text(row, 4)};
}

StackNode read_stack(const sqlite::Statement& row) {
  return {static_cast<uint32_t>(row.integer(1)), static_cast<uint32_t>(row.integer(2))};
}

uint64_t hash_of_entry(const MachineEntry& entry) {
  return hash_of(entry.machine_id, entry.hostname, entry.datacenter, entry.cluster, entry.platform,
                 entry.architecture, entry.kernel, entry.cores, entry.cpu_model, entry.kernel_build_id,
                 entry.os, entry.daemon_version);
}

uint64_t hash_of_entry(const WorkloadEntry& entry) {
  return hash_of(entry.job, entry.instance, entry.app, entry.image, entry.build_id, entry.revision,
                 entry.compiler, entry.builder);
}

uint64_t hash_of_entry(const std::string& entry) {
  return hash_of(entry);
}

uint64_t hash_of_entry(const BinaryEntry& entry) {
  return hash_of(static_cast<int>(entry.identity_kind), entry.identity, entry.path);
}

uint64_t hash_of_entry(const LocationEntry& entry) {
  return hash_of(static_cast<int>(entry.kind), entry.owner, entry.address, entry.name);
}

// A new entry, for which `insert` writes the database's row.
template <typename Entry, typename Insert>
Result<uint32_t> append(AppendOnlyList<Entry>& entries, const Entry& entry, Insert insert) {
  const auto id = static_cast<uint32_t>(entries.size());
  if (const Status inserted = insert(id); !inserted) {
    return propagate(inserted);
  }
  entries.push_back(entry);
  return id;
}

// The ID of an entry, which is appended where it is new.
template <typename Entry, typename Insert>
Result<uint32_t> intern(EntryIndex<Entry>& index, AppendOnlyList<Entry>& entries, const Entry& entry,
                        Insert insert) {
  const uint64_t hash = hash_of_entry(entry);
  if (const uint32_t known = index.find(hash, entry, entries.span()); known != 0) {
    return known;
  }
  const auto id = append(entries, entry, insert);
  if (id) {
    index.add(hash, *id);
  }
  return id;
}

// The last ones, down to `size`, which `forget` removes from their index.
template <typename Entry, typename Forget>
void remove_last(AppendOnlyList<Entry>& entries, size_t size, Forget forget) {
  for (size_t id = entries.size(); id-- > size;) {
    forget(entries[id], static_cast<uint32_t>(id));
  }
  entries.truncate(size);
}

template <typename Entry>
void remove_last(AppendOnlyList<Entry>& entries, size_t size, EntryIndex<Entry>& index) {
  remove_last(entries, size,
              [&](const Entry& entry, uint32_t id) { index.remove_last(hash_of_entry(entry), id); });
}

// All but the empty entry 0.
template <typename Entry>
void index_entries(const AppendOnlyList<Entry>& entries, EntryIndex<Entry>& index) {
  for (size_t id = 1; id < entries.size(); ++id) {
    index.add(hash_of_entry(entries[id]), static_cast<uint32_t>(id));
  }
}

}  // namespace

Result<Dictionaries> Dictionaries::load(sqlite::Database& database) {
  Dictionaries loaded;
  const Status extended = loaded.extend(database);
  return extended ? Result<Dictionaries>(std::move(loaded)) : propagate(extended);
}

Status Dictionaries::extend(sqlite::Database& database) {
  const auto last = last_stack(database);
  if (!last) {
    return propagate(last);
  }
  const Status extended = extend_without_stacks(database);
  return extended ? extend_stacks(database, *last) : extended;
}

Status Dictionaries::extend_without_stacks(sqlite::Database& database) {
  for (const Status& status :
       {extend_dense(
            database,
            "SELECT id, machine_id, hostname, datacenter, cluster, platform, architecture, kernel, "
            "cores, cpu_model, kernel_build_id, os, daemon_version FROM machine WHERE id > ? ORDER BY "
            "id",
            machines, read_machine),
        extend_dense(database, "SELECT id, name, unit, kind FROM event WHERE id > ? ORDER BY id", events,
                     read_event),
        extend_dense(database,
                     "SELECT id, machine, from_ns, to_ns, draw, inclusion_probability, interval_ns, series, "
                     "stratum FROM origin WHERE id > ? ORDER BY id",
                     origins, read_origin),
        extend_origin_events(database),
        extend_dense(
            database,
            "SELECT id, job, instance, app, image, build_id, revision, compiler, builder FROM workload "
            "WHERE id > ? ORDER BY id",
            workloads, read_workload),
        extend_dense(database, "SELECT id, name FROM thread WHERE id > ? ORDER BY id", threads,
                     [](const sqlite::Statement& row) { return text(row, 1); }),
        extend_dense(database,
                     "SELECT id, identity_kind, identity, path FROM binary WHERE id > ? ORDER BY id",
                     binaries, read_binary),
        extend_dense(database, "SELECT id, kind, owner, address, name FROM location WHERE id > ? ORDER BY id",
                     locations, read_location)}) {
    if (!status) {
      return propagate(status, "loading dictionaries");
    }
  }
  return {};
}

// Behind the events and the origins.
Status Dictionaries::extend_origin_events(sqlite::Database& database) {
  const Status read = sqlite::for_each_row(
      database.query("SELECT origin, event, scale, hits, lost, note, samples, time_enabled_ns = 0 OR "
                     "time_running_ns > 0 FROM origin_event WHERE origin >= ? ORDER BY origin, event",
                     origins_with_events_),
      [&](const sqlite::Statement& row) {
        const auto event = static_cast<uint32_t>(row.integer(1));
        const bool is_shown = event >= events.size() || events[event].is_shown();
        (is_shown ? origin_events : origin_squares)
            .push_back({static_cast<uint32_t>(row.integer(0)), event, row.real(2),
                        static_cast<uint64_t>(row.integer(3)), static_cast<uint64_t>(row.integer(4)),
                        std::string(row.text(5)), static_cast<uint64_t>(row.integer(6)),
                        row.integer(7) != 0});
      });
  origins_with_events_ = origins.size();
  return read;
}

Result<uint32_t> Dictionaries::last_stack(sqlite::Database& database) {
  const auto last = database.integer("SELECT max(id) FROM stack", 0);
  return last ? Result<uint32_t>(static_cast<uint32_t>(*last)) : propagate(last, "loading dictionaries");
}

Status Dictionaries::extend_stacks(sqlite::Database& database, uint32_t last) {
  stacks.reserve(size_t{last} + 1);
  const Status extended =
      extend_dense(database, "SELECT id, parent, location FROM stack WHERE id > ? AND id <= ? ORDER BY id",
                   stacks, read_stack, last);
  if (!extended) {
    return propagate(extended, "loading dictionaries");
  }
  if (stacks.size() != size_t{last} + 1) {
    return fail(ErrorCode::kCorrupt, "{}: the stacks end with {}, not {}", database.path(), stacks.size() - 1,
                last);
  }
  return {};
}

Result<DictionaryWriter> DictionaryWriter::open(sqlite::Database& database) {
  auto entries = Dictionaries::load(database);
  if (!entries) {
    return propagate(entries);
  }
  DictionaryWriter writer(database);
  writer.entries_ = std::move(*entries);
  index_entries(writer.entries_.machines, writer.machines_);
  index_entries(writer.entries_.workloads, writer.workloads_);
  index_entries(writer.entries_.threads, writer.threads_);
  index_entries(writer.entries_.binaries, writer.binaries_);
  for (uint32_t id = 1; id < writer.entries_.locations.size(); ++id) {
    writer.add_to_index(writer.entries_.locations[id], id);
  }
  for (size_t id = 1; id < writer.entries_.stacks.size(); ++id) {
    writer.stacks_.add(writer.entries_.stacks[id], static_cast<uint32_t>(id));
  }
  return writer;
}

DictionaryWriter::Mark DictionaryWriter::mark() const {
  return {.machines = entries_.machines.size(),
          .events = entries_.events.size(),
          .origins = entries_.origins.size(),
          .workloads = entries_.workloads.size(),
          .threads = entries_.threads.size(),
          .binaries = entries_.binaries.size(),
          .locations = entries_.locations.size(),
          .stacks = entries_.stacks.size()};
}

void DictionaryWriter::roll_back(const Mark& mark) {
  remove_last(entries_.machines, mark.machines, machines_);
  remove_last(entries_.workloads, mark.workloads, workloads_);
  remove_last(entries_.threads, mark.threads, threads_);
  remove_last(entries_.binaries, mark.binaries, binaries_);
  remove_last(entries_.locations, mark.locations, [&](const LocationEntry& entry, uint32_t id) {
    if (entry.name.empty()) {
      locations_.remove({entry.address, entry.owner, entry.kind});
    } else {
      named_locations_.remove_last(hash_of_entry(entry), id);
    }
  });
  remove_last(entries_.stacks, mark.stacks, [&](StackNode node, uint32_t /*id*/) { stacks_.remove(node); });
  // These have no index.
  entries_.events.truncate(mark.events);
  entries_.origins.truncate(mark.origins);
}

Result<uint32_t> DictionaryWriter::machine(const MachineEntry& entry) {
  return intern(machines_, entries_.machines, entry, [&](uint32_t id) {
    return database_->execute("INSERT INTO machine VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", id,
                              entry.machine_id, entry.hostname, entry.datacenter, entry.cluster,
                              entry.platform, entry.architecture, entry.kernel, entry.cores, entry.cpu_model,
                              entry.kernel_build_id, entry.os, entry.daemon_version);
  });
}

Result<uint32_t> DictionaryWriter::event(const EventEntry& entry) {
  const auto known =
      std::ranges::find(entries_.events.begin() + 1, entries_.events.end(), entry.name, &EventEntry::name);
  if (known == entries_.events.end()) {
    return append(entries_.events, entry, [&](uint32_t id) {
      return database_->execute("INSERT INTO event VALUES (?, ?, ?, ?)", id, entry.name,
                                static_cast<int>(entry.unit), static_cast<int>(entry.kind));
    });
  }
  if (known->unit != entry.unit || known->kind != entry.kind) {
    return fail(ErrorCode::kConflict, "event {} comes with unit {} and kind {}; here it has {} and {}",
                entry.name, wire::Unit_Name(entry.unit), wire::Kind_Name(entry.kind),
                wire::Unit_Name(known->unit), wire::Kind_Name(known->kind));
  }
  return static_cast<uint32_t>(known - entries_.events.begin());
}

Result<uint32_t> DictionaryWriter::workload(const WorkloadEntry& entry) {
  return intern(workloads_, entries_.workloads, entry, [&](uint32_t id) {
    return database_->execute("INSERT INTO workload VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", id, entry.job,
                              entry.instance, entry.app, entry.image, entry.build_id, entry.revision,
                              entry.compiler, entry.builder);
  });
}

Result<uint32_t> DictionaryWriter::thread(const std::string& name) {
  return intern(threads_, entries_.threads, name, [&](uint32_t id) {
    return database_->execute("INSERT INTO thread VALUES (?, ?)", id, name);
  });
}

Result<uint32_t> DictionaryWriter::binary(const BinaryEntry& entry) {
  return intern(binaries_, entries_.binaries, entry, [&](uint32_t id) {
    return database_->execute("INSERT INTO binary (id, identity_kind, identity, path) VALUES (?, ?, ?, ?)",
                              id, static_cast<int>(entry.identity_kind), as_bytes(entry.identity),
                              entry.path);
  });
}

void DictionaryWriter::add_to_index(const LocationEntry& entry, uint32_t id) {
  if (entry.name.empty()) {
    locations_.add({entry.address, entry.owner, entry.kind}, id);
  } else {
    named_locations_.add(hash_of_entry(entry), id);
  }
}

Result<uint32_t> DictionaryWriter::location(const LocationEntry& entry) {
  const auto insert = [&](uint32_t id) {
    return database_->execute("INSERT INTO location VALUES (?, ?, ?, ?, ?)", id, static_cast<int>(entry.kind),
                              entry.owner, entry.address, entry.name);
  };
  if (!entry.name.empty()) {
    return intern(named_locations_, entries_.locations, entry, insert);
  }
  const LocationKey key{entry.address, entry.owner, entry.kind};
  if (const uint32_t known = locations_.find(key); known != 0) {
    return known;
  }
  const auto id = append(entries_.locations, entry, insert);
  if (id) {
    locations_.add(key, *id);
  }
  return id;
}

Result<uint32_t> DictionaryWriter::stack(StackNode node) {
  if (const uint32_t known = stacks_.find(node); known != 0) {
    return known;
  }
  const auto id = append(entries_.stacks, node, [&](uint32_t new_id) {
    return database_->execute("INSERT INTO stack VALUES (?, ?, ?)", new_id, node.parent, node.location);
  });
  if (id) {
    stacks_.add(node, *id);
  }
  return id;
}

Result<uint32_t> DictionaryWriter::origin(const OriginEntry& entry, const std::string& profile_id,
                                          int64_t archive_sequence) {
  return append(entries_.origins, entry, [&](uint32_t id) {
    return database_->execute("INSERT INTO origin VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", id,
                              as_bytes(profile_id), archive_sequence, entry.machine, entry.from_ns,
                              entry.to_ns, entry.draw, entry.stratum, entry.inclusion_probability,
                              entry.interval_ns, entry.series);
  });
}

}  // namespace plimsoll::store
