#include "store/clickhouse/clickhouse_source.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "store/clickhouse/row_binary.h"

namespace plimsoll::store::clickhouse {
namespace {

// How many batches of names an epoch has.
Result<std::map<uint32_t, uint64_t>> count_name_batches(Queryable& server) {
  const auto answer = server.query("SELECT epoch, count() FROM name_batches GROUP BY epoch FORMAT RowBinary");
  if (!answer) {
    return propagate(answer);
  }
  std::map<uint32_t, uint64_t> counts;
  const Status read = for_each_row(*answer, "name_batches", [&](ByteReader& reader) -> Status {
    const auto epoch = reader.read<uint32_t>();
    counts[epoch] = reader.read<uint64_t>();
    return {};
  });
  return read ? Result<std::map<uint32_t, uint64_t>>(std::move(counts)) : propagate(read);
}

}  // namespace

Result<Contents> ClickHouseSource::newest(const TimeSpans& times) {
  while (true) {
    const auto chosen = choose(times);
    if (!chosen) {
      return propagate(chosen);
    }
    auto contents = chosen->series->newest(chosen->parts, chosen->facts);
    // Where an epoch was found damaged, or has been dropped meanwhile, the others are chosen next.
    if (contents && (*contents || std::ranges::none_of(chosen->parts, [](const auto& part) {
          return part->damage().has_value();
        }))) {
      return std::move(*contents);
    }
  }
}

Result<ClickHouseSource::Chosen> ClickHouseSource::choose(const TimeSpans& times) {
  const auto held = following_.lock();
  if (!held) {
    return propagate(held);
  }
  if (const Status followed = follow_epochs(); !followed) {
    return propagate(followed);
  }
  if (const Status timed = read_times(); !timed) {
    return propagate(timed);
  }
  std::vector<TimedPart> parts;
  for (const auto& [number, epoch] : epochs_) {
    const EpochTimes covered = epoch->times();
    parts.push_back({epoch, covered, [is_rolled_up = covered.is_rolled_up] { return is_rolled_up; }});
    epoch->forget_old_entries();
  }
  Chosen chosen{choose_parts(parts, times), nullptr};
  if (chosen.parts.empty()) {
    return with_hint(fail(ErrorCode::kCorrupt, "no epoch of {} can be read: {}",
                          connections_->options().database, chosen.facts.damaged_blocks.front().why),
                     "ask again in a minute; if it stays so, restore the database from a backup");
  }
  const std::lock_guard lock(mutex_);
  chosen.series = series_.of(chosen.parts);
  return chosen;
}

Status ClickHouseSource::follow_epochs() {
  const auto committed = committed_.newest(*connections_);
  const auto names = committed ? count_name_batches(*connections_) : propagate(committed);
  if (!names) {
    return propagate(names, "reading what is committed in ClickHouse");
  }
  // Before the first batch there is an epoch without any, which that will be of.
  const CommittedBatches::Epochs epochs =
      (*committed)->empty() ? CommittedBatches::Epochs{{1, {.epoch = 1}}} : **committed;
  const Status known = expect_all_shards(epochs.rbegin()->second.newest, 1 + further_.size(),
                                         ErrorCode::kUnavailable, connections_->options().database);
  if (!known) {
    return known;
  }
  forget_others(epochs);
  for (const auto& [number, batches] : epochs) {
    auto& epoch = epochs_[number];
    if (epoch == nullptr) {
      epoch = std::make_shared<EpochReader>(connections_, number, further_);
    }
    const auto count = names->find(number);
    epoch->follow(batches, count == names->end() ? 0 : count->second, number == epochs.rbegin()->first);
  }
  return {};
}

Status ClickHouseSource::read_times() {
  std::vector<EpochReader*> readers;
  for (const auto& [number, epoch] : epochs_) {
    readers.push_back(epoch.get());
  }
  return EpochReader::read_times(*connections_, readers);
}

void ClickHouseSource::forget_others(const CommittedBatches::Epochs& epochs) {
  const auto is_gone = [&](const auto& epoch) {
    const auto now = epochs.find(epoch.first);
    return now == epochs.end() || !epoch.second->is_continued_by(now->second);
  };
  if (std::erase_if(epochs_, is_gone) == 0) {
    return;
  }
  std::unordered_set<const PartReader*> known;
  for (const auto& [number, epoch] : epochs_) {
    known.insert(epoch.get());
  }
  const std::lock_guard lock(mutex_);
  series_.forget_where([&](const PartReader& part) { return !known.contains(&part); });
}

void ClickHouseSource::forget_dropped() {
  // What fails now fails again with the next question, which says so.
  if (const auto held = following_.lock()) {
    static_cast<void>(follow_epochs().has_value());
  }
}

std::vector<uint64_t> ClickHouseSource::lineages() const {
  const std::lock_guard lock(mutex_);
  return series_.lineages();
}

}  // namespace plimsoll::store::clickhouse
