#include "store/clickhouse/epoch_reader.h"

#include <algorithm>
#include <map>
#include <utility>

#include "store/clickhouse/clickhouse_rows.h"
#include "store/clickhouse/entry_rows.h"
#include "store/clickhouse/row_binary.h"

namespace plimsoll::store::clickhouse {
namespace {

// As a sealed block's (store/contents/block_reader.cc): it is named slice by slice, after it is complete.
constexpr std::chrono::minutes kKeepEntries{1};
constexpr std::chrono::minutes kStaysDamaged{1};
// A statement has 256 KiB and 50,000 elements of syntax at most, unless the server's configuration says otherwise.
constexpr size_t kMaxTimesConditionBytes = 50'000;

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

Status EpochReader::read_times(Queryable& server, std::span<EpochReader* const> readers) {
  std::vector<Untimed> asked;
  std::string conditions;
  Status done;
  for (EpochReader* const reader : readers) {
    auto untimed = reader->untimed();
    if (!untimed || !done) {
      continue;
    }
    conditions += fmt::format("{}({} AND id >= {})", conditions.empty() ? "" : " OR ",
                              untimed->batches.condition(), untimed->first_origin);
    asked.push_back(std::move(*untimed));
    if (conditions.size() >= kMaxTimesConditionBytes) {
      done = ask_times(server, conditions, asked);
      conditions.clear();
      asked.clear();
    }
  }
  return done && !asked.empty() ? ask_times(server, conditions, asked) : done;
}

Status EpochReader::ask_times(Queryable& server, const std::string& conditions,
                              std::span<const Untimed> asked) {
  const auto answer = server.query(
      fmt::format("SELECT epoch, min(from_ns), max(to_ns), max(interval_ns), max(is_rolled_up) FROM origins "
                  "WHERE {} GROUP BY epoch FORMAT RowBinary",
                  conditions));
  if (!answer) {
    return propagate(answer);
  }
  std::map<uint32_t, EpochTimes> times;
  const Status read = for_each_row(*answer, "the times of epochs", [&](ByteReader& row) -> Status {
    EpochTimes& of_epoch = times[row.read<uint32_t>()];
    of_epoch.from_ns = row.read<int64_t>();
    of_epoch.to_ns = row.read<int64_t>();
    of_epoch.max_interval_ns = row.read<int64_t>();
    of_epoch.is_rolled_up = row.read<uint8_t>() != 0;
    return {};
  });
  if (!read) {
    return read;
  }
  for (const Untimed& untimed : asked) {
    if (const auto found = times.find(untimed.batches.epoch); found != times.end()) {
      untimed.reader->take_times(untimed, found->second);
    } else {
      untimed.reader->note_damage(
          Error{ErrorCode::kCorrupt,
                fmt::format("the table origins has no new entries of epoch {}", untimed.batches.epoch),
                {},
                {}});
    }
  }
  return {};
}

std::optional<EpochReader::Untimed> EpochReader::untimed() {
  const std::lock_guard lock(times_mutex_);
  EpochBatches batches = state().batches;
  return timed_origins_ < batches.newest.entries.origins
             ? std::optional(Untimed{this, std::move(batches), timed_origins_})
             : std::nullopt;
}

// Another thread may have been first.
void EpochReader::take_times(const Untimed& untimed, const EpochTimes& times) {
  const std::lock_guard lock(times_mutex_);
  if (timed_origins_ != untimed.first_origin) {
    return;
  }
  times_.from_ns = std::min(times_.from_ns, times.from_ns);
  times_.to_ns = std::max(times_.to_ns, times.to_ns);
  times_.max_interval_ns = std::max(times_.max_interval_ns, times.max_interval_ns);
  times_.is_rolled_up = times_.is_rolled_up || times.is_rolled_up;
  timed_origins_ = untimed.batches.newest.entries.origins;
}

EpochTimes EpochReader::times() const {
  const std::lock_guard lock(times_mutex_);
  return times_;
}

std::optional<DamagedPart> EpochReader::damage() const {
  const std::lock_guard lock(state_mutex_);
  return Clock::now() < damaged_until_ ? damage_ : std::nullopt;
}

void EpochReader::note_damage(const Error& error) {
  if (error.code != ErrorCode::kCorrupt) {
    return;
  }
  DamagedPart damage{.path = name(), .why = error.message};
  if (const EpochTimes times = this->times(); times.from_ns <= times.to_ns) {
    damage.from_ns = times.from_ns;
    damage.to_ns = times.to_ns;
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
  contents.rows = std::make_shared<const ClickHouseRows>(connections_, state.batches, further_);
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

// Names may be newer than the mark says. They are then read again the next time, which changes nothing.
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
