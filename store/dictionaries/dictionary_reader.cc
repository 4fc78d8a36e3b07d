#include "store/dictionaries/dictionary_reader.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "store/catalogue/block_table.h"

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

Status extend_label_sets(Dictionaries& entries, sqlite::Database& database) {
  if (entries.label_sets.size() == 1) {
    const auto are_there = has_label_sets(database);
    if (!are_there || !*are_there) {
      return are_there ? Status() : propagate(are_there);
    }
  }
  return extend_dense(database, "SELECT id, labels FROM label_set WHERE id > ? ORDER BY id",
                      entries.label_sets, [](const sqlite::Statement& row) { return row.blob(1); });
}

// Behind the events and the origins.
Status extend_origin_events(Dictionaries& entries, sqlite::Database& database, bool is_rolled_up) {
  constexpr std::string_view kFull =
      "SELECT origin, event, scale, hits, lost, note, samples, time_enabled_ns = 0 OR time_running_ns > 0, "
      "0, 0, 0 FROM origin_event WHERE origin >= ? ORDER BY origin, event";
  constexpr std::string_view kRolledUp =
      "SELECT origin, event, scale, hits, lost, note, samples, time_enabled_ns = 0 OR time_running_ns > 0, "
      "profiles, observed_ns, effective_samples FROM origin_event JOIN rolled_up_event USING (origin, event) "
      "WHERE origin >= ? ORDER BY origin, event";
  const Status read = sqlite::for_each_row(
      database.query(is_rolled_up ? kRolledUp : kFull, entries.origins_with_events),
      [&](const sqlite::Statement& row) {
        const auto event = static_cast<uint32_t>(row.integer(1));
        const bool is_shown = event >= entries.events.size() || entries.events[event].is_shown();
        (is_shown ? entries.origin_events : entries.origin_squares)
            .push_back({static_cast<uint32_t>(row.integer(0)), event, row.real(2),
                        static_cast<uint64_t>(row.integer(3)), static_cast<uint64_t>(row.integer(4)),
                        std::string(row.text(5)), static_cast<uint64_t>(row.integer(6)), row.integer(7) != 0,
                        static_cast<uint32_t>(row.integer(8)), row.integer(9), row.real(10)});
      });
  entries.origins_with_events = entries.origins.size();
  return read;
}

// A catalogue has no checksums: what a damaged one refers to may not be there, and translating it would read other memory. Stacks are
// checked by who goes through them (DictionaryUnion, StackProjection).
Status expect_references(const Dictionaries& entries, const DictionarySizes& from, size_t first_event,
                         size_t first_squares) {
  const auto has_owner = [&](const LocationEntry& location) {
    return location.owner < (location.kind == wire::JIT ? entries.workloads.size() : entries.binaries.size());
  };
  const auto has_machine = [&](const OriginEntry& origin) {
    return origin.machine < entries.machines.size();
  };
  const auto has_event = [&](const OriginEventEntry& event) {
    return event.origin < entries.origins.size() && event.event < entries.events.size();
  };
  const bool are_there = std::ranges::all_of(entries.locations.span().subspan(from.locations), has_owner) &&
                         std::ranges::all_of(entries.origins.span().subspan(from.origins), has_machine) &&
                         std::ranges::all_of(entries.origin_events.span().subspan(first_event), has_event) &&
                         std::ranges::all_of(entries.origin_squares.span().subspan(first_squares), has_event);
  return are_there ? Status()
                   : fail(ErrorCode::kCorrupt, "entries of the catalogue refer to some that are not there");
}

}  // namespace

Result<Dictionaries> load_dictionaries(sqlite::Database& catalogue) {
  Dictionaries loaded;
  const Status extended = extend(loaded, catalogue);
  return extended ? Result<Dictionaries>(std::move(loaded)) : propagate(extended);
}

Status extend(Dictionaries& dictionaries, sqlite::Database& database) {
  const auto last = last_stack(database);
  if (!last) {
    return propagate(last);
  }
  const Status extended = extend_without_stacks(dictionaries, database);
  return extended ? extend_stacks(dictionaries, database, *last) : extended;
}

