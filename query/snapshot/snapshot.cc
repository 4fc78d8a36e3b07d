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

}  // namespace

// What is open of a directory, and what was read of it so far. One thread at a time.
class SnapshotLoader {
 public:
  static Result<std::unique_ptr<SnapshotLoader>> open(const std::string& data_dir);

  // Of the catalogue, and of the machines that have registered: another snapshot is needed where one of them is another.
  Result<int64_t> version() { return data_version(catalogue_.database()); }
  Result<int64_t> machines_registered();

  // `before`: the newest that this loader has made; none: its first.
  Result<std::shared_ptr<const Snapshot>> load(const Snapshot* before,
                                               const BeforeOpening& before_opening = {});

 private:
  // All of it as of the newest snapshot. Only ever extended, so that copies are cheap.
  struct Contents {
    store::Dictionaries dictionaries;
    store::Bindings bindings;
    OriginIndexer origins;
    ResponseIndex responses;
  };

  SnapshotLoader(store::DataDirectory directory, store::Catalogue catalogue, store::Catalogue beside)
      : directory_(std::move(directory)), catalogue_(std::move(catalogue)), beside_(std::move(beside)) {}

  Result<std::shared_ptr<Snapshot>> load_once(const Snapshot* before, const BeforeOpening& before_opening);
  Result<store::LocalRows> open_rows(const BeforeOpening& before_opening);
  Result<std::vector<store::DrawnWeight>> drawn_weights(std::string_view draw);
  Status extend_contents();
  Status read_contents();

  store::DataDirectory directory_;
  store::Catalogue catalogue_;
  store::Catalogue beside_;  // the same, for a second thread
  // Written by servers alone: none until there has been one.
  std::optional<store::LiveMachines> machines_;
  std::optional<store::DrawStore> draws_;
  store::LocalRows::Segments segments_ = {};  // of the newest snapshot
  std::unique_ptr<Contents> contents_;        // none: nothing has been read yet
};

Result<std::unique_ptr<SnapshotLoader>> SnapshotLoader::open(const std::string& data_dir) {
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
  return std::unique_ptr<SnapshotLoader>(
      new SnapshotLoader(std::move(*directory), std::move(*catalogue), std::move(*beside)));
}

Result<int64_t> SnapshotLoader::machines_registered() {
  if (!machines_) {
    auto machines = store::LiveMachines::open_if_there(directory_.live_path());
    if (!machines) {
      return propagate(machines);
    }
    machines_ = std::move(*machines);
  }
  return machines_ ? machines_->count() : 0;
}

Result<std::vector<store::DrawnWeight>> SnapshotLoader::drawn_weights(std::string_view draw) {
  if (!draws_) {
    auto draws = store::DrawStore::open_if_there(directory_.draws_path());
    if (!draws) {
      return propagate(draws);
    }
    draws_ = std::move(*draws);
  }
  return draws_ ? draws_->drawn_weights(draw) : Result<std::vector<store::DrawnWeight>>();
}

Result<store::LocalRows> SnapshotLoader::open_rows(const BeforeOpening& before_opening) {
  const auto segments = store::visible_segments(catalogue_.database());
  if (!segments) {
    return propagate(segments);
  }
  std::vector<std::string> paths;
  for (const store::SegmentEntry& segment : *segments) {
    paths.push_back(directory_.segments_path() + "/" + segment.file);
  }
  if (before_opening) {
    before_opening(paths);
  }
  auto rows = store::LocalRows::open(paths, segments_);
  if (rows) {
    segments_ = rows->segments();
  }
  return rows;
}

// The first time. The stacks are often the larger half.
Status SnapshotLoader::read_contents() {
  const auto last_stack = store::Dictionaries::last_stack(catalogue_.database());
  if (!last_stack) {
    return propagate(last_stack);
  }
  store::Dictionaries stacks;
  Status others_read;
  Status stacks_read;
  Result<store::Bindings> bindings;
  run_both(
      [&] {
        others_read = contents_->dictionaries.extend_without_stacks(catalogue_.database());
        bindings = store::Bindings::load(catalogue_.database());
      },
      [&] { stacks_read = stacks.extend_stacks(beside_.database(), *last_stack); });
  for (const Status& status : {others_read, stacks_read, bindings ? Status() : propagate(bindings)}) {
    if (!status) {
      return status;
    }
  }
  contents_->dictionaries.stacks = std::move(stacks.stacks);
  contents_->bindings = std::move(*bindings);
  return {};
}

