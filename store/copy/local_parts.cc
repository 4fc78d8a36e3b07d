#include "store/copy/local_parts.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>
#include <system_error>

#include "base/durable_file.h"
#include "sqlite/database.h"
#include "store/aggregation/local_rows.h"
#include "store/catalogue/block_table.h"
#include "store/catalogue/catalogue.h"
#include "store/catalogue/file_version.h"
#include "store/catalogue/segment_table.h"
#include "store/dictionaries/dictionary_reader.h"
#include "store/dictionaries/entry_writer.h"
#include "store/frames/binding_writer.h"
#include "store/identity/directory_identity.h"
#include "store/rollup/hours.h"
#include "store/segments/encoded_segment.h"
#include "store/segments/row_order.h"

namespace plimsoll::store {
namespace {

constexpr size_t kRowsPerSegment = 4'000'000;
constexpr size_t kNamesAtOnce = 20'000;

// Of names that are copied. A part does not tell the generation that they had, and nothing reads it.
constexpr int64_t kCopiedGeneration = 1;

// What of a block's catalogue stands beside its dictionaries.
class FactsReader {
 public:
  explicit FactsReader(sqlite::Database& catalogue) : catalogue_(catalogue) {}

  Status read(CopiedPart& part) {
    Status read = read_state(part);
    read = read ? read_profiles(part) : read;
    read = read ? read_kernel_symbols(part) : read;
    read = read ? read_machines(part) : read;
    read = read ? read_set_aside(part) : read;
    return read ? read_accounts(part) : read;
  }

 private:
  Status read_state(CopiedPart& part) {
    const auto state = read_block_state(catalogue_);
    const auto is_rolled_up = state ? store::is_rolled_up(catalogue_) : propagate(state);
    const auto before = is_rolled_up ? accepted_before(catalogue_) : propagate(is_rolled_up);
    const auto last = before ? last_built_sequence(catalogue_) : propagate(before);
    if (!last) {
      return propagate(last);
    }
    part.takes_more = !state->is_sealed;
    part.first_written_ns = state->first_built_ns;
    part.is_rolled_up = *is_rolled_up;
    part.after = *before;
    part.last = *last;
    return {};
  }

  Status read_profiles(CopiedPart& part) {
    auto origins = read_origins(catalogue_);
    if (!origins) {
      return propagate(origins);
    }
    for (size_t id = 1; id < origins->size(); ++id) {
      part.profiles.push_back(std::move(static_cast<ProfileRecord&>((*origins)[id])));
    }
    return part.is_rolled_up ? read_hours(part) : Status();
  }

  // What events of hours have beside those of profiles.
  Status read_hours(CopiedPart& part) {
    return sqlite::for_each_row(
        catalogue_.query(
            "SELECT origin, event, profiles, observed_ns, effective_samples FROM rolled_up_event"),
        [&](const sqlite::Statement& row) -> Status {
          const auto origin = static_cast<size_t>(row.integer(0));
          if (origin == 0 || origin > part.profiles.size()) {
            return fail(ErrorCode::kCorrupt, "{}: an event is of origin {}, which is not there",
                        catalogue_.path(), origin);
          }
          const auto event = static_cast<uint32_t>(row.integer(1));
          for (EventRecord& record : part.profiles[origin - 1].events) {
            if (record.event == event) {
              record.profiles = static_cast<uint64_t>(row.integer(2));
              record.observed_ns = row.integer(3);
              record.effective_samples = row.real(4);
            }
          }
          return {};
        });
  }

  Status read_kernel_symbols(CopiedPart& part) {
    return sqlite::for_each_row(
        catalogue_.query("SELECT binary, content FROM kernel_symbols ORDER BY binary"),
        [&](const sqlite::Statement& row) {
          part.kernel_symbols.push_back({static_cast<uint32_t>(row.integer(0)), row.blob(1)});
        });
  }

  // Blocks of an older version have none.
  Status read_machines(CopiedPart& part) {
    const auto has_machines = catalogue_.has_table("binary_machine");
    if (!has_machines || !*has_machines) {
      return has_machines ? Status() : propagate(has_machines);
    }
    return sqlite::for_each_row(
        catalogue_.query("SELECT binary, machine_id FROM binary_machine ORDER BY binary"),
        [&](const sqlite::Statement& row) {
          part.binary_machines.push_back({static_cast<uint32_t>(row.integer(0)), std::string(row.text(1))});
        });
  }

  Status read_set_aside(CopiedPart& part) {
    return sqlite::for_each_row(
        catalogue_.query("SELECT archive_sequence, reason FROM unbuildable ORDER BY archive_sequence"),
        [&](const sqlite::Statement& row) {
          part.set_aside.push_back({row.integer(0), std::string(row.text(1))});
        });
  }

