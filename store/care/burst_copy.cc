#include "store/care/burst_copy.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "base/unique_fd.h"
#include "store/bursts/burst_catalogue.h"
#include "store/care/copy_file.h"
#include "store/directory/data_directory.h"
#include "store/identity/directory_identity.h"

namespace plimsoll::store {
namespace {

// The catalogue as of one moment, and what it showed then.
Result<std::vector<BurstEntry>> copy_catalogue(BurstCatalogue& catalogue, const std::string& to,
                                               const std::function<void(uint64_t bytes)>& copied) {
  const auto transaction = sqlite::Transaction::begin_read(catalogue.database());
  auto entries = transaction ? catalogue.all() : propagate(transaction);
  const Status done =
      entries ? catalogue.database().copy_to(fmt::format("{}/{}", to, kBurstCatalogueFile), copied)
              : propagate(entries);
  return done ? std::move(entries) : propagate(done);
}

// The IDs of those that are gone.
Result<std::vector<std::string>> copy_recordings(const std::vector<BurstEntry>& entries,
                                                 const std::string& from, const std::string& to,
                                                 const std::function<void(uint64_t bytes)>& copied) {
  std::vector<std::string> gone;
  for (const BurstEntry& entry : entries) {
    const std::string path = recording_path(from, entry.bursts.id);
    const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file.valid() && errno == ENOENT) {
      gone.push_back(entry.bursts.id);
      continue;
    }
    const Status done = file.valid() ? copy_file(file, path, recording_path(to, entry.bursts.id), copied)
                                     : fail_errno(errno, "opening {}", path);
    if (!done) {
      return propagate(done);
    }
  }
  return gone;
}

// A file that was missing before is no recording that was dropped: the copy must not hide it.
Status forget_dropped(BurstCatalogue& source, const std::vector<std::string>& gone, const std::string& to,
                      std::string_view directory_id) {
  if (gone.empty()) {
    return {};
  }
  auto copy = BurstCatalogue::open(to, directory_id);
  Status done = copy ? Status() : propagate(copy);
  for (size_t i = 0; i < gone.size() && done; ++i) {
    const auto found = source.find(gone[i]);
    done = !found ? propagate(found) : found->has_value() ? Status() : copy->remove(gone[i]);
  }
  return done;
}

}  // namespace

Status copy_bursts(const std::string& from, const std::string& to,
                   const std::function<void(uint64_t bytes)>& copied) {
  const std::string source_path = bursts_path_of(from);
  const std::string copy_path = bursts_path_of(to);
  auto opened = BurstCatalogue::open_if_there(source_path);
  if (!opened) {
    return propagate(opened);
  }
  std::optional<BurstCatalogue>& catalogue = *opened;
  if (!catalogue) {
    return {};
  }
  std::error_code error;
  std::filesystem::create_directories(recordings_folder(copy_path), error);
  if (error) {
    return fail_errno(error.value(), "creating {}", copy_path);
  }
  const auto id = directory_id_of(catalogue->database());
  const auto entries = id ? copy_catalogue(*catalogue, copy_path, copied) : propagate(id);
  const auto gone = entries ? copy_recordings(*entries, source_path, copy_path, copied) : propagate(entries);
  const Status done = gone ? forget_dropped(*catalogue, *gone, copy_path, *id) : propagate(gone);
  return done ? done : propagate(done, "copying {}", source_path);
}

}  // namespace plimsoll::store
