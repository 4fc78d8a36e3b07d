#include "store/copy/epoch_parts.h"

#include <algorithm>
#include <map>
#include <span>

#include "base/byte_reader.h"
#include "store/clickhouse/clickhouse_rows.h"
#include "store/clickhouse/clickhouse_store.h"
#include "store/clickhouse/epoch_names.h"
#include "store/clickhouse/row_binary.h"
#include "store/clickhouse/schema.h"

namespace plimsoll::store {
namespace {

using clickhouse::BatchMark;
using clickhouse::BatchNumber;
using clickhouse::EpochBatches;
using clickhouse::Queryable;
using clickhouse::RowBinaryWriter;
using clickhouse::TableRows;

// Each insert is a part that the server must merge: as many rows at once as memory allows.
constexpr size_t kRowsAtOnce = 1'000'000;
// A statement for the names of so many.
constexpr uint32_t kLocationsPerStatement = 50'000;

struct NamesMark {
  uint64_t batches = 0;
  uint64_t newest = 0;
};

// By epoch.
Result<std::map<uint32_t, NamesMark>> read_name_marks(Queryable& server) {
  const auto answer =
      server.query("SELECT epoch, count(), max(batch) FROM name_batches GROUP BY epoch FORMAT RowBinary");
  if (!answer) {
    return propagate(answer);
  }
  std::map<uint32_t, NamesMark> marks;
  const Status read = clickhouse::for_each_row(*answer, "name_batches", [&](ByteReader& reader) -> Status {
    NamesMark& mark = marks[reader.read<uint32_t>()];
    mark.batches = reader.read<uint64_t>();
    mark.newest = reader.read<uint64_t>();
    return {};
  });
  return read ? Result<std::map<uint32_t, NamesMark>>(std::move(marks)) : propagate(read);
}

// What an epoch has beside its dictionaries.
class EpochFacts {
 public:
  EpochFacts(Queryable& server, const EpochBatches& epoch) : server_(server), epoch_(epoch) {}

  Status read(CopiedPart& part) {
    Status read = read_kernel_symbols(part);
    read = read ? read_machines(part) : read;
    read = read ? read_set_aside(part) : read;
    return read ? read_accounts(part) : read;
  }

 private:
  // Calls `use` with a reader at each row of the answer.
  template <typename Use>
  Status for_each(const std::string& sql, Use use) {
    const auto answer = server_.query(sql + " FORMAT RowBinary");
    return answer ? clickhouse::for_each_row(*answer, "an epoch",
                                             [&](ByteReader& reader) -> Status {
                                               use(reader);
                                               return {};
                                             })
                  : propagate(answer);
  }

  // One by one: a kernel has some 10 MB of symbols, and an answer a limit that an epoch of many kernels would be over. Of what comes again,
  // the first counts.
  Status read_kernel_symbols(CopiedPart& part) {
    Status read =
        for_each(fmt::format("SELECT DISTINCT binary FROM kernel_symbols WHERE {} ORDER BY binary",
                             epoch_.condition()),
                 [&](ByteReader& reader) { part.kernel_symbols.push_back({reader.read<uint32_t>(), {}}); });
    for (KernelSymbols& symbols : part.kernel_symbols) {
      read =
          read ? for_each(fmt::format("SELECT content FROM kernel_symbols WHERE {} AND binary = {} ORDER BY "
                                      "batch LIMIT 1",
                                      epoch_.condition(), symbols.binary),
                          [&](ByteReader& reader) { symbols.content = clickhouse::read_text(reader); })
               : read;
    }
    return read;
  }

  Status read_machines(CopiedPart& part) {
    return for_each(
        fmt::format("SELECT binary, machine_id FROM binary_machines WHERE {} ORDER BY binary, batch",
                    epoch_.condition()),
        [&](ByteReader& reader) {
          const auto binary = reader.read<uint32_t>();
          const std::string_view machine = clickhouse::read_text(reader);
          if (part.binary_machines.empty() || part.binary_machines.back().binary != binary) {
            part.binary_machines.push_back({binary, std::string(machine)});
          }
        });
  }

  Status read_set_aside(CopiedPart& part) {
    return for_each(fmt::format("SELECT archive_sequence, reason FROM set_aside WHERE {} ORDER BY "
                                "archive_sequence",
                                epoch_.condition()),
                    [&](ByteReader& reader) {
                      const auto sequence = reader.read<int64_t>();
                      part.set_aside.push_back({sequence, std::string(clickhouse::read_text(reader))});
                    });
  }