Status extend_without_stacks(Dictionaries& dictionaries, sqlite::Database& database) {
  const auto is_rolled_up = store::is_rolled_up(database);
  if (!is_rolled_up) {
    return propagate(is_rolled_up, "loading dictionaries");
  }
  // Locations may have been read before, from packed entries: those of a block that is read for the first time are all new.
  const DictionarySizes before =
      dictionaries.machines.size() == 1 ? DictionarySizes() : sizes_of(dictionaries);
  const size_t events_before = dictionaries.origin_events.size();
  const size_t squares_before = dictionaries.origin_squares.size();
  const auto read_any_origin = [&](const sqlite::Statement& row) {
    OriginEntry origin = read_origin(row);
    origin.is_rolled_up = *is_rolled_up;
    return origin;
  };
  for (const Status& status :
       {extend_dense(
            database,
            "SELECT id, machine_id, hostname, datacenter, cluster, platform, architecture, kernel, "
            "cores, cpu_model, kernel_build_id, os, daemon_version FROM machine WHERE id > ? ORDER BY "
            "id",
            dictionaries.machines, read_machine),
        extend_dense(database, "SELECT id, name, unit, kind FROM event WHERE id > ? ORDER BY id",
                     dictionaries.events, read_event),
        extend_dense(database,
                     "SELECT id, machine, from_ns, to_ns, draw, inclusion_probability, interval_ns, series, "
                     "stratum FROM origin WHERE id > ? ORDER BY id",
                     dictionaries.origins, read_any_origin),
        extend_origin_events(dictionaries, database, *is_rolled_up),
        extend_dense(
            database,
            "SELECT id, job, instance, app, image, build_id, revision, compiler, builder FROM workload "
            "WHERE id > ? ORDER BY id",
            dictionaries.workloads, read_workload),
        extend_dense(database, "SELECT id, name FROM thread WHERE id > ? ORDER BY id", dictionaries.threads,
                     [](const sqlite::Statement& row) { return text(row, 1); }),
        extend_label_sets(dictionaries, database),
        extend_dense(database,
                     "SELECT id, identity_kind, identity, path FROM binary WHERE id > ? ORDER BY id",
                     dictionaries.binaries, read_binary),
        extend_dense(database, "SELECT id, kind, owner, address, name FROM location WHERE id > ? ORDER BY id",
                     dictionaries.locations, read_location)}) {
    if (!status) {
      return propagate(status, "loading dictionaries");
    }
  }
  const Status are_there = expect_references(dictionaries, before, events_before, squares_before);
  return are_there ? are_there : propagate(are_there, "{}", database.path());
}

Result<DictionarySizes> read_sizes(sqlite::Database& catalogue) {
  DictionarySizes sizes;
  const auto read = sqlite::for_each_row(
      catalogue.query(
          "SELECT (SELECT max(id) FROM machine), (SELECT max(id) FROM event), (SELECT max(id) "
          "FROM origin), (SELECT max(id) FROM workload), (SELECT max(id) FROM thread), (SELECT "
          "max(id) FROM label_set), (SELECT max(id) FROM binary), (SELECT max(id) FROM location), "
          "(SELECT max(id) FROM stack)"),
      [&](const sqlite::Statement& row) {
        // NULL, of a dictionary without entries, is 0.
        const auto size = [&](int column) { return static_cast<size_t>(row.integer(column)) + 1; };
        sizes = {.machines = size(0),
                 .events = size(1),
                 .origins = size(2),
                 .workloads = size(3),
                 .threads = size(4),
                 .label_sets = size(5),
                 .binaries = size(6),
                 .locations = size(7),
                 .stacks = size(8)};
      });
  return read ? Result<DictionarySizes>(sizes) : propagate(read, "measuring dictionaries");
}

Result<bool> has_label_sets(sqlite::Database& catalogue) {
  const auto tables = catalogue.integer("SELECT count(*) FROM sqlite_schema WHERE name = 'label_set'", 0);
  return tables ? Result<bool>(*tables > 0) : propagate(tables);
}

Result<uint32_t> last_stack(sqlite::Database& database) {
  const auto last = database.integer("SELECT max(id) FROM stack", 0);
  return last ? Result<uint32_t>(static_cast<uint32_t>(*last)) : propagate(last, "loading dictionaries");
}

Status extend_stacks(Dictionaries& dictionaries, sqlite::Database& database, uint32_t last) {
  dictionaries.stacks.reserve(size_t{last} + 1);
  const Status extended =
      extend_dense(database, "SELECT id, parent, location FROM stack WHERE id > ? AND id <= ? ORDER BY id",
                   dictionaries.stacks, read_stack, last);
  if (!extended) {
    return propagate(extended, "loading dictionaries");
  }
  if (dictionaries.stacks.size() != size_t{last} + 1) {
    return fail(ErrorCode::kCorrupt, "{}: the stacks end with {}, not {}", database.path(),
                dictionaries.stacks.size() - 1, last);
  }
  return {};
}

}  // namespace plimsoll::store
