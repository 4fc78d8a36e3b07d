#include "store/care/burst_check.h"

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include "base/checksum.h"
#include "base/file.h"
#include "store/bursts/burst_catalogue.h"
#include "store/care/database_check.h"
#include "store/directory/data_directory.h"
#include "traces/bursts/recording/burst_file.h"

namespace plimsoll::store {
namespace {

// Nothing makes recordings again.
constexpr std::string_view kRestoreBursts =
    "restore it from a backup of this directory; or leave it: it is dropped in time "
    "(retention.bursts_max_age)";

class BurstsCheck {
 public:
  BurstsCheck(CheckLog& log, BurstCatalogue& catalogue)
      : log_(log), bursts_path_(bursts_path_of(log.data_dir())), catalogue_(catalogue) {}

  // Files first: one is there before the catalogue shows it.
  void run() {
    const std::vector<std::string> files = files_of_folder();
    const auto entries = catalogue_.all();
    if (!entries) {
      log_.add(catalogue_.database().path(), entries.error(), kRestoreBursts);
      return;
    }
    std::set<std::string> shown;
    for (const BurstEntry& entry : *entries) {
      const std::string path = recording_path(bursts_path_, entry.bursts.id);
      check_recording(path, entry);
      shown.insert(path);
    }
    for (const std::string& file : files) {
      std::error_code error;
      if (!shown.contains(file) && std::filesystem::exists(file, error)) {
        log_.note(file, "no recording of the catalogue: left by a crash, or being written at the moment",
                  "nothing: the next start of the server removes it");
      }
    }
  }

 private:
  std::vector<std::string> files_of_folder() const {
    std::vector<std::string> files;
    std::error_code error;
    for (std::filesystem::directory_iterator entry(recordings_folder(bursts_path_), error), end;
         !error && entry != end; entry.increment(error)) {
      files.push_back(entry->path().string());
    }
    return files;
  }

  // Beside a server recordings are dropped.
  bool is_still_shown(const BurstEntry& entry) {
    const auto found = catalogue_.find(entry.bursts.id);
    return !found || found->has_value();
  }

  void check_recording(const std::string& path, const BurstEntry& entry) {
    log_.start(path);
    ++log_.report().burst_recordings;
    const auto bytes = read_file(path, entry.bursts.bytes);
    if (!bytes) {
      if (is_still_shown(entry)) {
        log_.add(path, bytes.error(), kRestoreBursts);
      }
      return;
    }
    log_.add_bytes(bytes->size());
    if (content_hash(as_bytes(*bytes)) != entry.content_hash) {
      log_.add(path, "it is not what was received: its hash differs from the catalogue's",
               std::string(kRestoreBursts));
      return;
    }
    const auto recording = traces::decode_bursts(as_bytes(*bytes));
    auto summary = recording ? summary_of(*recording) : propagate(recording);
    if (!summary) {
      log_.add(path, summary.error(), kRestoreBursts);
      return;
    }
    summary->id = entry.bursts.id;
    summary->bytes = bytes->size();
    summary->received_ns = entry.bursts.received_ns;
    if (*summary != entry.bursts) {
      log_.add(catalogue_.database().path(),
               fmt::format("what it says of {} is not what the recording has", path),
               std::string(kRestoreBursts));
    }
  }

  CheckLog& log_;
  const std::string bursts_path_;
  BurstCatalogue& catalogue_;
};

}  // namespace

void check_bursts(CheckLog& log, std::string_view id) {
  const std::string name = fmt::format("bursts/{}", kBurstCatalogueFile);
  if (!check_database(log, name, id)) {
    return;
  }
  auto opened = BurstCatalogue::open_if_there(bursts_path_of(log.data_dir()));
  if (!opened) {
    log.add(name, opened.error(), kRestoreBursts);
    return;
  }
  if (std::optional<BurstCatalogue>& catalogue = *opened; catalogue) {
    BurstsCheck(log, *catalogue).run();
  }
}

}  // namespace plimsoll::store
