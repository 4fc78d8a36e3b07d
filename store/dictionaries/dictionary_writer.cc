#include "store/dictionaries/dictionary_writer.h"

namespace plimsoll::store {

DictionaryWriter::DictionaryWriter(sqlite::Database& database, Dictionaries entries)
    : database_(&database), index_(std::move(entries)) {
  const AppendOnlyList<std::string>& sets = index_.entries().label_sets;
  for (uint32_t id = 1; id < sets.size(); ++id) {
    label_values_.add(id, sets[id]);
  }
}

void DictionaryWriter::roll_back(const Mark& mark) {
  index_.roll_back(mark);
  label_values_.roll_back(mark.label_sets);
}

Result<DictionaryWriter> DictionaryWriter::open(sqlite::Database& database) {
  auto entries = load_dictionaries(database);
  return entries ? Result<DictionaryWriter>(DictionaryWriter(database, std::move(*entries)))
                 : propagate(entries);
}

Result<uint32_t> DictionaryWriter::machine(const MachineEntry& entry) {
  return index_.intern(entry, [&](uint32_t id) {
    return database_->execute("INSERT INTO machine VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", id,
                              entry.machine_id, entry.hostname, entry.datacenter, entry.cluster,
                              entry.platform, entry.architecture, entry.kernel, entry.cores, entry.cpu_model,
                              entry.kernel_build_id, entry.os, entry.daemon_version);
  });
}

Result<uint32_t> DictionaryWriter::event(const EventEntry& entry) {
  return index_.intern(entry, [&](uint32_t id) {
    return database_->execute("INSERT INTO event VALUES (?, ?, ?, ?)", id, entry.name,
                              static_cast<int>(entry.unit), static_cast<int>(entry.kind));
  });
}

Result<uint32_t> DictionaryWriter::workload(const WorkloadEntry& entry) {
  return index_.intern(entry, [&](uint32_t id) {
    return database_->execute("INSERT INTO workload VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", id, entry.job,
                              entry.instance, entry.app, entry.image, entry.build_id, entry.revision,
                              entry.compiler, entry.builder);
  });
}

Result<uint32_t> DictionaryWriter::thread(const std::string& name) {
  return index_.intern_thread(
      name, [&](uint32_t id) { return database_->execute("INSERT INTO thread VALUES (?, ?)", id, name); });
}

Result<uint32_t> DictionaryWriter::label_set(const std::string& encoded) {
  return index_.intern_label_set(encoded, [&](uint32_t id) {
    label_values_.add(id, encoded);
    return database_->execute("INSERT INTO label_set VALUES (?, ?)", id, as_bytes(encoded));
  });
}

Result<uint32_t> DictionaryWriter::binary(const BinaryEntry& entry) {
  return index_.intern(entry, [&](uint32_t id) {
    return database_->execute("INSERT INTO binary (id, identity_kind, identity, path) VALUES (?, ?, ?, ?)",
                              id, static_cast<int>(entry.identity_kind), as_bytes(entry.identity),
                              entry.path);
  });
}

Result<uint32_t> DictionaryWriter::location(const LocationEntry& entry) {
  return index_.intern(entry, [&](uint32_t id) {
    return database_->execute("INSERT INTO location VALUES (?, ?, ?, ?, ?)", id, static_cast<int>(entry.kind),
                              entry.owner, entry.address, entry.name);
  });
}

Result<uint32_t> DictionaryWriter::stack(StackNode node) {
  return index_.intern(node, [&](uint32_t id) {
    return database_->execute("INSERT INTO stack VALUES (?, ?, ?)", id, node.parent, node.location);
  });
}

Result<uint32_t> DictionaryWriter::origin(const OriginEntry& entry, const std::string& profile_id,
                                          int64_t archive_sequence) {
  return index_.add(entry, [&](uint32_t id) {
    return database_->execute("INSERT INTO origin VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", id,
                              as_bytes(profile_id), archive_sequence, entry.machine, entry.from_ns,
                              entry.to_ns, entry.draw, entry.stratum, entry.inclusion_probability,
                              entry.interval_ns, entry.series);
  });
}

}  // namespace plimsoll::store
