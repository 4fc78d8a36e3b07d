#include "store/copy/part_catalogue.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/byte_reader.h"
#include "sqlite/database.h"
#include "store/catalogue/block_table.h"
#include "store/catalogue/catalogue.h"
#include "store/dictionaries/entry_writer.h"
#include "store/frames/binding_writer.h"
#include "store/identity/directory_identity.h"

namespace plimsoll::store {
namespace {

// Of names that are copied. A part does not tell the generation that they had, and nothing reads it.
constexpr int64_t kCopiedGeneration = 1;

Status write_hours(sqlite::Database& catalogue, const CopiedPart& part) {
  uint64_t profiles = 0;
  for (size_t place = 0; place < part.profiles.size(); ++place) {
    uint64_t of_hour = 1;
    for (const EventRecord& event : part.profiles[place].events) {
      of_hour = std::max(of_hour, event.profiles);
      const Status added = catalogue.execute(
          "INSERT INTO rolled_up_event (origin, event, profiles, observed_ns, effective_samples) "
          "VALUES (?, ?, ?, ?, ?)",
          place + 1, event.event, event.profiles, event.observed_ns, event.effective_samples);
      if (!added) {
        return added;
      }
    }
    profiles += of_hour;
  }
  // What the part does not say is close to what its events do.
  return catalogue.execute("INSERT INTO roll_up (id, rolled_up_ns, profiles) VALUES (1, ?, ?)",
                           part.rolled_up_ns != 0 ? part.rolled_up_ns : part.first_written_ns,
                           part.rolled_up_profiles != 0 ? part.rolled_up_profiles : profiles);
}

Status write_part_facts(sqlite::Database& catalogue, const CopiedPart& part) {
  Status written;
  for (const KernelSymbols& symbols : part.kernel_symbols) {
    written = written ? catalogue.execute("INSERT INTO kernel_symbols (binary, content) VALUES (?, ?)",
                                          symbols.binary, as_bytes(symbols.content))
                      : written;
  }
  for (const BinaryMachine& machine : part.binary_machines) {
    written = written ? catalogue.execute("INSERT INTO binary_machine (binary, machine_id) VALUES (?, ?)",
                                          machine.binary, machine.machine_id)
                      : written;
  }
  for (const SetAside& profile : part.set_aside) {
    written = written ? catalogue.execute("INSERT INTO unbuildable (archive_sequence, reason) VALUES (?, ?)",
                                          profile.sequence, profile.reason)
                      : written;
  }
  return written;
}

Status write_names(sqlite::Database& catalogue, const CopiedPart& part, const ReadNames& read_names) {
  BindingWriter writer(catalogue);
  Status written =
      read_names([&](std::span<const Binding> names) { return writer.bind(names, kCopiedGeneration); });
  for (const DescribedBinary& binary : part.accounts) {
    written = written ? writer.describe(binary.binary, binary.account) : written;
  }
  return written;
}

Status write_state(sqlite::Database& catalogue, const CopiedPart& part, std::string_view directory_id) {
  BlockState state{.is_sealed = !part.takes_more, .first_built_ns = part.first_written_ns};
  for (const OriginEntry& origin : part.entries.origins.span().subspan(1)) {
    state.from_ns = std::min(state.from_ns, origin.from_ns);
    state.to_ns = std::max(state.to_ns, origin.to_ns);
    state.max_interval_ns = std::max(state.max_interval_ns, origin.interval_ns);
  }
  Status written = write_block_state(catalogue, state);
  written = written && part.after != 0 ? write_accepted_before(catalogue, part.after) : written;
  return written && !directory_id.empty() ? give_directory_id(catalogue, directory_id) : written;
}

Status fill_catalogue(sqlite::Database& catalogue, const CopiedPart& part,
                      std::span<const SegmentEntry> segments, const ReadNames& read_names,
                      std::string_view directory_id) {
  auto transaction = sqlite::Transaction::begin(catalogue);
  Status done = transaction ? Status() : propagate(transaction);
  done =
      done ? write_entries(catalogue, entries_since(DictionarySizes(), part.entries), part.profiles) : done;
  done = done && part.is_rolled_up ? write_hours(catalogue, part) : done;
  done = done ? write_part_facts(catalogue, part) : done;
  done = done ? write_names(catalogue, part, read_names) : done;
  for (const SegmentEntry& segment : segments) {
    done = done ? insert_segment(catalogue, segment) : done;
  }
  done = done ? write_state(catalogue, part, directory_id) : done;
  return done ? transaction->commit() : done;
}

}  // namespace

Status write_part_catalogue(const BlockFolder& block, const CopiedPart& part,
                            std::span<const SegmentEntry> segments, const ReadNames& read_names,
                            std::string_view directory_id) {
  auto catalogue = Catalogue::open(block.catalogue_path(), sqlite::OpenMode::kReadWrite);
  if (!catalogue) {
    return propagate(catalogue);
  }
  sqlite::Database& database = catalogue->database();
  // The block is whole or of no use until it gets its name: no log has to be written besides.
  Status done = database.run("PRAGMA journal_mode = MEMORY; PRAGMA cache_size = -65536");
  done = done ? fill_catalogue(database, part, segments, read_names, directory_id) : done;
  return done ? database.run("PRAGMA journal_mode = WAL") : done;
}

}  // namespace plimsoll::store
