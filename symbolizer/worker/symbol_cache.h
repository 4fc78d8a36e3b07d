// Symbols of binaries that were needed lately, so that a batch of new locations does not read every file again.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>

#include "symbolizer/worker/symbol_source.h"

namespace plimsoll::symbolizer {

// Bounded by its entries' number and by what they have mapped or allocated; the least recently used go first. One thread at a
// time.
class SymbolCache {
 public:
  SymbolCache(size_t max_entries, uint64_t max_bytes) : max_entries_(max_entries), max_bytes_(max_bytes) {}

  // The symbols under that key, where `is_fresh` accepts them; else those that `load` makes, which are kept; null where it
  // makes none.
  std::shared_ptr<BinarySymbols> get(const std::string& key,
                                     const std::function<bool(const BinarySymbols&)>& is_fresh,
                                     const std::function<std::optional<BinarySymbols>()>& load);

  // Whether get() would need no `load`.
  bool holds(const std::string& key, const std::function<bool(const BinarySymbols&)>& is_fresh) const;

 private:
  struct Entry {
    std::string key;
    std::shared_ptr<BinarySymbols> symbols;
  };
  // All but the newest, which is in use.
  void trim();

  const size_t max_entries_;
  const uint64_t max_bytes_;
  std::list<Entry> entries_;  // the most recently used first
};

}  // namespace plimsoll::symbolizer
