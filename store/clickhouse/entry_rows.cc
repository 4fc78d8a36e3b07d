#include "store/clickhouse/entry_rows.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "store/clickhouse/schema.h"

namespace plimsoll::store::clickhouse {
namespace {

// An insert of so many bytes is sent before more are gathered.
constexpr size_t kMaxInsertBytes = size_t{32} << 20U;
// A full epoch has 4 million entries, and 500,000 profiles with a dozen events of 97 bytes each: in one answer they could be more than
// max_response_bytes, and the epoch could never be read.
constexpr size_t kEntriesPerStatement = 250'000;
constexpr size_t kOriginsPerStatement = 50'000;

template <typename Entry, typename Model>
constexpr bool kIs = std::is_same_v<std::remove_const_t<Entry>, Model>;

// The one list of an entry's columns, for writing and reading: `use` is called with each, in the order of the table.
template <typename Entry, typename Use>
void for_each_field(Entry& entry, Use use) {
  const auto each = [&](auto&... fields) { (use(fields), ...); };
  if constexpr (kIs<Entry, MachineEntry>) {
    each(entry.machine_id, entry.hostname, entry.datacenter, entry.cluster, entry.platform,
         entry.architecture, entry.kernel, entry.cores, entry.cpu_model, entry.kernel_build_id, entry.os,
         entry.daemon_version);
  } else if constexpr (kIs<Entry, EventEntry>) {
    each(entry.name, entry.unit, entry.kind);
  } else if constexpr (kIs<Entry, WorkloadEntry>) {
    each(entry.job, entry.instance, entry.app, entry.image, entry.build_id, entry.revision, entry.compiler,
         entry.builder);
  } else if constexpr (kIs<Entry, BinaryEntry>) {
    each(entry.identity_kind, entry.identity, entry.path);
  } else if constexpr (kIs<Entry, LocationEntry>) {
    each(entry.kind, entry.owner, entry.address, entry.name);
  } else if constexpr (kIs<Entry, StackNode>) {
    each(entry.parent, entry.location);
  } else if constexpr (kIs<Entry, OriginEntry>) {
    each(entry.machine, entry.from_ns, entry.to_ns, entry.draw, entry.inclusion_probability,
         entry.interval_ns, entry.series, entry.stratum, entry.is_rolled_up);
  } else if constexpr (kIs<Entry, EventRecord>) {
    each(entry.event, entry.scale, entry.hits, entry.lost, entry.throttles, entry.counter_total,
         entry.time_enabled_ns, entry.time_running_ns, entry.note, entry.samples, entry.profiles,
         entry.observed_ns, entry.effective_samples);
  } else if constexpr (kIs<Entry, Frame>) {
    each(entry.function, entry.linkage_name, entry.file, entry.line, entry.column, entry.discriminator,
         entry.start_line, entry.is_inlined);
  } else if constexpr (kIs<Entry, BinaryAccount>) {
    each(entry.quality, entry.generation, entry.reasons, entry.looked_at);
  } else {
    static_assert(kIs<Entry, std::string>);
    each(entry);
  }
}

// Enumerations and flags are UInt8.
template <typename Field>
void write_field(RowBinaryWriter& writer, const Field& field) {
  if constexpr (std::is_same_v<Field, std::string>) {
    writer.text(field);
  } else if constexpr (std::is_enum_v<Field> || std::is_same_v<Field, bool>) {
    writer.number(static_cast<uint8_t>(field));
  } else {
    writer.number(field);
  }
}

template <typename Field>
void read_field(ByteReader& reader, Field& field) {
  if constexpr (std::is_same_v<Field, std::string>) {
    field = read_text(reader);
  } else if constexpr (std::is_enum_v<Field> || std::is_same_v<Field, bool>) {
    field = static_cast<Field>(reader.read<uint8_t>());
  } else {
    field = reader.read<Field>();
  }
}

template <typename Entry>
void write_fields(RowBinaryWriter& writer, const Entry& entry) {
  for_each_field(entry, [&](const auto& field) { write_field(writer, field); });
}

template <typename Entry>
void read_fields(ByteReader& reader, Entry& entry) {
  for_each_field(entry, [&](auto& field) { read_field(reader, field); });
}

// Gathers the rows of one table after the other.
class TableGatherer {
 public:
  TableGatherer(BatchNumber number, const std::function<Status(const TableRows&)>& use)
      : number_(number), use_(use) {}