  // The last one counts.
  Status read_accounts(CopiedPart& part) {
    return for_each(fmt::format("SELECT binary, quality, generation, reasons, looked_at FROM binary_accounts "
                                "WHERE {} ORDER BY binary, batch",
                                clickhouse::names_condition(epoch_)),
                    [&](ByteReader& reader) {
                      const auto binary = reader.read<uint32_t>();
                      if (part.accounts.empty() || part.accounts.back().binary != binary) {
                        part.accounts.push_back({.binary = binary});
                      }
                      clickhouse::read_account(reader, part.accounts.back().account);
                    });
  }

  Queryable& server_;
  const EpochBatches& epoch_;
};

// The names of locations, where the last batch that has some counts.
class NamesReader {
 public:
  explicit NamesReader(uint32_t epoch) : epoch_(epoch) {}

  // A row of `bindings`, by location, batch and depth.
  Status add(ByteReader& reader) {
    const auto location = reader.read<uint32_t>();
    const auto frames = reader.read<uint16_t>();
    const auto depth = reader.read<uint16_t>();
    Frame frame;
    clickhouse::read_frame(reader, frame);
    if (!reader.ok()) {
      return {};
    }
    if (names_.empty() || names_.back().location != location) {
      names_.push_back({.location = location, .frames = {}});
    }
    std::vector<Frame>& known = names_.back().frames;
    if (depth == 0) {
      known.clear();
    }
    if (depth != known.size() || depth >= std::max<uint16_t>(frames, 1)) {
      return fail(ErrorCode::kCorrupt, "the table bindings lacks frames of location {} of epoch {}", location,
                  epoch_);
    }
    if (frames > 0) {
      known.push_back(std::move(frame));
    }
    return {};
  }

  std::span<const Binding> names() const { return names_; }

