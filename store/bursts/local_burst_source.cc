#include "store/bursts/local_burst_source.h"

#include <optional>

#include "base/file.h"
#include "base/hex.h"
#include "store/bursts/burst_catalogue.h"

namespace plimsoll::store {
namespace {

std::unexpected<Error> no_such_recording(std::string_view id) {
  return with_hint(fail(ErrorCode::kNotFound, "there is no recording of bursts {}", to_hex(id)),
                   "retention may have dropped it: see plimsoll bursts list");
}

}  // namespace

Result<std::vector<StoredBursts>> LocalBurstSource::list(const BurstQuestion& question) {
  auto opened = BurstCatalogue::open_if_there(bursts_path_);
  if (!opened) {
    return propagate(opened);
  }
  std::optional<BurstCatalogue>& catalogue = *opened;
  return catalogue ? catalogue->list(question) : std::vector<StoredBursts>();
}

Result<std::string> LocalBurstSource::read(std::string_view id) {
  auto opened = BurstCatalogue::open_if_there(bursts_path_);
  if (!opened) {
    return propagate(opened);
  }
  std::optional<BurstCatalogue>& catalogue = *opened;
  const auto found = catalogue ? catalogue->find(id) : std::optional<BurstEntry>();
  if (!found) {
    return propagate(found);
  }
  const std::optional<BurstEntry>& entry = *found;
  if (!entry) {
    return no_such_recording(id);
  }
  auto bytes = read_file(recording_path(bursts_path_, id), entry->bursts.bytes);
  if (bytes || bytes.error().code != ErrorCode::kNotFound) {
    return bytes;
  }
  // It has been dropped since, or is missing, which `store check` tells.
  return no_such_recording(id);
}

}  // namespace plimsoll::store
