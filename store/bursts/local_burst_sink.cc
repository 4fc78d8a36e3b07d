#include "store/bursts/local_burst_sink.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <optional>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include "base/checksum.h"
#include "base/durable_file.h"
#include "base/hex.h"
#include "base/log.h"

namespace plimsoll::store {
namespace {

Result<std::vector<std::string>> files_of_recordings(const std::string& bursts_path) {
  std::vector<std::string> files;
  std::error_code error;
  const std::string folder = recordings_folder(bursts_path);
  if (!std::filesystem::exists(folder, error)) {
    return error ? Result<std::vector<std::string>>(fail_errno(error.value(), "looking for {}", folder))
                 : files;
  }
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    files.push_back(entry->path().string());
  }
  return error ? Result<std::vector<std::string>>(fail_errno(error.value(), "listing {}", folder)) : files;
}

// A folder with an empty catalogue, which has its name only once it is on disk: readers never see half of it.
Status make_bursts_folder(const std::string& bursts_path, std::string_view directory_id) {
  const std::string made_path = bursts_path + ".tmp";
  std::error_code error;
  for (const std::string& path : {made_path, bursts_path}) {
    std::filesystem::remove_all(path, error);
    if (error) {
      return fail_errno(error.value(), "removing {}, which has no recordings", path);
    }
  }
  std::filesystem::create_directories(recordings_folder(made_path), error);
  if (error) {
    return fail_errno(error.value(), "creating {}", made_path);
  }
  {
    // Closed before the folder is renamed.
    const auto catalogue = BurstCatalogue::open(made_path, directory_id);
    if (!catalogue) {
      return propagate(catalogue);
    }
  }
  if (const Status synced = sync_folder(made_path); !synced) {
    return synced;
  }
  std::filesystem::rename(made_path, bursts_path, error);
  return error ? Status(fail_errno(error.value(), "renaming {} to {}", made_path, bursts_path))
               : sync_folder(std::filesystem::path(bursts_path).parent_path().string());
}

// What a crash has left: half-written files, and those that the catalogue does not show yet, or any more.
Status remove_leftovers(const std::vector<std::string>& files, const std::string& bursts_path,
                        BurstCatalogue& catalogue) {
  const auto entries = catalogue.all();
  if (!entries) {
    return propagate(entries);
  }
  std::set<std::string> shown;
  for (const BurstEntry& entry : *entries) {
    shown.insert(recording_path(bursts_path, entry.bursts.id));
  }
  for (const std::string& file : files) {
    if (!shown.contains(file) && ::unlink(file.c_str()) != 0 && errno != ENOENT) {
      return fail_errno(errno, "removing {}, which no catalogue shows", file);
    }
  }
  return {};
}

}  // namespace

LocalBurstSink::LocalBurstSink(std::string bursts_path, std::string directory_id,
                               std::function<int64_t()> now_ns)
    : bursts_path_(std::move(bursts_path)),
      directory_id_(std::move(directory_id)),
      now_ns_(std::move(now_ns)) {}

Status LocalBurstSink::open_catalogue(bool makes_one) {
  if (catalogue_) {
    return {};
  }
  const std::string path = fmt::format("{}/{}", bursts_path_, kBurstCatalogueFile);
  std::error_code error;
  const bool is_there = std::filesystem::exists(path, error);
  const auto files = error
                         ? Result<std::vector<std::string>>(fail_errno(error.value(), "looking for {}", path))
                         : files_of_recordings(bursts_path_);
  if (!files) {
    return propagate(files);
  }
  if (!is_there && !files->empty()) {
    return with_hint(
        fail(ErrorCode::kCorrupt, "{} is missing, and there are recordings of bursts", path),
        fmt::format("restore it from a backup, or move {} away: its recordings are lost then", bursts_path_));
  }
  if (!is_there && !makes_one) {
    return {};
  }
  const Status made = is_there ? Status() : make_bursts_folder(bursts_path_, directory_id_);
  auto catalogue = made ? BurstCatalogue::open(bursts_path_, directory_id_) : propagate(made);
  const Status cleaned =
      catalogue ? remove_leftovers(*files, bursts_path_, *catalogue) : propagate(catalogue);
  if (cleaned) {
    catalogue_ = std::make_unique<BurstCatalogue>(std::move(*catalogue));
  }
  return cleaned;
}

