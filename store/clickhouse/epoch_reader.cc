#include "store/clickhouse/epoch_reader.h"

#include <algorithm>
#include <utility>

#include "store/clickhouse/clickhouse_rows.h"
#include "store/clickhouse/entry_rows.h"
#include "store/clickhouse/row_binary.h"

namespace plimsoll::store::clickhouse {
namespace {

// As a sealed block's (store/contents/block_reader.cc): it is named slice by slice, after it is complete.
constexpr std::chrono::minutes kKeepEntries{1};
constexpr std::chrono::minutes kStaysDamaged{1};

}  // namespace

void EpochReader::follow(const EpochBatches& batches, uint64_t name_batches, bool is_newest) {
  const std::lock_guard lock(state_mutex_);
  const bool is_same =
      state_.batches.newest.batch == batches.newest.batch && state_.name_batches == name_batches;
  state_ = {batches, name_batches, is_newest, is_same ? state_.version : state_.version + 1};
}

bool EpochReader::is_continued_by(const EpochBatches& batches) const {
  const std::lock_guard lock(state_mutex_);
  const uint64_t newest = state_.batches.newest.batch;
  return newest == 0 || batches.has(newest);
}

EpochReader::State EpochReader::state() const {
  const std::lock_guard lock(state_mutex_);
  return state_;
}

Result<EpochTimes> EpochReader::times() {
  const auto held = times_mutex_.lock();
  if (!held) {
    return propagate(held);
  }
  const EpochBatches batches = state().batches;
  if (timed_origins_ >= batches.newest.entries.origins) {
    return times_;
  }
  const auto answer = connections_->query(fmt::format(
      "SELECT count(), min(from_ns), max(to_ns), max(interval_ns), max(is_rolled_up) FROM origins WHERE {} "
      "AND id >= {} FORMAT RowBinary",
      batches.condition(), timed_origins_));
  if (!answer) {
    return propagate(answer);
  }
  ByteReader reader(as_bytes(*answer));
  const auto origins = reader.read<uint64_t>();
  const auto from_ns = reader.read<int64_t>();
  const auto to_ns = reader.read<int64_t>();
  const auto interval_ns = reader.read<int64_t>();
  const bool is_rolled_up = reader.read<uint8_t>() != 0;
  if (!reader.ok()) {
    return fail(ErrorCode::kCorrupt, "reading the times of epoch {}: the answer is empty", number_);
  }
  // Of no rows all of these are 0, which is a time as well. The epoch was dropped meanwhile, or a replica lags behind.
  if (origins == 0) {
    return times_;
  }
  times_ = {.from_ns = std::min(times_.from_ns, from_ns),
            .to_ns = std::max(times_.to_ns, to_ns),
            .max_interval_ns = std::max(times_.max_interval_ns, interval_ns),
            .is_rolled_up = times_.is_rolled_up || is_rolled_up};
  timed_origins_ = batches.newest.entries.origins;
  return times_;
}

std::optional<DamagedPart> EpochReader::damage() {
  const std::lock_guard lock(state_mutex_);
  if (damage_ && Clock::now() >= damaged_until_) {
    damage_ = std::nullopt;
  }
  return damage_;
}

void EpochReader::note_damage(const Error& error) {
  if (error.code != ErrorCode::kCorrupt) {
    return;
  }
  DamagedPart damage{.path = name(), .why = error.message};
  if (const auto times = this->times()) {
    damage.from_ns = times->from_ns;
    damage.to_ns = times->to_ns;
  }
  const std::lock_guard lock(state_mutex_);
  damage_ = std::move(damage);
  damaged_until_ = Clock::now() + kStaysDamaged;
}

std::string EpochReader::name() const {
  return fmt::format("epoch {} of {}", number_, connections_->options().database);
}

Result<int64_t> EpochReader::version() {
  return state().version;
}

Result<PartContents> EpochReader::read(const EntriesMark& known) {
  const auto held = mutex_.lock();
  if (!held) {
    return propagate(held);
  }
  const State state = this->state();
  PartContents contents;
  contents.version = state.version;
  contents.rows = std::make_shared<const ClickHouseRows>(connections_, state.batches);
  contents.mark = {.last_origin = static_cast<int64_t>(state.batches.newest.entries.origins) - 1,
                   .last_change = static_cast<int64_t>(state.name_batches)};
  if (contents.mark != known) {
    if (const Status extended = extend(state); !extended) {
      forget();  // some of it may be newer than the rest
      note_damage(extended.error());
      return propagate(extended);
    }
    mark_ = contents.mark;
    contents.entries = entries_;
  }
  contents.reading = reading_;
  forget_unless_extended(state);
  return contents;
}

// What comes while it is read comes again the next time: names at least as new as the mark says.
Status EpochReader::extend(const State& state) {
  const bool is_first = entries_ == nullptr;
  const EntriesMark newest{.last_origin = static_cast<int64_t>(state.batches.newest.entries.origins) - 1,
                           .last_change = static_cast<int64_t>(state.name_batches)};
  if (!is_first && mark_ == newest) {
    return {};
  }
  auto extended = is_first ? std::make_shared<PartEntries>() : std::make_shared<PartEntries>(*entries_);
  Status read = clickhouse::extend(extended->dictionaries, *connections_, state.batches);
  read = read ? extend_origin_events(extended->dictionaries, *connections_, state.batches) : read;
  read = read ? names_.extend(*connections_, state.batches) : read;
  if (!read) {
    return read;
  }
  extended->bindings = names_.bindings();
  entries_ = std::move(extended);
  if (is_first) {
    ++reading_;
  } else {
    extended_ = Clock::now();
  }
  return {};
}

void EpochReader::forget() {
  entries_ = nullptr;
  names_ = {};
}

void EpochReader::forget_unless_extended(const State& state) {
  if (!state.is_newest && (!extended_ || Clock::now() - *extended_ > kKeepEntries)) {
    forget();
  }
}

void EpochReader::forget_old_entries() {
  if (const auto held = mutex_.try_lock()) {
    forget_unless_extended(state());
  }
}

}  // namespace plimsoll::store::clickhouse