  Status read_accounts(CopiedPart& part) {
    return sqlite::for_each_row(
        catalogue_.query(
            "SELECT id, quality, generation, reasons, looked_at FROM binary WHERE quality != 0 OR "
            "generation != 0 OR reasons != '' OR looked_at != '' ORDER BY id"),
        [&](const sqlite::Statement& row) {
          part.accounts.push_back({.binary = static_cast<uint32_t>(row.integer(0)),
                                   .account = {.quality = static_cast<SymbolQuality>(row.integer(1)),
                                               .generation = row.integer(2),
                                               .reasons = std::string(row.text(3)),
                                               .looked_at = std::string(row.text(4))}});
        });
  }

  sqlite::Database& catalogue_;
};

Result<std::shared_ptr<const RowSource>> open_rows(const BlockFolder& block, sqlite::Database& catalogue) {
  const auto segments = visible_segments(catalogue);
  if (!segments) {
    return propagate(segments);
  }
  std::vector<std::string> paths;
  for (const SegmentEntry& segment : *segments) {
    paths.push_back(block.segments_path() + "/" + segment.file);
  }
  auto rows = LocalRows::open(paths);
  return rows ? Result<std::shared_ptr<const RowSource>>(std::make_shared<const LocalRows>(std::move(*rows)))
              : propagate(rows);
}

Frame read_frame(const sqlite::Statement& row) {
  return {.function = std::string(row.text(2)),
          .file = std::string(row.text(4)),
          .line = static_cast<uint32_t>(row.integer(5)),
          .linkage_name = std::string(row.text(3)),
          .column = static_cast<uint32_t>(row.integer(6)),
          .discriminator = static_cast<uint32_t>(row.integer(7)),
          .start_line = static_cast<uint32_t>(row.integer(8)),
          .is_inlined = row.integer(9) != 0};
}

// Makes the segments of a block.
class SegmentsWriter {
 public:
  SegmentsWriter(const BlockFolder& block, const CopiedPart& part)
      : block_(block),
        entries_(part.entries),
        last_ids_(last_ids_of(sizes_of(part.entries))),
        last_(part.last) {
    for (size_t id = 1; id < entries_.workloads.size(); ++id) {
      order_.add_workload(entries_.workloads[id].job);
    }
  }

  Status add(std::span<const Row> rows) {
    for (const Row& row : rows) {
      for (const Column column : kColumns) {
        if (row[column] > last_ids_[column]) {
          return fail(ErrorCode::kCorrupt, "a row has an ID {} that no dictionary has", row[column]);
        }
      }
      rows_.push_back(row);
      if (rows_.size() == kRowsPerSegment) {
        if (const Status written = write_segment(); !written) {
          return written;
        }
      }
    }
    return {};
  }

  // Once.
  Result<std::vector<SegmentEntry>> finish() {
    const Status written = rows_.empty() ? Status() : write_segment();
    return written ? Result<std::vector<SegmentEntry>>(std::move(segments_)) : propagate(written);
  }

 private:
  Status write_segment() {
    auto segment = encode_segment_file(fmt::format("{:012}-{}.rows", last_, segments_.size() + 1),
                                       std::exchange(rows_, {}), order_, entries_.origins.span(), 0);
    if (!segment) {
      return propagate(segment);
    }
    const Status written =
        write_file_durably(block_.segments_path() + "/" + segment->entry.file, as_bytes(segment->content));
    segments_.push_back(std::move(segment->entry));
    return written;
  }

