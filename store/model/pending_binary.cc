#include "store/model/pending_binary.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace plimsoll::store {
namespace {

// Two entries of one identity. One that was never looked up knows nothing of quality.
void merge(PendingBinary& into, PendingBinary other) {
  into.ids.push_back(other.ids.front());
  into.paths.push_back(std::move(other.paths.front()));
  if (into.generation == 0 || (other.generation != 0 && other.quality < into.quality)) {
    into.quality = other.quality;
    into.looked_at = std::move(other.looked_at);
    into.reasons = std::move(other.reasons);
  }
  into.generation = std::max(into.generation, other.generation);
  into.new_locations += other.new_locations;
  into.is_kernel = into.is_kernel || other.is_kernel;
  into.kernel_symbol_bytes = std::max(into.kernel_symbol_bytes, other.kernel_symbol_bytes);
}

bool needs_look(const PendingBinary& binary) {
  const bool may_improve = binary.generation != 0 && binary.quality != SymbolQuality::kFull;
  return binary.new_locations > 0 || may_improve;
}

}  // namespace

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

void PendingBinaries::add(PendingBinary binary) {
  const auto [entry, is_first] = binaries_.try_emplace(binary.key(), binary);
  if (!is_first) {
    merge(entry->second, std::move(binary));
  }
}

std::vector<PendingBinary> PendingBinaries::take() {
  std::vector<PendingBinary> pending;
  for (auto& [key, binary] : binaries_) {
    if (needs_look(binary)) {
      pending.push_back(std::move(binary));
    }
  }
  binaries_.clear();
  return pending;
}

}  // namespace plimsoll::store
