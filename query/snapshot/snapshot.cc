#include "query/snapshot/snapshot.h"

#include <optional>

#include "base/run_both.h"
#include "query/snapshot/responses.h"
#include "store/catalogue/catalogue.h"
#include "store/catalogue/segment_table.h"
#include "store/data_directory.h"
#include "store/draws/draw_store.h"
#include "store/live/live_machines.h"

namespace plimsoll::query {
namespace {

// Every attempt reads a newer list, so that only a reader that is overtaken by so many merges in a row gives up.
constexpr int kMaxAttempts = 20;

// Changes whenever another connection has committed; only comparable on the same connection.
Result<int64_t> data_version(sqlite::Database& catalogue) {
  return catalogue.integer("PRAGMA data_version", 0);
}

struct OpenDirectory {
  store::DataDirectory directory;
  store::Catalogue catalogue;
  store::Catalogue beside;  // the same, for a second thread
  std::optional<store::LiveMachines> machines;
  std::optional<store::DrawStore> draws;
  store::LocalRows::Segments segments = {};  // of the newest snapshot

  Result<int64_t> registered() { return machines ? machines->count() : 0; }
  Result<std::vector<store::DrawnWeight>> drawn_weights() {
    return draws ? draws->drawn_weights() : Result<std::vector<store::DrawnWeight>>();
  }
};

Result<store::LocalRows> open_rows(OpenDirectory& open, const BeforeOpening& before_opening) {
  const auto segments = store::visible_segments(open.catalogue.database());
  if (!segments) {
    return propagate(segments);
  }
  std::vector<std::string> paths;
  for (const store::SegmentEntry& segment : *segments) {
    paths.push_back(open.directory.segments_path() + "/" + segment.file);
  }
  if (before_opening) {
    before_opening(paths);
  }
  auto rows = store::LocalRows::open(paths, open.segments);
  if (rows) {
    open.segments = rows->segments();
  }
  return rows;
}

// Within a transaction of the catalogue's.
Status load_dictionaries(OpenDirectory& open, Snapshot& snapshot) {
  sqlite::Database& catalogue = open.catalogue.database();
  const auto last_stack = store::Dictionaries::last_stack(catalogue);
  if (!last_stack) {
    return propagate(last_stack);
  }
  Result<store::Dictionaries> dictionaries;
  Result<store::Bindings> bindings;
  Result<std::vector<store::StackNode>> stacks;
  run_both(
      [&] {
        dictionaries = store::Dictionaries::load_without_stacks(catalogue);
        bindings = store::Bindings::load(catalogue);
      },
      [&] { stacks = store::Dictionaries::load_stacks(open.beside.database(), *last_stack); });
  if (!dictionaries || !bindings || !stacks) {
    return !dictionaries ? propagate(dictionaries) : !bindings ? propagate(bindings) : propagate(stacks);
  }
  snapshot.dictionaries = std::move(*dictionaries);
  snapshot.dictionaries.stacks = std::move(*stacks);
  snapshot.bindings = std::move(*bindings);
  return {};
}

// One attempt. kNotFound: since the list of segments was read, some of them may have been merged and removed.
Result<std::shared_ptr<Snapshot>> load_once(OpenDirectory& open, const BeforeOpening& before_opening) {
  sqlite::Database& catalogue = open.catalogue.database();
  auto snapshot = std::make_shared<Snapshot>();
  const auto version = data_version(catalogue);
  const auto transaction = sqlite::Transaction::begin_read(catalogue);
  if (!version || !transaction) {
    return !version ? propagate(version) : propagate(transaction);
  }
  // First the files: what is open stays readable however long the rest takes.
  auto rows = open_rows(open, before_opening);
  if (!rows) {
    return propagate(rows);
  }
  if (const Status loaded = load_dictionaries(open, *snapshot); !loaded) {
    return propagate(loaded);
  }
  // After the profiles: every draw is kept before its first profile comes.
  const auto drawn = open.drawn_weights();
  if (!drawn) {
    return propagate(drawn);
  }
  snapshot->rows = std::make_unique<store::LocalRows>(std::move(*rows));
  snapshot->origins = OriginIndex(snapshot->dictionaries);
  snapshot->responses = responses(snapshot->origins, snapshot->dictionaries, *drawn);
  snapshot->version = *version;
  return snapshot;
}

Result<std::shared_ptr<const Snapshot>> load_from(OpenDirectory& open, int64_t machines_registered,
                                                  const BeforeOpening& before_opening = {}) {
  auto snapshot = load_once(open, before_opening);
  for (int attempt = 1; attempt < kMaxAttempts && !snapshot; ++attempt) {
    if (snapshot.error().code != ErrorCode::kNotFound) {
      break;
    }
    snapshot = load_once(open, before_opening);
  }
  if (!snapshot) {
    return propagate(snapshot);
  }
  (*snapshot)->machines_registered = machines_registered;
  return *snapshot;
}

Result<OpenDirectory> open_directory(const std::string& data_dir) {
  auto directory = store::DataDirectory::open_for_reading(data_dir);
  if (!directory) {
    return propagate(directory);
  }
  auto catalogue = store::Catalogue::open(directory->catalogue_path(), sqlite::OpenMode::kRead);
  if (!catalogue) {
    return propagate(catalogue);
  }
  auto beside = store::Catalogue::open(directory->catalogue_path(), sqlite::OpenMode::kRead);
  if (!beside) {
    return propagate(beside);
  }
  auto machines = store::LiveMachines::open_if_there(directory->live_path());
  if (!machines) {
    return propagate(machines);
  }
  auto draws = store::DrawStore::open_if_there(directory->draws_path());
  if (!draws) {
    return propagate(draws);
  }
  return OpenDirectory{std::move(*directory), std::move(*catalogue), std::move(*beside), std::move(*machines),
                       std::move(*draws)};
}

}  // namespace

struct SnapshotCache::Watch {
  OpenDirectory open;
};

SnapshotCache::SnapshotCache(std::string data_dir) : data_dir_(std::move(data_dir)) {}

SnapshotCache::~SnapshotCache() = default;

Result<std::shared_ptr<const Snapshot>> Snapshot::load(const std::string& data_dir,
                                                       const BeforeOpening& before_opening) {
  auto open = open_directory(data_dir);
  if (!open) {
    return propagate(open);
  }
  const auto registered = open->registered();
  return registered ? load_from(*open, *registered, before_opening) : propagate(registered);
}

Result<std::shared_ptr<const Snapshot>> SnapshotCache::newest() {
  const std::lock_guard lock(mutex_);
  if (watch_ == nullptr) {
    auto open = open_directory(data_dir_);
    if (!open) {
      return propagate(open);
    }
    watch_ = std::make_unique<Watch>(std::move(*open));
  }
  const auto version = data_version(watch_->open.catalogue.database());
  const auto registered = watch_->open.registered();
  if (!version || !registered) {
    return !version ? propagate(version) : propagate(registered);
  }
  if (snapshot_ != nullptr && snapshot_->version == *version &&
      snapshot_->machines_registered == *registered) {
    return snapshot_;
  }
  auto loaded = load_from(watch_->open, *registered);
  if (!loaded) {
    return loaded;
  }
  snapshot_ = *loaded;
  return snapshot_;
}

}  // namespace plimsoll::query