// Within a transaction of the catalogue's.
Status SnapshotLoader::extend_contents() {
  Status read;
  if (contents_ == nullptr) {
    contents_ = std::make_unique<Contents>();
    read = read_contents();
  } else {
    read = contents_->dictionaries.extend(catalogue_.database());
    read = read ? contents_->bindings.extend(catalogue_.database()) : read;
  }
  if (!read) {
    return read;
  }
  contents_->origins.extend(contents_->dictionaries);
  // After the profiles: every draw is kept before its first profile comes.
  return contents_->responses.extend(contents_->origins.index(), contents_->dictionaries,
                                     [this](std::string_view draw) { return drawn_weights(draw); });
}

// One attempt. kNotFound: since the list of segments was read, some of them may have been merged and removed.
Result<std::shared_ptr<Snapshot>> SnapshotLoader::load_once(const Snapshot* before,
                                                            const BeforeOpening& before_opening) {
  auto snapshot = std::make_shared<Snapshot>();
  const auto at_version = version();
  const auto transaction = sqlite::Transaction::begin_read(catalogue_.database());
  if (!at_version || !transaction) {
    return !at_version ? propagate(at_version) : propagate(transaction);
  }
  // First the files: what is open stays readable however long the rest takes.
  auto rows = open_rows(before_opening);
  if (!rows) {
    return propagate(rows);
  }
  if (const Status extended = extend_contents(); !extended) {
    contents_ = nullptr;  // some of it may be newer than the rest
    return propagate(extended);
  }
  snapshot->rows = std::make_unique<store::LocalRows>(std::move(*rows));
  snapshot->dictionaries = contents_->dictionaries;
  snapshot->bindings = contents_->bindings;
  snapshot->origins = contents_->origins.index();
  snapshot->responses = contents_->responses.by_stratum();
  snapshot->frame_keys =
      before == nullptr ? std::make_unique<FrameKeysCache>() : FrameKeysCache::after(*before->frame_keys);
  snapshot->version = *at_version;
  snapshot->draws_path = directory_.draws_path();
  return snapshot;
}

Result<std::shared_ptr<const Snapshot>> SnapshotLoader::load(const Snapshot* before,
                                                             const BeforeOpening& before_opening) {
  const auto registered = machines_registered();
  if (!registered) {
    return propagate(registered);
  }
  for (int attempt = 1;; ++attempt) {
    // Where everything is read again, the numbers of names have nothing in common with those of `before`.
    auto snapshot = load_once(contents_ == nullptr ? nullptr : before, before_opening);
    if (snapshot) {
      (*snapshot)->machines_registered = *registered;
      return *snapshot;
    }
    if (attempt == kMaxAttempts || snapshot.error().code != ErrorCode::kNotFound) {
      return propagate(snapshot);
    }
  }
}

Result<std::shared_ptr<const Snapshot>> Snapshot::load(const std::string& data_dir,
                                                       const BeforeOpening& before_opening) {
  const auto loader = SnapshotLoader::open(data_dir);
  return loader ? (*loader)->load(nullptr, before_opening) : propagate(loader);
}

SnapshotCache::SnapshotCache(std::string data_dir) : data_dir_(std::move(data_dir)) {}

SnapshotCache::~SnapshotCache() = default;

Result<std::shared_ptr<const Snapshot>> SnapshotCache::newest() {
  const std::lock_guard lock(mutex_);
  if (loader_ == nullptr) {
    auto loader = SnapshotLoader::open(data_dir_);
    if (!loader) {
      return propagate(loader);
    }
    loader_ = std::move(*loader);
  }
  const auto version = loader_->version();
  const auto registered = loader_->machines_registered();
  if (!version || !registered) {
    return !version ? propagate(version) : propagate(registered);
  }
  if (snapshot_ != nullptr && snapshot_->version == *version &&
      snapshot_->machines_registered == *registered) {
    return snapshot_;
  }
  auto loaded = loader_->load(snapshot_.get());
  if (loaded) {
    snapshot_ = *loaded;
  }
  return loaded;
}

}  // namespace plimsoll::query
