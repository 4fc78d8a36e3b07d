#include "query/snapshot/snapshot.h"

#include <algorithm>
#include <utility>

namespace plimsoll::query {

Result<std::shared_ptr<const Snapshot>> Snapshot::load(const std::string& data_dir,
                                                       const store::TimeSpans& times) {
  return SnapshotCache(data_dir).newest(times);
}

Result<std::shared_ptr<const Snapshot>> Snapshot::load(std::unique_ptr<store::Source> source,
                                                       std::shared_ptr<const store::Fleet> fleet,
                                                       const store::TimeSpans& times) {
  return SnapshotCache(std::move(source), std::move(fleet)).newest(times);
}

Result<std::shared_ptr<const Snapshot>> SnapshotCache::newest(const store::TimeSpans& times) {
  // What was made of contents that are forgotten with a failure takes memory, for want of which most loads fail.
  const auto read = [&] {
    try {
      return source_->newest(times);
    } catch (...) {
      forget_series();
      throw;
    }
  };
  const auto contents = read();
  if (!contents) {
    forget_series();
    return propagate(contents);
  }
  const auto registered = fleet_->count_machines();
  if (!registered) {
    return propagate(registered);
  }
  const std::shared_ptr<Series> series = series_of(contents->lineage);
  const std::lock_guard lock(series->mutex);
  // Another question may have got a newer state meanwhile: what was added to that cannot be taken back.
  const bool is_newest = series->last != nullptr && series->last->version >= contents->version &&
                         series->last->machines_registered == *registered;
  return is_newest ? series->last : extend(*series, *contents, *registered);
}

Result<std::shared_ptr<const Snapshot>> SnapshotCache::extend(Series& series, const store::Contents& contents,
                                                              int64_t machines_registered) {
  const std::shared_ptr<const Snapshot> before = std::exchange(series.last, nullptr);
  const auto begin_again = [&series] {
    series.origins = {};
    series.responses = ResponseIndex(Asked::kMachine);
    series.application_responses = ResponseIndex(Asked::kApplications);
  };
  // Where anything fails, an allocation among them, some of it may be newer than the rest.
  try {
    auto snapshot = std::make_shared<Snapshot>();
    const bool was_overtaken = before != nullptr && before->version > contents.version;
    static_cast<store::Contents&>(*snapshot) =
        was_overtaken ? static_cast<const store::Contents&>(*before) : contents;
    series.origins.extend(snapshot->dictionaries);
    // After the profiles: every draw is kept before its first profile comes.
    for (ResponseIndex* responses : {&series.responses, &series.application_responses}) {
      const Status extended =
          responses->extend(series.origins.index(), snapshot->dictionaries,
                            [this](std::string_view draw) { return fleet_->drawn_weights(draw); });
      if (!extended) {
        begin_again();
        return propagate(extended);
      }
    }
    snapshot->origins = series.origins.index();
    snapshot->responses = series.responses.by_stratum();
    snapshot->application_responses = series.application_responses.by_stratum();
    snapshot->frame_keys =
        before == nullptr ? std::make_unique<FrameKeysCache>() : FrameKeysCache::after(*before->frame_keys);
    snapshot->machines_registered = machines_registered;
    snapshot->fleet = fleet_;
    series.last = std::move(snapshot);
    return series.last;
  } catch (...) {
    begin_again();
    throw;
  }
}

std::shared_ptr<SnapshotCache::Series> SnapshotCache::series_of(uint64_t lineage) {
  forget_series();
  const std::lock_guard lock(mutex_);
  for (const auto& series : series_) {
    if (series->lineage == lineage) {
      return series;
    }
  }
  series_.push_back(std::make_shared<Series>(lineage));
  return series_.back();
}

void SnapshotCache::forget_series() {
  const std::lock_guard lock(mutex_);
  const std::vector<uint64_t> kept = source_->lineages();
  std::erase_if(series_,
                [&](const auto& series) { return std::ranges::find(kept, series->lineage) == kept.end(); });
}

void SnapshotCache::forget_dropped() {
  source_->forget_dropped();
  forget_series();
}

}  // namespace plimsoll::query
