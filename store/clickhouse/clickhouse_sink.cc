#include "store/clickhouse/clickhouse_sink.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "base/log.h"
#include "store/clickhouse/entry_rows.h"
#include "store/clickhouse/replicas.h"
#include "store/clickhouse/row_binary.h"
#include "store/clickhouse/schema.h"

namespace plimsoll::store::clickhouse {
namespace {

uint64_t entries_of(const DictionarySizes& sizes) {
  return sizes.machines + sizes.workloads + sizes.threads + sizes.label_sets + sizes.binaries +
         sizes.locations + sizes.stacks;
}

Status expect_own_origins(const Batch& batch) {
  const NewEntries& entries = batch.entries;
  if (batch.profiles.size() != entries.origins.size()) {
    return fail(ErrorCode::kInvalid, "{} new origins, and records of {} profiles", entries.origins.size(),
                batch.profiles.size());
  }
  for (const Row& row : batch.rows) {
    const size_t origin = row[Column::kOrigin];
    if (origin < entries.before.origins || origin >= entries.before.origins + entries.origins.size()) {
      return fail(ErrorCode::kInvalid, "a row of origin {}, which is not in the batch", origin);
    }
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<ClickHouseSink>> ClickHouseSink::open(ConnectionOptions options,
                                                             const EpochLimits& limits,
                                                             std::function<int64_t()> now_ns,
                                                             const std::vector<ConnectionOptions>& further) {
  Connection connection(std::move(options));
  Status prepared = prepare_tables(connection);
  for (const ConnectionOptions& shard : further) {
    Connection there(shard);
    prepared = prepared ? prepare_tables(there) : prepared;
  }
  const auto session = prepared ? begin_session_of_all(connection, further) : propagate(prepared);
  if (!session) {
    return propagate(session, "opening the store in ClickHouse");
  }
  std::unique_ptr<ClickHouseSink> sink(
      new ClickHouseSink(std::move(connection), RowInserter(further), *session, limits, std::move(now_ns)));
  const Status learnt = sink->learn_state();
  return learnt ? Result<std::unique_ptr<ClickHouseSink>>(std::move(sink)) : propagate(learnt);
}

Status ClickHouseSink::learn_state() {
  if (is_state_known_) {
    return {};
  }
  const OneHost one_host(connection_);
  // While a shard is away nothing is written: what each attempt left in the other databases would take room until its epoch is dropped.
  Status settled = inserter_.expect_answers();
  // Before and after: an insert that was given up may come between.
  settled = settled ? expect_quorum(connection_) : settled;
  const auto marks = settled ? read_marks(connection_) : propagate(settled);
  settled = marks ? expect_quorum(connection_) : propagate(marks);
  const auto epochs = settled ? committed_among(*marks) : propagate(settled);
  if (!epochs) {
    return propagate(epochs);
  }
  State state;
  if (epochs->empty()) {
    state.begins_epoch = true;
  } else {
    state.batches = epochs->rbegin()->second;
    state.newest = state.batches.newest;
    auto events = read_events(connection_, state.batches);
    if (!events) {
      return propagate(events);
    }
    state.events = std::move(*events);
    state.begins_epoch = state.newest.is_complete;
    if (const Status learnt = learn_machines(state); !learnt) {
      return learnt;
    }
  }
  committed_up_to_ = state.newest.last_sequence;
  state_ = std::move(state);
  is_state_known_ = true;
  return {};
}

Status ClickHouseSink::learn_machines(State& state) {
  const Status all = expect_all_shards(state.newest, inserter_.shards(), ErrorCode::kConflict,
                                       connection_.options().database);
  if (!all || inserter_.shards() == 1) {
    return all;
  }
  const auto machines = read_machines(connection_, state.batches);
  if (!machines) {
    return propagate(machines);
  }
  std::ranges::copy(shards_of_machines(*machines, inserter_.shards()),
                    std::back_inserter(state.machine_shards));
  return {};
}

bool ClickHouseSink::is_full() const {
  const DictionarySizes& entries = state_.newest.entries;
  return entries.origins - 1 >= limits_.max_profiles || entries_of(entries) >= limits_.max_entries;
}

bool ClickHouseSink::is_old() const {
  return now_ns_() - state_.batches.first_written_ns >= limits_.max_age_ns;
}

DictionarySizes ClickHouseSink::sizes() const {
  return state_.begins_epoch ? DictionarySizes{.events = 1 + state_.events.size()} : state_.newest.entries;
}

Result<Sink::Place> ClickHouseSink::begin(bool is_profile_waiting) {
  if (const Status learnt = learn_state(); !learnt) {
    return propagate(learnt);
  }
  if (!state_.begins_epoch && (is_full() || (is_profile_waiting && is_old()))) {
    state_.begins_epoch = true;
    log_info("epoch {} of the store in ClickHouse is complete; profiles go to epoch {} now",
             state_.newest.epoch, epoch());
  }
  const uint64_t profiles = sizes().origins - 1;
  const uint64_t room = limits_.max_profiles - std::min(limits_.max_profiles, profiles);
  return Place{.epoch = epoch(),
               .after = committed_up_to_,
               .entries = sizes(),
               .max_profiles = std::clamp<uint64_t>(room, 1, kClickHouseBatchProfiles)};
}

Result<Dictionaries> ClickHouseSink::dictionaries() {
  if (const Status learnt = learn_state(); !learnt) {
    return propagate(learnt);
  }
  Dictionaries entries;
  if (state_.begins_epoch) {
    entries.events.append(state_.events);
    return entries;
  }
  const Status read = extend(entries, connection_, state_.batches);
  return read ? Result<Dictionaries>(std::move(entries)) : propagate(read);
}

Status ClickHouseSink::expect_place(const Batch& batch) const {
  const bool is_next =
      batch.epoch == epoch() && batch.after == committed_up_to_ && batch.entries.before == sizes();
  return is_next
             ? Status()
             : fail(ErrorCode::kConflict,
                    "a batch of the profiles after {} for epoch {} does not follow profile {} in epoch {}",
                    batch.after, batch.epoch, committed_up_to_.load(), epoch());
}

Status ClickHouseSink::commit(Batch batch) {
  const OneHost one_host(connection_);
  Status ready = batch.last <= committed_up_to_ ? Status() : learn_state();
  if (!ready || batch.last <= committed_up_to_) {
    return ready;
  }
  ready = expect_place(batch);
  ready = ready ? expect_own_origins(batch) : ready;
  if (!ready) {
    return ready;
  }
  State next = after(batch);
  const std::span<const EventEntry> carried =
      state_.begins_epoch ? std::span<const EventEntry>(state_.events) : std::span<const EventEntry>();
  is_state_known_ = false;
  const Status written = write(batch, carried, next);
  if (!written) {
    return propagate(written, "committing the profiles up to {}", batch.last);
  }
  committed_up_to_ = batch.last;
  state_ = std::move(next);
  is_state_known_ = true;
  return {};
}

// Each call has an attempt of its own.
ClickHouseSink::State ClickHouseSink::after(const Batch& batch) {
  State next = state_;
  next.begins_epoch = false;
  next.newest = {.epoch = epoch(),
                 .batch = session_->next_batch(),
                 .place = state_.begins_epoch ? 0 : state_.newest.place + 1,
                 .follows = state_.newest.batch,
                 .after_sequence = batch.after,
                 .last_sequence = batch.last,
                 .written_ns = now_ns_(),
                 .entries = batch.entries.after(),
                 .shards = static_cast<uint32_t>(inserter_.shards())};
  if (state_.begins_epoch) {
    next.batches = {.epoch = epoch(), .first_written_ns = next.newest.written_ns};
    next.machine_shards.resize(1);
  }
  if (inserter_.shards() > 1) {
    std::ranges::copy(shards_of_machines(batch.entries.machines, inserter_.shards()),
                      std::back_inserter(next.machine_shards));
  }
  next.batches.newest = next.newest;
  next.batches.add(next.newest.batch);
  next.events.insert(next.events.end(), batch.entries.events.begin(), batch.entries.events.end());
  return next;
}

Status ClickHouseSink::write(const Batch& batch, std::span<const EventEntry> carried, const State& next) {
  const BatchNumber number{next.newest.epoch, next.newest.batch};
  Status written = for_each_table(batch, number, carried, [&](const TableRows& table) {
    return connection_.insert(table.table, table_called(table.table).columns(), table.rows);
  });
  // Its rows are of its origins (expect_own_origins), and these of machines that it has or that were there.
  const auto shard_of = [&](uint32_t origin) {
    const size_t machine = batch.entries.origins[origin - batch.entries.before.origins].machine;
    return machine < next.machine_shards.size() ? next.machine_shards[machine] : 0U;
  };
  written = written ? inserter_.insert(connection_, batch.rows, number, shard_of) : written;
  // A writer that opened the store later has read what is committed, and goes on from there.
  written = written ? session_->expect_newest(connection_, connection_.options().database) : written;
  if (!written) {
    return written;
  }
  RowBinaryWriter row;
  write_mark(next.newest, row);
  return connection_.insert("batches", table_called("batches").columns(), row.bytes());
}

}  // namespace plimsoll::store::clickhouse
