#include "store/rollup/rolled_catalogue.h"

#include <array>
#include <span>
#include <string_view>

#include "proto/profile.pb.h"
#include "store/catalogue/block_table.h"
#include "store/catalogue/catalogue.h"
#include "store/dictionaries/entry_writer.h"
#include "store/identity/listed_database.h"
#include "store/model/label_set.h"

namespace plimsoll::store {
namespace {

// Of the attached catalogue `full`: what stays as it is.
constexpr std::array kCopied{
    "INSERT INTO machine (id, machine_id, hostname, datacenter, cluster, platform, architecture, kernel, "
    "cores, cpu_model, kernel_build_id, os, daemon_version) SELECT id, machine_id, hostname, datacenter, "
    "cluster, platform, architecture, kernel, cores, cpu_model, kernel_build_id, os, daemon_version FROM "
    "full.machine ORDER BY id",
    "INSERT INTO event (id, name, unit, kind) SELECT id, name, unit, kind FROM full.event ORDER BY id",
    "INSERT INTO binary (id, identity_kind, identity, path, quality, generation, reasons, looked_at) SELECT "
    "id, identity_kind, identity, path, quality, generation, reasons, looked_at FROM full.binary ORDER BY id",
    "INSERT INTO binary_machine (binary, machine_id) SELECT binary, machine_id FROM full.binary_machine",
    "INSERT INTO stack (id, parent, location) SELECT id, parent, location FROM full.stack ORDER BY id",
    "INSERT INTO unbuildable (archive_sequence, reason) SELECT archive_sequence, reason FROM "
    "full.unbuildable",
    "INSERT INTO kernel_symbols (binary, content, is_carried_over) SELECT binary, content, is_carried_over "
    "FROM full.kernel_symbols",
    "INSERT INTO function (id, linkage_name, name) SELECT id, linkage_name, name FROM full.function WHERE id "
    "IN (SELECT function FROM full.frame) ORDER BY id",
    "INSERT INTO source_file (id, path) SELECT id, path FROM full.source_file WHERE id IN (SELECT file FROM "
    "full.frame) ORDER BY id",
};

// After the locations.
constexpr std::array kCopiedNames{
    "INSERT INTO binding (location, generation) SELECT location, generation FROM full.binding ORDER BY "
    "location",
    "INSERT INTO frame (location, depth, function, file, line, source_column, discriminator, start_line, "
    "is_inlined) SELECT location, depth, function, file, line, source_column, discriminator, start_line, "
    "is_inlined FROM full.frame ORDER BY location, depth",
};

Status run_all(sqlite::Database& database, std::span<const char* const> statements) {
  for (const char* statement : statements) {
    if (const Status done = database.run(statement); !done) {
      return done;
    }
  }
  return {};
}

Status add_workloads(sqlite::Database& database, const RolledWorkloads& workloads) {
  for (size_t id = 1; id < workloads.entries.size(); ++id) {
    const WorkloadEntry& entry = workloads.entries[id];
    const Status added = database.execute(
        "INSERT INTO workload (id, job, instance, app, image, build_id, revision, compiler, builder) VALUES "
        "(?, ?, ?, ?, ?, ?, ?, ?, ?)",
        id, entry.job, entry.instance, entry.app, entry.image, entry.build_id, entry.revision, entry.compiler,
        entry.builder);
    if (!added) {
      return added;
    }
  }
  const Status added = database.execute("INSERT INTO thread (id, name) VALUES (1, ?)", kRolledUpName);
  return added ? database.execute("INSERT INTO label_set (id, labels) VALUES (1, ?)",
                                  as_bytes(encode_labels({{kAnyLabel, kRolledUpName}})))
               : added;
}

Status copy_locations(sqlite::Database& database, const RolledWorkloads& workloads) {
  Status done = database.run(
      "CREATE TEMP TABLE rolled_workload (id INTEGER PRIMARY KEY, becomes INTEGER, instance TEXT)");
  for (size_t id = 1; id < workloads.of.size() && done; ++id) {
    done = database.execute("INSERT INTO rolled_workload VALUES (?, ?, ?)", id, workloads.of[id],
                            workloads.instances[id]);
  }
  constexpr auto kJit = static_cast<int>(wire::JIT);
  return done ? database.run(fmt::format(
                    "INSERT INTO location (id, kind, owner, address, name) SELECT location.id, kind, "
                    "CASE WHEN kind = {0} THEN becomes ELSE owner END, address, "
                    "CASE WHEN kind = {0} THEN instance ELSE name END FROM full.location "
                    "LEFT JOIN rolled_workload ON kind = {0} AND owner = rolled_workload.id "
                    "ORDER BY location.id",
                    kJit))
              : done;
}

Status add_origins(sqlite::Database& database, const Hours& hours) {
  for (size_t id = 1; id < hours.origins().size(); ++id) {
    const OriginRow& hour = hours.origins()[id];
    Status added = insert_origin(database, id, hour.entry, hour);
    for (size_t place = 0; place < hour.events.size() && added; ++place) {
      const EventRecord& event = hour.events[place];
      added = database.execute(
          "INSERT INTO rolled_up_event (origin, event, profiles, observed_ns, effective_samples) "
          "VALUES (?, ?, ?, ?, ?)",
          id, event.event, event.profiles, event.observed_ns, event.effective_samples);
    }
    if (!added) {
      return added;
    }
  }
  return {};
}

// What a block of an older program does not say itself its profiles say, until they are the last ones of hours.
Result<int64_t> accepted_before_rows(sqlite::Database& full) {
  const auto before = accepted_before(full);
  return before && *before == 0
             ? full.integer(
                   "SELECT coalesce(min(archive_sequence) - 1, 0) FROM (SELECT archive_sequence FROM origin "
                   "UNION ALL SELECT archive_sequence FROM unbuildable)",
                   0)
             : before;
}

// What the block says of itself.
Status copy_state(sqlite::Database& full, sqlite::Database& database, const RolledContents& contents) {
  const auto state = read_block_state(full);
  const auto before = state ? accepted_before_rows(full) : propagate(state);
  const auto id = before ? directory_id_of(full) : propagate(before);
  if (!id) {
    return propagate(id);
  }
  Status done = write_block_state(database, *state);
  done = done && *before != 0 ? write_accepted_before(database, *before) : done;
  done = done && !id->empty() ? give_directory_id(database, *id) : done;
  for (const SegmentEntry& segment : contents.segments) {
    done = done ? insert_segment(database, segment) : done;
  }
  return done ? database.execute("INSERT INTO roll_up (id, rolled_up_ns, profiles) VALUES (1, ?, ?)",
                                 contents.now_ns, contents.hours.profiles())
              : done;
}

Status fill(sqlite::Database& full, sqlite::Database& database, const RolledContents& contents) {
  auto transaction = sqlite::Transaction::begin(database);
  Status done = transaction ? run_all(database, kCopied) : propagate(transaction);
  done = done ? add_workloads(database, contents.workloads) : done;
  done = done ? copy_locations(database, contents.workloads) : done;
  done = done ? run_all(database, kCopiedNames) : done;
  done = done ? add_origins(database, contents.hours) : done;
  done = done ? copy_state(full, database, contents) : done;
  return done ? transaction->commit() : done;
}

}  // namespace

void RolledWorkloads::add(WorkloadEntry full) {
  instances.push_back(full.instance);
  full.instance = full.instance.empty() ? "" : kRolledUpName;
  const auto [known, is_new] = ids.try_emplace(full, static_cast<uint32_t>(entries.size()));
  of.push_back(known->second);
  if (is_new) {
    entries.push_back(std::move(full));
  }
}

Result<RolledWorkloads> read_workloads(sqlite::Database& catalogue) {
  RolledWorkloads workloads;
  const Status read = sqlite::for_each_row(
      catalogue.query("SELECT id, job, instance, app, image, build_id, revision, compiler, builder FROM "
                      "workload ORDER BY id"),
      [&](const sqlite::Statement& row) -> Status {
        if (row.integer(0) != static_cast<int64_t>(workloads.of.size())) {
          return fail(ErrorCode::kCorrupt, "{}: no such workload: {}", catalogue.path(), workloads.of.size());
        }
        workloads.add({std::string(row.text(1)), std::string(row.text(2)), std::string(row.text(3)),
                       std::string(row.text(4)), std::string(row.text(5)), std::string(row.text(6)),
                       std::string(row.text(7)), std::string(row.text(8))});
        return {};
      });
  return read ? Result<RolledWorkloads>(std::move(workloads)) : propagate(read);
}

Status make_rolled_catalogue(const std::string& full_path, const std::string& path,
                             const RolledContents& contents) {
  auto full = Catalogue::open(full_path, sqlite::OpenMode::kRead);
  auto made = full ? Catalogue::open(path, sqlite::OpenMode::kReadWrite) : propagate(full);
  if (!made) {
    return propagate(made);
  }
  sqlite::Database& database = made->database();
  // It is whole or of no use until it gets its name: no log has to be written besides.
  Status done = database.run("PRAGMA journal_mode = MEMORY; PRAGMA cache_size = -65536");
  done = done ? database.execute("ATTACH ? AS full", full_path) : done;
  done = done ? fill(full->database(), database, contents) : done;
  done = done ? database.run("DETACH full") : done;
  done = done ? database.run("PRAGMA journal_mode = WAL") : done;
  return done ? done : propagate(done, "making {}", path);
}

}  // namespace plimsoll::store
