#include "store/rows/dictionaries.h"

#include <algorithm>

namespace plimsoll::store {
namespace {

// Runs a query whose first column is a dense ID, and hands each row to `read`.
template <typename Entry, typename Read, typename... Values>
Status load_dense(sqlite::Database& database, std::string_view sql, std::vector<Entry>& entries, Read read,
                  const Values&... values) {
  return sqlite::for_each_row(database.query(sql, values...), [&](const sqlite::Statement& row) -> Status {
    if (row.integer(0) != static_cast<int64_t>(entries.size())) {
      return fail(ErrorCode::kCorrupt, "{}: the dictionary behind \"{}\" has no entry {}", database.path(),
                  sql, entries.size());
    }
    entries.push_back(read(row));
    return {};
  });
}

// Behind the events.
Status load_origin_events(sqlite::Database& database, Dictionaries& loaded) {
  return sqlite::for_each_row(
      database.query("SELECT origin, event, scale, hits, lost, note, samples, time_enabled_ns = 0 OR "
                     "time_running_ns > 0 "
                     "FROM origin_event ORDER BY origin, event"),
      [&](const sqlite::Statement& row) {
        const auto event = static_cast<uint32_t>(row.integer(1));
        const bool is_shown = event >= loaded.events.size() || loaded.events[event].is_shown();
        (is_shown ? loaded.origin_events : loaded.origin_squares)
            .push_back({static_cast<uint32_t>(row.integer(0)), event, row.real(2),
                        static_cast<uint64_t>(row.integer(3)), static_cast<uint64_t>(row.integer(4)),
                        std::string(row.text(5)), static_cast<uint64_t>(row.integer(6)),
                        row.integer(7) != 0});
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
Result<uint32_t> append(std::vector<Entry>& entries, const Entry& entry, Insert insert) {
  const auto id = static_cast<uint32_t>(entries.size());
  if (const Status inserted = insert(id); !inserted) {
    return propagate(inserted);
  }
  entries.push_back(entry);
  return id;
}

// The ID of an entry, which is appended where it is new.
template <typename Entry, typename Insert>
Result<uint32_t> intern(EntryIndex<Entry>& index, std::vector<Entry>& entries, const Entry& entry,
                        Insert insert) {
  const uint64_t hash = hash_of_entry(entry);
  if (const uint32_t known = index.find(hash, entry, entries); known != 0) {
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
void remove_last(std::vector<Entry>& entries, size_t size, Forget forget) {
  while (entries.size() > size) {
    forget(entries.back(), static_cast<uint32_t>(entries.size() - 1));
    entries.pop_back();
  }
}

template <typename Entry>
void remove_last(std::vector<Entry>& entries, size_t size, EntryIndex<Entry>& index) {
  remove_last(entries, size,
              [&](const Entry& entry, uint32_t id) { index.remove_last(hash_of_entry(entry), id); });
}

// All but the empty entry 0.
template <typename Entry>
void index_entries(const std::vector<Entry>& entries, EntryIndex<Entry>& index) {
  for (size_t id = 1; id < entries.size(); ++id) {
    index.add(hash_of_entry(entries[id]), static_cast<uint32_t>(id));
  }
}

}  // namespace

Result<Dictionaries> Dictionaries::load(sqlite::Database& database) {
  const auto last = last_stack(database);
  auto loaded = last ? load_without_stacks(database) : propagate(last);
  auto stacks = loaded ? load_stacks(database, *last) : propagate(loaded);
  if (!stacks) {
    return propagate(stacks);
  }
  loaded->stacks = std::move(*stacks);
  return loaded;
}

Result<Dictionaries> Dictionaries::load_without_stacks(sqlite::Database& database) {
  Dictionaries loaded;
  for (const Status& status : {
           load_dense(
               database,
               "SELECT id, machine_id, hostname, datacenter, cluster, platform, architecture, kernel, cores, "
               "cpu_model, kernel_build_id, os, daemon_version FROM machine ORDER BY id",
               loaded.machines, read_machine),
           load_dense(database, "SELECT id, name, unit, kind FROM event ORDER BY id", loaded.events,
                      read_event),
           load_dense(database,
                      "SELECT id, machine, from_ns, to_ns, draw, inclusion_probability, interval_ns, series, "
                      "stratum FROM origin ORDER BY id",
                      loaded.origins, read_origin),
           load_origin_events(database, loaded),
           load_dense(
               database,
               "SELECT id, job, instance, app, image, build_id, revision, compiler, builder FROM workload "
               "ORDER BY id",
               loaded.workloads, read_workload),
           load_dense(database, "SELECT id, name FROM thread ORDER BY id", loaded.threads,
                      [](const sqlite::Statement& row) { return text(row, 1); }),
           load_dense(database, "SELECT id, identity_kind, identity, path FROM binary ORDER BY id",
                      loaded.binaries, read_binary),
           load_dense(database, "SELECT id, kind, owner, address, name FROM location ORDER BY id",
                      loaded.locations, read_location),
       }) {
    if (!status) {
      return propagate(status, "loading dictionaries");
    }
  }
  return loaded;
}

Result<uint32_t> Dictionaries::last_stack(sqlite::Database& database) {
  const auto last = database.integer("SELECT max(id) FROM stack", 0);
  return last ? Result<uint32_t>(static_cast<uint32_t>(*last)) : propagate(last, "loading dictionaries");
}

Result<std::vector<StackNode>> Dictionaries::load_stacks(sqlite::Database& database, uint32_t last) {
  std::vector<StackNode> stacks(1);
  stacks.reserve(size_t{last} + 1);
  const Status loaded = load_dense(
      database, "SELECT id, parent, location FROM stack WHERE id <= ? ORDER BY id", stacks, read_stack, last);
  if (!loaded) {
    return propagate(loaded, "loading dictionaries");
  }
  if (stacks.size() != size_t{last} + 1) {
    return fail(ErrorCode::kCorrupt, "{}: the stacks end with {}, not {}", database.path(), stacks.size() - 1,
                last);
  }
  return stacks;
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
  entries_.events.resize(mark.events);
  entries_.origins.resize(mark.origins);
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
