#include "query/views/snapshot.h"

#include "store/catalogue/catalogue.h"
#include "store/data_directory.h"

namespace plimsoll::query {
namespace {

Result<std::vector<std::string>> segment_paths(sqlite::Database& catalogue,
                                               const store::DataDirectory& directory) {
  std::vector<std::string> paths;
  auto row = catalogue.query("SELECT file FROM segment ORDER BY id");
  if (!row) {
    return propagate(row);
  }
  while (true) {
    const auto has_row = row->step();
    if (!has_row) {
      return propagate(has_row);
    }
    if (!*has_row) {
      return paths;
    }
    paths.push_back(directory.segments_path() + "/" + std::string(row->text(0)));
  }
}

// Changes whenever another connection has committed; only comparable on the same connection.
Result<int64_t> data_version(sqlite::Database& catalogue) {
  return catalogue.integer("PRAGMA data_version", 0);
}

Result<std::shared_ptr<const Snapshot>> load_from(sqlite::Database& catalogue,
                                                  const store::DataDirectory& directory) {
  auto snapshot = std::make_shared<Snapshot>();
  const auto version = data_version(catalogue);
  const auto transaction = sqlite::Transaction::begin_read(catalogue);
  if (!version || !transaction) {
    return !version ? propagate(version) : propagate(transaction);
  }
  auto dictionaries = store::Dictionaries::load(catalogue);
  if (!dictionaries) {
    return propagate(dictionaries);
  }
  auto bindings = store::Bindings::load(catalogue);
  if (!bindings) {
    return propagate(bindings);
  }
  const auto paths = segment_paths(catalogue, directory);
  if (!paths) {
    return propagate(paths);
  }
  auto rows = store::LocalRows::open(*paths);
  if (!rows) {
    return propagate(rows);
  }
  const auto registered = catalogue.integer("SELECT count(*) FROM live_machine", 0);
  if (!registered) {
    return propagate(registered);
  }
  snapshot->dictionaries = std::move(*dictionaries);
  snapshot->bindings = std::move(*bindings);
  snapshot->rows = std::make_unique<store::LocalRows>(std::move(*rows));
  snapshot->machines_registered = *registered;
  snapshot->version = *version;
  return snapshot;
}

struct OpenCatalogue {
  store::DataDirectory directory;
  store::Catalogue catalogue;
};

Result<OpenCatalogue> open_catalogue(const std::string& data_dir) {
  auto directory = store::DataDirectory::open_for_reading(data_dir);
  if (!directory) {
    return propagate(directory);
  }
  auto catalogue = store::Catalogue::open(directory->catalogue_path(), sqlite::OpenMode::kRead);
  if (!catalogue) {
    return propagate(catalogue);
  }
  return OpenCatalogue{std::move(*directory), std::move(*catalogue)};
}

}  // namespace

struct SnapshotCache::Watch {
  OpenCatalogue open;
};

SnapshotCache::SnapshotCache(std::string data_dir) : data_dir_(std::move(data_dir)) {}

SnapshotCache::~SnapshotCache() = default;

Result<std::shared_ptr<const Snapshot>> Snapshot::load(const std::string& data_dir) {
  auto open = open_catalogue(data_dir);
  if (!open) {
    return propagate(open);
  }
  return load_from(open->catalogue.database(), open->directory);
}

Result<std::shared_ptr<const Snapshot>> SnapshotCache::newest() {
  const std::lock_guard lock(mutex_);
  if (watch_ == nullptr) {
    auto open = open_catalogue(data_dir_);
    if (!open) {
      return propagate(open);
    }
    watch_ = std::make_unique<Watch>(std::move(*open));
  }
  sqlite::Database& catalogue = watch_->open.catalogue.database();
  const auto version = data_version(catalogue);
  if (!version) {
    return propagate(version);
  }
  if (snapshot_ != nullptr && snapshot_->version == *version) {
    return snapshot_;
  }
  auto loaded = load_from(catalogue, watch_->open.directory);
  if (!loaded) {
    return loaded;
  }
  snapshot_ = *loaded;
  return snapshot_;
}

}  // namespace plimsoll::query