 private:
  const uint32_t epoch_;
  std::vector<Binding> names_;
};

bool has_profiles(const CopiedPart& part) {
  return part.last != part.after || part.entries.origins.size() > 1;
}

}  // namespace

Result<std::unique_ptr<EpochParts>> EpochParts::open(const RowsAddress& rows, std::string_view directory_id,
                                                     std::function<int64_t()> now_ns) {
  const auto options = clickhouse::connection_to(rows);
  auto further = options ? clickhouse::shards_of(rows) : propagate(options);
  if (!further) {
    return propagate(further);
  }
  clickhouse::Connection connection(*options);
  const Status prepared = clickhouse::prepare_tables(connection);
  Status settled = prepared ? clickhouse::settle_owner(connection, directory_id) : prepared;
  settled = settled ? clickhouse::settle_shards(connection, *further, directory_id) : settled;
  if (!settled) {
    return propagate(settled, "opening the store {}", rows.address);
  }
  return std::unique_ptr<EpochParts>(new EpochParts(std::make_shared<clickhouse::ConnectionPool>(*options),
                                                    std::move(*further), std::move(now_ns)));
}

Result<std::shared_ptr<const clickhouse::CommittedBatches::Epochs>> EpochParts::epochs() {
  auto epochs = committed_.newest(*connections_);
  const Status known =
      epochs && !(*epochs)->empty()
          ? clickhouse::expect_all_shards((*epochs)->rbegin()->second.newest, inserter_.shards(),
                                          ErrorCode::kConflict, connections_->options().database)
          : Status();
  return known ? std::move(epochs) : propagate(known);
}

Result<EpochBatches> EpochParts::epoch(int64_t number) {
  const auto epochs = this->epochs();
  if (!epochs) {
    return propagate(epochs);
  }
  const bool is_possible = number > 0 && number <= int64_t{UINT32_MAX};
  const auto found = is_possible ? (*epochs)->find(static_cast<uint32_t>(number)) : (*epochs)->end();
  return found == (*epochs)->end()
             ? fail(ErrorCode::kNotFound, "{} has no epoch {}", connections_->options().database, number)
             : Result<EpochBatches>(found->second);
}

Result<std::vector<PartState>> EpochParts::parts() {
  const auto epochs = this->epochs();
  auto names = epochs ? read_name_marks(*connections_) : propagate(epochs);
  if (!names) {
    return propagate(names);
  }
  std::vector<PartState> parts;
  for (const auto& [number, epoch] : **epochs) {
    const NamesMark mark = (*names)[number];
    parts.push_back({.number = number,
                     .version = fmt::format("{}-{}-{}", epoch.newest.batch, mark.batches, mark.newest)});
  }
  return parts;
}

Result<CopiedPart> EpochParts::read(int64_t number) {
  const auto epoch = this->epoch(number);
  if (!epoch) {
    return propagate(epoch);
  }
  CopiedPart part{.number = number, .last = epoch->newest.last_sequence};
  Status read = clickhouse::extend(part.entries, *connections_, *epoch);
  auto profiles = read ? clickhouse::read_profiles(*connections_, *epoch) : propagate(read);
  const auto after =
      profiles ? connections_->query(fmt::format(
                     "SELECT min(after_sequence) FROM batches WHERE {} FORMAT RowBinary", epoch->condition()))
               : propagate(profiles);
  const auto all = after ? parts() : propagate(after);
  read = all ? EpochFacts(*connections_, *epoch).read(part) : propagate(all);
  if (!read) {
    return propagate(read);
  }
  ByteReader reader(as_bytes(*after));
  part.after = reader.read<int64_t>();
  part.profiles = std::move(*profiles);
  if (!reader.ok() || part.profiles.size() + 1 != part.entries.origins.size()) {
    return fail(ErrorCode::kCorrupt, "the table origins has {} profiles of epoch {}, not {}",
                part.profiles.size(), number, part.entries.origins.size() - 1);
  }
  const bool is_newest = all->back().number == number;
  part.takes_more = is_newest && !epoch->newest.is_complete;
  part.is_rolled_up = std::ranges::any_of(part.entries.origins, &OriginEntry::is_rolled_up);
  part.first_written_ns = has_profiles(part) ? epoch->first_written_ns : 0;
  part.rows = std::make_shared<const clickhouse::ClickHouseRows>(connections_, *epoch, further_);
  return part;
}

Status EpochParts::read_names(int64_t number, const UseNames& use) {
  const auto epoch = this->epoch(number);
  if (!epoch) {
    return propagate(epoch);
  }
  const size_t locations = epoch->newest.entries.locations;
  for (uint64_t first = 1; first < locations; first += kLocationsPerStatement) {
    const auto answer = connections_->query(fmt::format(
        "SELECT location, frames, depth, function, linkage_name, file, line, column_number, "
        "discriminator, start_line, is_inlined FROM bindings WHERE {} AND location BETWEEN {} AND "
        "{} ORDER BY location, batch, depth FORMAT RowBinary",
        clickhouse::names_condition(*epoch), first,
        std::min<uint64_t>(first + kLocationsPerStatement, locations) - 1));
    if (!answer) {
      return propagate(answer);
    }
    NamesReader names(epoch->epoch);
    Status read =
        clickhouse::for_each_row(*answer, "bindings", [&](ByteReader& reader) { return names.add(reader); });
    read = read && !names.names().empty() ? use(names.names()) : read;
    if (!read) {
      return read;
    }
  }
  return {};
}

Status EpochParts::begin_session() {
  if (session_ != nullptr) {
    return {};
  }
  const auto number = clickhouse::begin_session_of_all(writing_, further_options_);
  if (!number) {
    return propagate(number);
  }
  session_ = std::make_unique<clickhouse::WriterSession>(*number);
  return {};
}

Status EpochParts::insert(const TableRows& table) {
  return writing_.insert(table.table, clickhouse::table_called(table.table).columns(), table.rows);
}

Status EpochParts::write(CopiedPart part, RowCursor& rows, const ReadNames& read_names) {
  if (part.number <= 0 || part.number > int64_t{UINT32_MAX}) {
    return fail(ErrorCode::kInvalid, "no epoch has the number {}", part.number);
  }
  const auto epoch = static_cast<uint32_t>(part.number);
  const clickhouse::OneHost one_host(writing_);
  Status done = begin_session();
  const auto epochs = done ? this->epochs() : propagate(done);
  if (!epochs) {
    return propagate(epochs);
  }
  const BatchMark before = (*epochs)->empty() ? BatchMark() : (*epochs)->rbegin()->second.newest;
  if (before.epoch >= epoch) {
    return fail(ErrorCode::kConflict, "epoch {} does not follow epoch {}", epoch, before.epoch);
  }
  // What an attempt that was given up has left.
  done = clickhouse::drop_epoch(writing_, writing_.options(), epoch);
  for (const auto& shard : further_) {
    done = done ? clickhouse::drop_epoch(*shard, shard->options(), epoch) : done;
  }
  const BatchNumber number{epoch, session_->next_batch()};
  Batch batch;
  batch.entries = entries_since(DictionarySizes(), part.entries);
  batch.profiles = std::move(part.profiles);
  batch.kernel_symbols = std::move(part.kernel_symbols);
  batch.binary_machines = std::move(part.binary_machines);
  batch.set_aside = std::move(part.set_aside);
  done = done ? clickhouse::for_each_table(batch, number, {},
                                           [&](const TableRows& table) { return insert(table); })
              : done;
  done = done ? write_rows(rows, number, part.entries) : done;
  done = done ? write_names(part, read_names) : done;
  return done ? write_mark({.epoch = epoch,
                            .batch = number.batch,
                            .place = 0,
                            .follows = before.batch,
                            .after_sequence = part.after,
                            .last_sequence = part.last,
                            .written_ns = part.first_written_ns == 0 ? now_ns_() : part.first_written_ns,
                            .entries = batch.entries.after(),
                            .is_complete = !part.takes_more,
                            .shards = static_cast<uint32_t>(inserter_.shards())})
              : done;
}

Status EpochParts::write_rows(RowCursor& rows, BatchNumber number, const Dictionaries& entries) {
  const std::vector<uint32_t> shards =
      clickhouse::shards_of_machines(entries.machines.span(), inserter_.shards());
  const auto shard_of = [&](uint32_t origin) {
    const size_t machine = origin < entries.origins.size() ? entries.origins[origin].machine : 0;
    return machine < shards.size() && machine > 0 ? shards[machine] : 0U;
  };
  std::vector<Row> some;
  while (true) {
    const auto next = rows.next();
    if (!next) {
      return propagate(next);
    }
    some.insert(some.end(), next->begin(), next->end());
    if (some.size() >= kRowsAtOnce || (next->empty() && !some.empty())) {
      if (const Status done = inserter_.insert(writing_, some, number, shard_of); !done) {
        return done;
      }
      some.clear();
    }
    if (next->empty()) {
      return {};
    }
  }
}

// In a batch of their own, as names are that a search has found.
Status EpochParts::write_names(const CopiedPart& part, const ReadNames& read_names) {
  const BatchNumber number{static_cast<uint32_t>(part.number), session_->next_names()};
  const auto send = [&](const TableRows& table) { return insert(table); };
  bool has_names = !part.accounts.empty();
  Status done = read_names([&](std::span<const Binding> names) {
    has_names = true;
    const NamedBinary named{.ids = {}, .path = {}, .account = {}, .bindings = names};
    return clickhouse::for_each_name_table(std::span(&named, 1), number, send);
  });
  std::vector<int64_t> ids;
  for (const DescribedBinary& binary : part.accounts) {
    ids.push_back(binary.binary);
  }
  std::vector<NamedBinary> described;
  for (size_t i = 0; i < ids.size(); ++i) {
    described.push_back({.ids = std::span(ids).subspan(i, 1),
                         .path = {},
                         .account = part.accounts[i].account,
                         .bindings = {}});
  }
  done = done ? clickhouse::for_each_name_table(described, number, send) : done;
  if (!done || !has_names) {
    return done;
  }
  RowBinaryWriter mark;
  mark.number(number.epoch).number(number.batch).number(now_ns_());
  return insert({"name_batches", mark.take()});
}

// The part is there from then on.
Status EpochParts::write_mark(const BatchMark& mark) {
  const Status is_newest = session_->expect_newest(writing_, writing_.options().database);
  if (!is_newest) {
    return is_newest;
  }
  RowBinaryWriter row;
  clickhouse::write_mark(mark, row);
  return insert({"batches", row.take()});
}

Status EpochParts::drop(int64_t number) {
  const auto epoch = this->epoch(number);
  return epoch ? clickhouse::drop_epoch_of_all(*connections_, further_, epoch->epoch) : propagate(epoch);
}

Status EpochParts::remove_all() {
  // Epoch by epoch: a server refuses to drop a table that is very large.
  const auto epochs = committed_.newest(*connections_);
  Status removed = epochs ? Status() : propagate(epochs);
  if (epochs) {
    for (const auto& [number, epoch] : **epochs) {
      removed = removed ? clickhouse::drop_epoch_of_all(*connections_, further_, number) : removed;
    }
  }
  // The main database last: without it a shard belongs to no store.
  for (const clickhouse::ConnectionOptions& shard : further_options_) {
    removed = removed ? clickhouse::drop_tables(shard) : removed;
  }
  return removed ? clickhouse::drop_tables(connections_->options()) : removed;
}

}  // namespace plimsoll::store