  const BlockFolder& block_;
  const Dictionaries& entries_;
  const ByColumn<uint32_t> last_ids_;
  const int64_t last_;
  RowOrder order_;
  std::vector<Row> rows_;
  std::vector<SegmentEntry> segments_;
};

Result<std::vector<SegmentEntry>> write_segments(const BlockFolder& block, const CopiedPart& part,
                                                 RowCursor& rows) {
  SegmentsWriter writer(block, part);
  while (true) {
    const auto some = rows.next();
    if (!some) {
      return propagate(some);
    }
    if (some->empty()) {
      return writer.finish();
    }
    if (const Status added = writer.add(*some); !added) {
      return propagate(added);
    }
  }
}

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
  return catalogue.execute("INSERT INTO roll_up (id, rolled_up_ns, profiles) VALUES (1, ?, ?)",
                           part.first_written_ns, profiles);
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
  return written ? give_directory_id(catalogue, directory_id) : written;
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

Status write_catalogue(const BlockFolder& block, const CopiedPart& part,
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

Status make_empty_block(const BlockFolder& block) {
  std::error_code error;
  std::filesystem::remove_all(block.path, error);
  if (!error) {
    std::filesystem::create_directories(block.segments_path(), error);
  }
  return error ? Status(fail_errno(error.value(), "creating {}", block.path)) : Status();
}

Status name_block(const BlockFolder& made, const BlockFolder& block, const std::string& blocks_path) {
  Status named = sync_folder(made.segments_path());
  named = named ? sync_folder(made.path) : named;
  if (!named) {
    return named;
  }
  std::error_code error;
  std::filesystem::rename(made.path, block.path, error);
  return error ? Status(fail_errno(error.value(), "renaming {} to {}", made.path, block.path))
               : sync_folder(blocks_path);
}

}  // namespace

Result<std::vector<BlockFolder>> LocalParts::blocks() const {
  std::error_code error;
  for (std::filesystem::directory_iterator entry(blocks_path_, error), end; !error && entry != end;
       entry.increment(error)) {
    if (block_at(entry->path().string()).number != 0) {
      return list_blocks(blocks_path_);
    }
  }
  return error && error != std::errc::no_such_file_or_directory
             ? Result<std::vector<BlockFolder>>(fail_errno(error.value(), "listing {}", blocks_path_))
             : std::vector<BlockFolder>();
}

Result<BlockFolder> LocalParts::block(int64_t number) const {
  const auto all = blocks();
  if (!all) {
    return propagate(all);
  }
  const auto found = std::ranges::find(*all, number, &BlockFolder::number);
  return found == all->end() ? fail(ErrorCode::kNotFound, "{} has no block {}", blocks_path_, number)
                             : Result<BlockFolder>(*found);
}

Result<std::vector<PartState>> LocalParts::parts() {
  const auto all = blocks();
  if (!all) {
    return propagate(all);
  }
  std::vector<PartState> parts;
  for (const BlockFolder& block : *all) {
    const auto version = file_version(block.catalogue_path());
    if (!version) {
      return propagate(version, "looking at block {}", block.number);
    }
    parts.push_back({.number = block.number, .version = fmt::format("{}-{}", block.generation, *version)});
  }
  return parts;
}

Result<CopiedPart> LocalParts::read(int64_t number) {
  const auto block = this->block(number);
  auto catalogue =
      block ? Catalogue::open(block->catalogue_path(), sqlite::OpenMode::kRead) : propagate(block);
  const auto transaction =
      catalogue ? sqlite::Transaction::begin_read(catalogue->database()) : propagate(catalogue);
  if (!transaction) {
    return propagate(transaction);
  }
  CopiedPart part{.number = number};
  auto rows = open_rows(*block, catalogue->database());
  auto entries = rows ? load_dictionaries(catalogue->database()) : propagate(rows);
  if (!entries) {
    return propagate(entries);
  }
  part.rows = std::move(*rows);
  part.entries = std::move(*entries);
  const Status read = FactsReader(catalogue->database()).read(part);
  return read ? Result<CopiedPart>(std::move(part)) : propagate(read);
}

Status LocalParts::read_names(int64_t number, const UseNames& use) {
  const auto block = this->block(number);
  auto catalogue =
      block ? Catalogue::open(block->catalogue_path(), sqlite::OpenMode::kRead) : propagate(block);
  if (!catalogue) {
    return propagate(catalogue);
  }
  std::vector<Binding> names;
  // A location that was looked up in vain has one row, without a frame.
  const Status read = sqlite::for_each_row(
      catalogue->database().query(
          "SELECT binding.location, frame.location IS NOT NULL, function.name, function.linkage_name, "
          "source_file.path, line, source_column, discriminator, start_line, is_inlined FROM binding "
          "LEFT JOIN frame ON frame.location = binding.location "
          "LEFT JOIN function ON function.id = frame.function "
          "LEFT JOIN source_file ON source_file.id = frame.file ORDER BY binding.location, frame.depth"),
      [&](const sqlite::Statement& row) -> Status {
        const auto location = static_cast<uint32_t>(row.integer(0));
        if (names.empty() || names.back().location != location) {
          if (names.size() >= kNamesAtOnce) {
            if (const Status used = use(names); !used) {
              return used;
            }
            names.clear();
          }
          names.push_back({.location = location, .frames = {}});
        }
        if (row.integer(1) != 0) {
          names.back().frames.push_back(read_frame(row));
        }
        return {};
      });
  return read && !names.empty() ? use(names) : read;
}

Status LocalParts::write(CopiedPart part, RowCursor& rows, const ReadNames& read_names) {
  const BlockFolder block =
      block_at(fmt::format("{}/{:06}{}", blocks_path_, part.number, part.is_rolled_up ? ".1" : ""));
  if (block.number == 0) {
    return fail(ErrorCode::kInvalid, "no block has the number {}", part.number);
  }
  const BlockFolder made{block.number, block.path + ".tmp", block.generation};
  Status done = make_empty_block(made);
  const auto segments = done ? write_segments(made, part, rows) : propagate(done);
  done = segments ? write_catalogue(made, part, *segments, read_names, directory_id_) : propagate(segments);
  done = done ? name_block(made, block, blocks_path_) : done;
  return done ? done : propagate(done, "making block {}", part.number);
}

Status LocalParts::drop(int64_t number) {
  const auto block = this->block(number);
  return block ? drop_block(blocks_path_, *block) : propagate(block);
}

}  // namespace plimsoll::store