  // A row of `table` begins.
  RowBinaryWriter& row_of(std::string_view table) {
    if (table != table_ || writer_.bytes().size() >= kMaxInsertBytes) {
      flush();
      table_ = table;
    }
    return writer_.number(number_.epoch).number(number_.batch);
  }

  // Whether what was gathered so far could be used; what comes after a failure is not.
  bool ok() const { return status_.has_value(); }
  Status finish() {
    flush();
    return status_;
  }

 private:
  void flush() {
    if (status_ && !writer_.empty()) {
      status_ = use_({table_, writer_.take()});
    }
    writer_.take();
  }

  const BatchNumber number_;
  const std::function<Status(const TableRows&)>& use_;
  std::string_view table_;
  RowBinaryWriter writer_;
  Status status_;
};

void write_bindings(std::span<const Binding> bindings, TableGatherer& tables) {
  for (const Binding& binding : bindings) {
    const auto frames = static_cast<uint16_t>(binding.frames.size());
    for (uint16_t depth = 0; depth < std::max<uint16_t>(frames, 1) && tables.ok(); ++depth) {
      RowBinaryWriter& row = tables.row_of("bindings").number(binding.location).number(frames).number(depth);
      write_fields(row, frames == 0 ? Frame() : binding.frames[depth]);
    }
  }
}

// What a batch of profiles has for each table.
class BatchTables {
 public:
  BatchTables(const Batch& batch, BatchNumber number, const std::function<Status(const TableRows&)>& use)
      : batch_(batch), tables_(number, use) {}

  Status write(std::span<const EventEntry> carried) {
    const NewEntries& entries = batch_.entries;
    const DictionarySizes& before = entries.before;
    write_entries("machines", before.machines, entries.machines);
    write_entries("events", 1, carried);
    write_entries("events", before.events, entries.events);
    write_entries("workloads", before.workloads, entries.workloads);
    write_entries("threads", before.threads, entries.threads);
    write_entries("label_sets", before.label_sets, entries.label_sets);
    write_entries("binaries", before.binaries, entries.binaries);
    write_entries("locations", before.locations, entries.locations);
    write_entries("stacks", before.stacks, entries.stacks);
    write_origins();
    write_bindings(batch_.bindings, tables_);
    write_facts();
    return tables_.finish();
  }

 private:
  template <typename Entry>
  void write_entries(std::string_view table, size_t first_id, std::span<const Entry> entries) {
    for (size_t place = 0; place < entries.size() && tables_.ok(); ++place) {
      RowBinaryWriter& row = tables_.row_of(table);
      write_fields(row.number(static_cast<uint32_t>(first_id + place)), entries[place]);
    }
  }

  void write_origins() {
    const NewEntries& entries = batch_.entries;
    const auto first = static_cast<uint32_t>(entries.before.origins);
    for (uint32_t place = 0; place < entries.origins.size() && tables_.ok(); ++place) {
      const ProfileRecord& profile = batch_.profiles[place];
      RowBinaryWriter& row = tables_.row_of("origins");
      write_fields(row.number(first + place), entries.origins[place]);
      row.text(profile.id).number(profile.sequence);
    }
    for (uint32_t place = 0; place < entries.origins.size() && tables_.ok(); ++place) {
      for (const EventRecord& event : batch_.profiles[place].events) {
        write_fields(tables_.row_of("origin_events").number(first + place), event);
      }
    }
  }