Result<bool> LocalBurstSink::add(std::string_view id, const StoredBursts& summary, Bytes encoded) {
  if (id.size() != kBurstIdBytes) {
    return fail(ErrorCode::kInvalid, "the ID of a recording of bursts has {} bytes, not {}", kBurstIdBytes,
                id.size());
  }
  BurstEntry entry{.bursts = summary, .content_hash = content_hash(encoded)};
  entry.bursts.id = id;
  entry.bursts.bytes = encoded.size();
  entry.bursts.received_ns = now_ns_();
  const std::lock_guard lock(mutex_);
  if (const Status opened = open_catalogue(true); !opened) {
    return propagate(opened);
  }
  const auto found = catalogue_->find(id);
  if (!found) {
    return propagate(found);
  }
  if (const std::optional<BurstEntry>& known = *found) {
    return known->content_hash == entry.content_hash
               ? Result<bool>(false)
               : fail(ErrorCode::kConflict, "another recording of bursts has the ID {}", to_hex(id));
  }
  const Status kept = keep(entry, encoded);
  return kept ? Result<bool>(true) : propagate(kept, "keeping a recording of bursts");
}

Status LocalBurstSink::keep(const BurstEntry& entry, Bytes encoded) {
  const std::string path = recording_path(bursts_path_, entry.bursts.id);
  if (const Status written = write_file_durably(path, encoded); !written) {
    return written;
  }
  Status inserted = catalogue_->insert(entry);
  if (!inserted) {
    // A commit that failed may have been done all the same. Where that cannot be told the file stays: the next start knows.
    const auto found = catalogue_->find(entry.bursts.id);
    if (found && !found->has_value()) {
      ::unlink(path.c_str());
    }
  }
  return inserted;
}

Result<uint64_t> LocalBurstSink::drop_old(int64_t before_ns, uint64_t max_bytes) {
  const std::lock_guard lock(mutex_);
  if (const Status opened = open_catalogue(false); !opened) {
    return propagate(opened);
  }
  // Once: it reads the whole catalogue, and add() waits for this call.
  auto bytes = catalogue_ ? catalogue_->bytes() : Result<int64_t>(0);
  if (!bytes) {
    return propagate(bytes);
  }
  uint64_t dropped = 0;
  while (catalogue_) {
    const auto oldest = catalogue_->oldest_of_several();
    if (!oldest) {
      return propagate(oldest);
    }
    const std::optional<StoredBursts>& found = *oldest;
    if (!found || (found->received_ns >= before_ns && static_cast<uint64_t>(*bytes) <= max_bytes)) {
      break;
    }
    if (const Status done = drop(*found); !done) {
      return propagate(done);
    }
    *bytes -= static_cast<int64_t>(found->bytes);
    ++dropped;
  }
  return dropped;
}

Result<bool> LocalBurstSink::drop_oldest() {
  const std::lock_guard lock(mutex_);
  if (const Status opened = open_catalogue(false); !opened || !catalogue_) {
    return opened ? Result<bool>(false) : propagate(opened);
  }
  const auto oldest = catalogue_->oldest_of_several();
  if (!oldest) {
    return propagate(oldest);
  }
  const std::optional<StoredBursts>& found = *oldest;
  if (!found) {
    return false;
  }
  const Status done = drop(*found);
  return done ? Result<bool>(true) : propagate(done);
}

Status LocalBurstSink::drop(const StoredBursts& bursts) {
  if (const Status removed = catalogue_->remove(bursts.id); !removed) {
    return propagate(removed, "dropping a recording of bursts");
  }
  const std::string path = recording_path(bursts_path_, bursts.id);
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) {
    // It is forgotten, and the next start removes it.
    log_error("removing {}: {}", path, std::error_code(errno, std::generic_category()).message());
  }
  return {};
}

}  // namespace plimsoll::store
