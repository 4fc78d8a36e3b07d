#include "store/rows/dictionaries.h"

namespace plimsoll::store {
namespace {

// Runs a query whose first column is a dense ID, and hands each row to `read`.
template <typename Entry, typename Read>
Status load_dense(sqlite::Database& database, std::string_view sql, std::vector<Entry>& entries, Read read) {
  return sqlite::for_each_row(database.query(sql), [&](const sqlite::Statement& row) -> Status {
    if (row.integer(0) != static_cast<int64_t>(entries.size())) {
      return fail(ErrorCode::kCorrupt, "{}: the dictionary behind \"{}\" has no entry {}", database.path(),
                  sql, entries.size());
    }
    entries.push_back(read(row));
    return {};
  });
}

Status load_origin_events(sqlite::Database& database, std::vector<OriginEventEntry>& entries) {
  return sqlite::for_each_row(
      database.query("SELECT origin, event, scale, hits, lost, note, samples, time_enabled_ns = 0 OR "
                     "time_running_ns > 0 "
                     "FROM origin_event ORDER BY origin, event"),
      [&](const sqlite::Statement& row) {
        entries.push_back({static_cast<uint32_t>(row.integer(0)), static_cast<uint32_t>(row.integer(1)),
                           row.real(2), static_cast<uint64_t>(row.integer(3)),
                           static_cast<uint64_t>(row.integer(4)), std::string(row.text(5)),
                           static_cast<uint64_t>(row.integer(6)), row.integer(7) != 0});
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
          text(row, 7)};
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

// The ID of `key`, or a new one, for which `insert` writes the database's row.
template <typename Map, typename Key, typename Entry, typename Insert>
Result<uint32_t> intern(Map& index, const Key& key, std::vector<Entry>& entries, const Entry& entry,
                        Insert insert) {
  const auto known = index.find(key);
  if (known != index.end()) {
    return known->second;
  }
  const auto id = static_cast<uint32_t>(entries.size());
  if (const Status inserted = insert(id); !inserted) {
    return propagate(inserted);
  }
  entries.push_back(entry);
  index.emplace(key, id);
  return id;
}

// Entries by value, but for the empty entry 0.
template <typename Entry, typename Map>
void index_entries(const std::vector<Entry>& entries, Map& index) {
  for (size_t id = 1; id < entries.size(); ++id) {
    index.emplace(entries[id], static_cast<uint32_t>(id));
  }
}

uint64_t stack_key(StackNode node) {
  return uint64_t{node.parent} << 32U | node.location;
}

}  // namespace

Result<Dictionaries> Dictionaries::load(sqlite::Database& database) {
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
                      "SELECT id, machine, from_ns, to_ns, draw, inclusion_probability, interval_ns, series "
                      "FROM origin "
                      "ORDER BY id",
                      loaded.origins, read_origin),
           load_origin_events(database, loaded.origin_events),
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
           load_dense(database, "SELECT id, parent, location FROM stack ORDER BY id", loaded.stacks,
                      read_stack),
       }) {
    if (!status) {
      return propagate(status, "loading dictionaries");
    }
  }
  return loaded;
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
  index_entries(writer.entries_.locations, writer.locations_);
  for (size_t id = 1; id < writer.entries_.events.size(); ++id) {
    writer.events_.emplace(writer.entries_.events[id].name, static_cast<uint32_t>(id));
  }
  for (size_t id = 1; id < writer.entries_.stacks.size(); ++id) {
    writer.stacks_.emplace(stack_key(writer.entries_.stacks[id]), static_cast<uint32_t>(id));
  }
  return writer;
}

Result<uint32_t> DictionaryWriter::machine(const MachineEntry& entry) {
  return intern(machines_, entry, entries_.machines, entry, [&](uint32_t id) {
    return database_->execute("INSERT INTO machine VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", id,
                              entry.machine_id, entry.hostname, entry.datacenter, entry.cluster,
                              entry.platform, entry.architecture, entry.kernel, entry.cores, entry.cpu_model,
                              entry.kernel_build_id, entry.os, entry.daemon_version);
  });
}

Result<uint32_t> DictionaryWriter::event(const EventEntry& entry) {
  const auto id = intern(events_, entry.name, entries_.events, entry, [&](uint32_t new_id) {
    return database_->execute("INSERT INTO event VALUES (?, ?, ?, ?)", new_id, entry.name,
                              static_cast<int>(entry.unit), static_cast<int>(entry.kind));
  });
  if (id && (entries_.events[*id].unit != entry.unit || entries_.events[*id].kind != entry.kind)) {
    return fail(ErrorCode::kConflict, "event {} comes with unit {} and kind {}; here it has {} and {}",
                entry.name, wire::Unit_Name(entry.unit), wire::Kind_Name(entry.kind),
                wire::Unit_Name(entries_.events[*id].unit), wire::Kind_Name(entries_.events[*id].kind));
  }
  return id;
}

Result<uint32_t> DictionaryWriter::workload(const WorkloadEntry& entry) {
  return intern(workloads_, entry, entries_.workloads, entry, [&](uint32_t id) {
    return database_->execute("INSERT INTO workload VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", id, entry.job,
                              entry.instance, entry.app, entry.image, entry.build_id, entry.revision,
                              entry.compiler, entry.builder);
  });
}

Result<uint32_t> DictionaryWriter::thread(const std::string& name) {
  return intern(threads_, name, entries_.threads, name, [&](uint32_t id) {
    return database_->execute("INSERT INTO thread VALUES (?, ?)", id, name);
  });
}

Result<uint32_t> DictionaryWriter::binary(const BinaryEntry& entry) {
  return intern(binaries_, entry, entries_.binaries, entry, [&](uint32_t id) {
    return database_->execute("INSERT INTO binary (id, identity_kind, identity, path) VALUES (?, ?, ?, ?)",
                              id, static_cast<int>(entry.identity_kind), as_bytes(entry.identity),
                              entry.path);
  });
}

Result<uint32_t> DictionaryWriter::location(const LocationEntry& entry) {
  return intern(locations_, entry, entries_.locations, entry, [&](uint32_t id) {
    return database_->execute("INSERT INTO location VALUES (?, ?, ?, ?, ?)", id, static_cast<int>(entry.kind),
                              entry.owner, entry.address, entry.name);
  });
}

Result<uint32_t> DictionaryWriter::stack(StackNode node) {
  return intern(stacks_, stack_key(node), entries_.stacks, node, [&](uint32_t id) {
    return database_->execute("INSERT INTO stack VALUES (?, ?, ?)", id, node.parent, node.location);
  });
}

Result<uint32_t> DictionaryWriter::origin(const OriginEntry& entry, const std::string& stratum,
                                          const std::string& profile_id, int64_t archive_sequence) {
  const auto id = static_cast<uint32_t>(entries_.origins.size());
  const auto inserted =
      database_->execute("INSERT INTO origin VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", id,
                         as_bytes(profile_id), archive_sequence, entry.machine, entry.from_ns, entry.to_ns,
                         entry.draw, stratum, entry.inclusion_probability, entry.interval_ns, entry.series);
  if (!inserted) {
    return propagate(inserted);
  }
  entries_.origins.push_back(entry);
  return id;
}

}  // namespace plimsoll::store
