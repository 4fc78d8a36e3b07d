#include "store/model/pending_binary.h"

#include <fmt/format.h>

namespace plimsoll::store {

std::string PendingBinary::key() const {
  // Two files whose builds are unknown are not the same because nothing is known of either.
  return fmt::format("{} {} {}", static_cast<int>(identity_kind), identity,
                     identity.empty() ? paths.front() : "");
}

std::string PendingBinary::search_key() const {
  std::string search = key();
  for (const std::string& path : paths) {
    search += '\0' + path;
  }
  return search;
}

}  // namespace plimsoll::store
