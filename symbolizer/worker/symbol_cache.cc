#include "symbolizer/worker/symbol_cache.h"

#include <algorithm>

namespace plimsoll::symbolizer {

std::shared_ptr<BinarySymbols> SymbolCache::get(const std::string& key,
                                                const std::function<bool(const BinarySymbols&)>& is_fresh,
                                                const std::function<std::optional<BinarySymbols>()>& load) {
  const auto entry = std::ranges::find(entries_, key, &Entry::key);
  if (entry != entries_.end() && is_fresh(*entry->symbols)) {
    entries_.splice(entries_.begin(), entries_, entry);
    return entry->symbols;
  }
  if (entry != entries_.end()) {
    entries_.erase(entry);
  }
  auto loaded = load();
  if (!loaded) {
    return nullptr;
  }
  entries_.push_front({key, std::make_shared<BinarySymbols>(std::move(*loaded))});
  trim();
  return entries_.front().symbols;
}

bool SymbolCache::holds(const std::string& key,
                        const std::function<bool(const BinarySymbols&)>& is_fresh) const {
  const auto entry = std::ranges::find(entries_, key, &Entry::key);
  return entry != entries_.end() && is_fresh(*entry->symbols);
}

void SymbolCache::trim() {
  uint64_t bytes = 0;
  size_t count = 0;
  const auto first_over = std::ranges::find_if(entries_, [&](const Entry& entry) {
    bytes += entry.symbols->memory_bytes();
    ++count;
    return count > max_entries_ || (count > 1 && bytes > max_bytes_);
  });
  entries_.erase(first_over, entries_.end());
}

}  // namespace plimsoll::symbolizer
