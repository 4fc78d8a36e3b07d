#include "store/clickhouse/epoch_names.h"

#include <algorithm>
#include <span>
#include <utility>

#include "store/clickhouse/entry_rows.h"
#include "store/clickhouse/row_binary.h"

namespace plimsoll::store::clickhouse {
namespace {

// Of an answer, which is in memory as a whole and has a limit (max_response_bytes): a frame with the linkage name of a template may have 1 KB.
constexpr uint64_t kFramesPerStatement = 250'000;

// Sets the batch of an entry, unless it is of a later one.
bool take(uint64_t batch, uint32_t entry, std::vector<uint64_t>& batches) {
  batches.resize(std::max(batches.size(), size_t{entry} + 1));
  const bool is_newer = batch > batches[entry];
  batches[entry] = std::max(batch, batches[entry]);
  return is_newer;
}

}  // namespace

std::string names_condition(const EpochBatches& epoch) {
  return fmt::format("(({}) OR (epoch = {} AND batch IN (SELECT batch FROM name_batches WHERE epoch = {})))",
                     epoch.condition(), epoch.epoch, epoch.epoch);
}

Status EpochNames::extend(Queryable& server, const EpochBatches& epoch) {
  const auto marks = server.query(
      fmt::format("SELECT batch FROM name_batches WHERE epoch = {} FORMAT RowBinary", epoch.epoch));
  if (!marks) {
    return propagate(marks);
  }
  RowBinaryWriter new_batches;
  std::set<uint64_t> found;
  Status read = for_each_row(*marks, "name_batches", [&](ByteReader& reader) -> Status {
    const auto batch = reader.read<uint64_t>();
    if (!known_batches_.contains(batch)) {
      new_batches.number(batch);
      found.insert(batch);
    }
    return {};
  });
  const bool has_new = !new_batches.empty();
  if (!read || (!has_new && newest_batch_ == epoch.newest.batch)) {
    return read;
  }
  const ExternalTable table{"new_batches", "batch UInt64", new_batches.take()};
  bool is_ahead = false;
  read = bind(server, epoch, table, is_ahead);
  read = read && has_new ? describe(server, epoch, table) : read;
  newest_batch_ = epoch.newest.batch;
  // Some of these names are for locations that `epoch` does not have yet. They are read again with the profiles that bring the locations.
  if (!is_ahead) {
    known_batches_.merge(found);
  }
  return read;
}

// Most of the time a few names are new, for one statement. Those of an epoch that is read for the first time may be some GB: they are asked for by
// ranges of locations.
Status EpochNames::bind(Queryable& server, const EpochBatches& epoch, const ExternalTable& new_batches,
                        bool& is_ahead) {
  const std::string rows =
      fmt::format("FROM bindings WHERE ((({}) AND batch > {}) OR (epoch = {} AND batch IN new_batches))",
                  epoch.condition(), newest_batch_, epoch.epoch);
  const auto counted =
      server.query(fmt::format("SELECT count() {} FORMAT RowBinary", rows), std::span(&new_batches, 1));
  if (!counted) {
    return propagate(counted);
  }
  ByteReader reader(as_bytes(*counted));
  const auto frames = reader.read<uint64_t>();
  if (!reader.ok()) {
    return fail(ErrorCode::kCorrupt, "counting the names of epoch {}: the answer is empty", epoch.epoch);
  }
  const uint64_t locations = epoch.newest.entries.locations;
  const uint64_t width = locations / (frames / kFramesPerStatement + 1) + 1;
  Status read;
  for (uint64_t first = 0; first < locations && frames > 0 && read; first += width) {
    // The last range has no end: later locations are ahead.
    const uint64_t last = locations - first <= width ? uint64_t{UINT32_MAX} : first + width - 1;
    const auto answer = server.query(
        fmt::format("SELECT location, batch, frames, depth, function, linkage_name, file, line, "
                    "column_number, discriminator, start_line, is_inlined {} AND location BETWEEN {} AND {} "
                    "ORDER BY location, batch, depth FORMAT RowBinary",
                    rows, first, last),
        std::span(&new_batches, 1));
    read = answer ? bind_rows(*answer, epoch, is_ahead) : propagate(answer);
  }
  return read;
}

Status EpochNames::bind_rows(std::string_view rows, const EpochBatches& epoch, bool& is_ahead) {
  std::vector<Frame> frames;
  return for_each_row(rows, "bindings", [&](ByteReader& reader) -> Status {
    const auto location = reader.read<uint32_t>();
    const auto batch = reader.read<uint64_t>();
    const auto count = reader.read<uint16_t>();
    const auto depth = reader.read<uint16_t>();
    if (depth == 0) {
      frames.clear();
    }
    read_frame(reader, frames.emplace_back());
    if (!reader.ok()) {
      return {};
    }
    const bool is_last = size_t{depth} + 1 >= count;
    if (frames.size() != size_t{depth} + 1) {
      return fail(ErrorCode::kCorrupt, "the table bindings lacks frames of location {} of epoch {}", location,
                  epoch.epoch);
    }
    if (location >= epoch.newest.entries.locations) {
      is_ahead = true;
    } else if (is_last) {
      frames.resize(count);
      bind(location, batch, frames);
    }
    return {};
  });
}

void EpochNames::bind(uint32_t location, uint64_t batch, const std::vector<Frame>& frames) {
  if (take(batch, location, bound_by_)) {
    builder_.bind(location, frames);
  }
}

Status EpochNames::describe(Queryable& server, const EpochBatches& epoch, const ExternalTable& new_batches) {
  const auto answer =
      server.query(fmt::format("SELECT binary, batch, quality, generation, reasons, looked_at FROM "
                               "binary_accounts WHERE epoch = {} AND batch IN new_batches FORMAT RowBinary",
                               epoch.epoch),
                   std::span(&new_batches, 1));
  if (!answer) {
    return propagate(answer);
  }
  return for_each_row(*answer, "binary_accounts", [&](ByteReader& reader) -> Status {
    const auto binary = reader.read<uint32_t>();
    const auto batch = reader.read<uint64_t>();
    BinaryAccount account;
    read_account(reader, account);
    if (reader.ok() && binary < epoch.newest.entries.binaries && take(batch, binary, described_by_)) {
      builder_.describe(binary, std::move(account.reasons));
    }
    return {};
  });
}

}  // namespace plimsoll::store::clickhouse