  void write_facts() {
    for (const KernelSymbols& symbols : batch_.kernel_symbols) {
      tables_.row_of("kernel_symbols").number(symbols.binary).text(symbols.content);
    }
    for (const BinaryMachine& machine : batch_.binary_machines) {
      tables_.row_of("binary_machines").number(machine.binary).text(machine.machine_id);
    }
    for (const SetAside& profile : batch_.set_aside) {
      tables_.row_of("set_aside").number(profile.sequence).text(profile.reason);
    }
  }

  const Batch& batch_;
  TableGatherer tables_;
};

// Calls `read` with the first and the last ID of each statement for the IDs from `first` to `size` - 1. The last statement has no end, so that
// an ID beyond is found.
template <typename Read>
Status for_each_statement(size_t first, size_t size, size_t ids_per_statement, Read read) {
  Status done;
  for (size_t from = first; from < size && done; from += ids_per_statement) {
    const bool is_last = size - from <= ids_per_statement;
    done = read(from, is_last ? size_t{UINT32_MAX} : from + ids_per_statement - 1);
  }
  return done;
}

// The table's own columns of an epoch, of entries with these numbers, in the order of the table.
Result<std::string> select_epoch(Queryable& server, std::string_view table, const EpochBatches& epoch,
                                 std::string_view id, size_t first, size_t last) {
  std::string columns;
  for (const TableColumn& column : table_called(table).own) {
    columns += fmt::format("{}{}", columns.empty() ? "" : ", ", column.name);
  }
  return server.query(
      fmt::format("SELECT {} FROM {} WHERE {} AND {} BETWEEN {} AND {} ORDER BY {} FORMAT RowBinary", columns,
                  table, epoch.condition(), id, first, last, table_called(table).order));
}

// Calls `add` with the entries from `first` on, up to `size`.
template <typename Entry, typename Add>
Status read_entries(Queryable& server, std::string_view table, const EpochBatches& epoch, size_t first,
                    size_t size, Add add) {
  size_t next = first;
  const auto add_row = [&](ByteReader& reader) -> Status {
    const auto id = reader.read<uint32_t>();
    Entry entry;
    read_fields(reader, entry);
    if constexpr (std::is_same_v<Entry, OriginEntry>) {
      read_text(reader);  // the profile, which no question is about
      reader.read<int64_t>();
    }
    if (reader.ok() && id != next) {
      return fail(ErrorCode::kCorrupt, "the table {} has entry {} of epoch {} instead of {}", table, id,
                  epoch.epoch, next);
    }
    ++next;
    add(std::move(entry));
    return {};
  };
  const Status read =
      for_each_statement(first, size, kEntriesPerStatement, [&](size_t from, size_t to) -> Status {
        const auto answer = select_epoch(server, table, epoch, "id", from, to);
        return answer ? for_each_row(*answer, table, add_row) : propagate(answer);
      });
  if (read && next != size) {
    return fail(ErrorCode::kCorrupt, "the table {} has {} entries of epoch {}, not {}", table, next - 1,
                epoch.epoch, size - 1);
  }
  return read;
}

template <typename Entry>
Status extend_list(Queryable& server, std::string_view table, const EpochBatches& epoch, size_t size,
                   AppendOnlyList<Entry>& entries) {
  // Of a size that the table claims.
  constexpr size_t kMaxReserved = size_t{1} << 20U;
  if (entries.size() == 1) {
    entries.reserve(std::min(size, kMaxReserved));
  }
  return read_entries<Entry>(server, table, epoch, entries.size(), size,
                             [&](Entry entry) { entries.push_back(std::move(entry)); });
}

// Of the table `origin_events`, for the origins from `first` to `size` - 1.
template <typename Read>
Status for_each_event_row(Queryable& server, const EpochBatches& epoch, size_t first, size_t size,
                          Read read) {
  return for_each_statement(first, size, kOriginsPerStatement, [&](size_t from, size_t to) -> Status {
    const auto answer = select_epoch(server, "origin_events", epoch, "origin", from, to);
    return answer ? for_each_row(*answer, "origin_events", read) : propagate(answer);
  });
}

std::unexpected<Error> wrong_reference(std::string_view table, size_t id, uint32_t epoch,
                                       std::string_view what) {
  return fail(ErrorCode::kCorrupt, "entry {} of the table {} in epoch {} names {}", id, table, epoch, what);
}

// Entries name others by their place in a list, which is not checked later. `known`: those that were there before.
Status check_references(const Dictionaries& entries, const DictionarySizes& known, uint32_t epoch) {
  for (size_t id = known.origins; id < entries.origins.size(); ++id) {
    if (entries.origins[id].machine >= entries.machines.size()) {
      return wrong_reference("origins", id, epoch, "a machine that is not there");
    }
  }
  for (size_t id = known.locations; id < entries.locations.size(); ++id) {
    const LocationEntry& location = entries.locations[id];
    const size_t owners = location.kind == wire::JIT ? entries.workloads.size() : entries.binaries.size();
    if (location.owner >= owners) {
      return wrong_reference("locations", id, epoch, "an owner that is not there");
    }
  }
  for (size_t id = known.stacks; id < entries.stacks.size(); ++id) {
    const StackNode& node = entries.stacks[id];
    if (node.parent >= id || node.location >= entries.locations.size()) {
      return wrong_reference("stacks", id, epoch, "a stack or a location that does not come before it");
    }
  }
  return {};
}

}  // namespace

Status for_each_table(const Batch& batch, BatchNumber number, std::span<const EventEntry> carried,
                      const std::function<Status(const TableRows& rows)>& use) {
  return BatchTables(batch, number, use).write(carried);
}

std::string encode_rows(std::span<const Row> rows, BatchNumber number) {
  RowBinaryWriter writer;
  for (const Row& row : rows) {
    writer.number(number.epoch).number(number.batch);
    for (const Column column : kColumns) {
      writer.number(row[column]);
    }
    writer.number(row.hits);
  }
  return writer.take();
}

Status for_each_name_table(std::span<const NamedBinary> binaries, BatchNumber number,
                           const std::function<Status(const TableRows& rows)>& use) {
  TableGatherer tables(number, use);
  for (const NamedBinary& binary : binaries) {
    write_bindings(binary.bindings, tables);
  }
  for (const NamedBinary& binary : binaries) {
    for (const int64_t id : binary.ids) {
      write_fields(tables.row_of("binary_accounts").number(static_cast<uint32_t>(id)), binary.account);
    }
  }
  return tables.finish();
}

Status extend(Dictionaries& entries, Queryable& server, const EpochBatches& epoch) {
  const DictionarySizes known = sizes_of(entries);
  const DictionarySizes& sizes = epoch.newest.entries;
  const auto extend = [&](std::string_view table, size_t size, auto& list) {
    return extend_list(server, table, epoch, size, list);
  };
  Status status = extend("machines", sizes.machines, entries.machines);
  status = status ? extend("events", sizes.events, entries.events) : status;
  status = status ? extend("origins", sizes.origins, entries.origins) : status;
  status = status ? extend("workloads", sizes.workloads, entries.workloads) : status;
  status = status ? extend("threads", sizes.threads, entries.threads) : status;
  status = status ? extend("label_sets", sizes.label_sets, entries.label_sets) : status;
  status = status ? extend("binaries", sizes.binaries, entries.binaries) : status;
  status = status ? extend("locations", sizes.locations, entries.locations) : status;
  status = status ? extend("stacks", sizes.stacks, entries.stacks) : status;
  return status ? check_references(entries, known, epoch.epoch) : status;
}

Status extend_origin_events(Dictionaries& entries, Queryable& server, const EpochBatches& epoch) {
  if (entries.origins_with_events == entries.origins.size()) {
    return {};
  }
  const auto add_row = [&](ByteReader& reader) -> Status {
    const auto origin = reader.read<uint32_t>();
    EventRecord event;
    read_fields(reader, event);
    if (origin >= entries.origins.size() || event.event >= entries.events.size()) {
      return fail(ErrorCode::kCorrupt, "the table origin_events names origin {} and event {} of epoch {}",
                  origin, event.event, epoch.epoch);
    }
    auto& list = entries.events[event.event].is_shown() ? entries.origin_events : entries.origin_squares;
    const bool is_rolled_up = entries.origins[origin].is_rolled_up;
    list.push_back({.origin = origin,
                    .event = event.event,
                    .scale = event.scale,
                    .hits = event.hits,
                    .lost = event.lost,
                    .note = event.note,
                    .samples = event.samples,
                    .ran = event.ran(),
                    .profiles = is_rolled_up ? static_cast<uint32_t>(event.profiles) : 0,
                    .observed_ns = is_rolled_up ? event.observed_ns : 0,
                    .effective_samples = is_rolled_up ? event.effective_samples : 0});
    return {};
  };
  const Status read =
      for_each_event_row(server, epoch, entries.origins_with_events, entries.origins.size(), add_row);
  entries.origins_with_events = entries.origins.size();
  return read;
}

Result<std::vector<ProfileRecord>> read_profiles(Queryable& server, const EpochBatches& epoch) {
  const auto origins = server.query(fmt::format(
      "SELECT id, profile_id, archive_sequence FROM origins WHERE {} ORDER BY id FORMAT RowBinary",
      epoch.condition()));
  if (!origins) {
    return propagate(origins);
  }
  std::vector<ProfileRecord> profiles;
  Status read = for_each_row(*origins, "origins", [&](ByteReader& reader) -> Status {
    const auto id = reader.read<uint32_t>();
    ProfileRecord& profile = profiles.emplace_back();
    profile.id = read_text(reader);
    profile.sequence = reader.read<int64_t>();
    return reader.ok() && id != profiles.size()
               ? fail(ErrorCode::kCorrupt, "the table origins has entry {} of epoch {} instead of {}", id,
                      epoch.epoch, profiles.size())
               : Status();
  });
  const auto add_event = [&](ByteReader& reader) -> Status {
    const auto origin = reader.read<uint32_t>();
    EventRecord event;
    read_fields(reader, event);
    if (origin == 0 || origin > profiles.size()) {
      return fail(ErrorCode::kCorrupt, "the table origin_events names origin {} of epoch {}", origin,
                  epoch.epoch);
    }
    profiles[origin - 1].events.push_back(std::move(event));
    return {};
  };
  read = read ? for_each_event_row(server, epoch, 1, profiles.size() + 1, add_event) : read;
  return read ? Result<std::vector<ProfileRecord>>(std::move(profiles)) : propagate(read);
}

Result<std::vector<EventEntry>> read_events(Queryable& server, const EpochBatches& epoch) {
  std::vector<EventEntry> events;
  const Status read = read_entries<EventEntry>(server, "events", epoch, 1, epoch.newest.entries.events,
                                               [&](EventEntry entry) { events.push_back(std::move(entry)); });
  return read ? Result<std::vector<EventEntry>>(std::move(events)) : propagate(read);
}

Result<std::vector<MachineEntry>> read_machines(Queryable& server, const EpochBatches& epoch) {
  std::vector<MachineEntry> machines;
  const Status read =
      read_entries<MachineEntry>(server, "machines", epoch, 1, epoch.newest.entries.machines,
                                 [&](MachineEntry entry) { machines.push_back(std::move(entry)); });
  return read ? Result<std::vector<MachineEntry>>(std::move(machines)) : propagate(read);
}

void read_frame(ByteReader& reader, Frame& frame) {
  read_fields(reader, frame);
}

void read_account(ByteReader& reader, BinaryAccount& account) {
  read_fields(reader, account);
}

}  // namespace plimsoll::store::clickhouse
