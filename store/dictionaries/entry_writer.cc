#include "store/dictionaries/entry_writer.h"

#include <cstddef>

namespace plimsoll::store {
namespace {

// Calls `write` with the ID of each entry and the entry, until one fails.
template <typename Entry, typename Write>
Status write_each(std::span<const Entry> entries, size_t first_id, Write write) {
  for (size_t place = 0; place < entries.size(); ++place) {
    if (const Status written = write(first_id + place, entries[place]); !written) {
      return written;
    }
  }
  return {};
}

// What rows refer to.
Status write_places(sqlite::Database& catalogue, const NewEntries& entries) {
  Status written =
      write_each(entries.binaries, entries.before.binaries, [&](size_t id, const BinaryEntry& entry) {
        return catalogue.execute("INSERT INTO binary (id, identity_kind, identity, path) VALUES (?, ?, ?, ?)",
                                 id, static_cast<int>(entry.identity_kind), as_bytes(entry.identity),
                                 entry.path);
      });
  written = written ? write_each(entries.locations, entries.before.locations,
                                 [&](size_t id, const LocationEntry& entry) {
                                   return catalogue.execute("INSERT INTO location VALUES (?, ?, ?, ?, ?)", id,
                                                            static_cast<int>(entry.kind), entry.owner,
                                                            entry.address, entry.name);
                                 })
                    : written;
  return written ? write_each(entries.stacks, entries.before.stacks,
                              [&](size_t id, StackNode node) {
                                return catalogue.execute("INSERT INTO stack VALUES (?, ?, ?)", id,
                                                         node.parent, node.location);
                              })
                 : written;
}

Status write_carriers(sqlite::Database& catalogue, const NewEntries& entries) {
  Status written =
      write_each(entries.workloads, entries.before.workloads, [&](size_t id, const WorkloadEntry& entry) {
        return catalogue.execute("INSERT INTO workload VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", id, entry.job,
                                 entry.instance, entry.app, entry.image, entry.build_id, entry.revision,
                                 entry.compiler, entry.builder);
      });
  written = written ? write_each(entries.threads, entries.before.threads,
                                 [&](size_t id, const std::string& name) {
                                   return catalogue.execute("INSERT INTO thread VALUES (?, ?)", id, name);
                                 })
                    : written;
  return written ? write_each(entries.label_sets, entries.before.label_sets,
                              [&](size_t id, const std::string& encoded) {
                                return catalogue.execute("INSERT INTO label_set VALUES (?, ?)", id,
                                                         as_bytes(encoded));
                              })
                 : written;
}

Status write_machines_and_events(sqlite::Database& catalogue, const NewEntries& entries) {
  const Status written =
      write_each(entries.machines, entries.before.machines, [&](size_t id, const MachineEntry& entry) {
        return catalogue.execute("INSERT INTO machine VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", id,
                                 entry.machine_id, entry.hostname, entry.datacenter, entry.cluster,
                                 entry.platform, entry.architecture, entry.kernel, entry.cores,
                                 entry.cpu_model, entry.kernel_build_id, entry.os, entry.daemon_version);
      });
  return written ? write_each(entries.events, entries.before.events,
                              [&](size_t id, const EventEntry& entry) {
                                return catalogue.execute("INSERT INTO event VALUES (?, ?, ?, ?)", id,
                                                         entry.name, static_cast<int>(entry.unit),
                                                         static_cast<int>(entry.kind));
                              })
                 : written;
}

}  // namespace

Status insert_origin(sqlite::Database& catalogue, size_t id, const OriginEntry& entry,
                     const ProfileRecord& profile) {
  const Status written = catalogue.execute(
      "INSERT INTO origin (id, profile_id, archive_sequence, machine, from_ns, to_ns, draw, stratum, "
      "inclusion_probability, interval_ns, series) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
      id, as_bytes(profile.id), profile.sequence, entry.machine, entry.from_ns, entry.to_ns, entry.draw,
      entry.stratum, entry.inclusion_probability, entry.interval_ns, entry.series);
  if (!written) {
    return written;
  }
  for (const EventRecord& event : profile.events) {
    const Status inserted = catalogue.execute(
        "INSERT INTO origin_event (origin, event, scale, hits, lost, throttles, counter_total, "
        "time_enabled_ns, time_running_ns, note, samples) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        id, event.event, event.scale, event.hits, event.lost, event.throttles, event.counter_total,
        event.time_enabled_ns, event.time_running_ns, event.note, event.samples);
    if (!inserted) {
      return inserted;
    }
  }
  return {};
}

Status write_entries(sqlite::Database& catalogue, const NewEntries& entries,
                     std::span<const ProfileRecord> profiles) {
  if (profiles.size() != entries.origins.size()) {
    return fail(ErrorCode::kInvalid, "{} new origins, and records of {} profiles", entries.origins.size(),
                profiles.size());
  }
  Status written = write_machines_and_events(catalogue, entries);
  written = written ? write_carriers(catalogue, entries) : written;
  written = written ? write_places(catalogue, entries) : written;
  return written
             ? write_each(entries.origins, entries.before.origins,
                          [&](size_t id, const OriginEntry& entry) {
                            return insert_origin(catalogue, id, entry, profiles[id - entries.before.origins]);
                          })
             : written;
}

}  // namespace plimsoll::store
