// Adds entries to dictionaries in memory, and gives them their IDs.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "store/dictionaries/dictionary_index.h"
#include "store/model/label_values.h"

namespace plimsoll::store {

// The one that gives IDs. What is new becomes durable with a batch (store/model/batch.h); until then roll_back() takes it back. An exception
// of an allocation leaves this fit for that. One thread.
class DictionaryBuilder {
 public:
  explicit DictionaryBuilder(Dictionaries entries);

  // Without events of origins that are added here.
  const Dictionaries& entries() const { return index_.entries(); }

  DictionarySizes mark() const { return sizes_of(entries()); }
  // Takes back what was added since. Allocates nothing; costs as much as adding did.
  void roll_back(const DictionarySizes& mark);

  uint32_t machine(const MachineEntry& entry);
  // kConflict where an event of this name has another unit or kind.
  Result<uint32_t> event(const EventEntry& entry);
  uint32_t workload(const WorkloadEntry& entry);
  uint32_t thread(const std::string& name);
  // As label_set.h encodes one; 0 for no labels.
  uint32_t label_set(const std::string& encoded);
  uint32_t find_label_set(const std::string& encoded) const { return index_.find_label_set(encoded); }
  const LabelValues& label_values() const { return label_values_; }
  uint32_t binary(const BinaryEntry& entry);
  uint32_t location(const LocationEntry& entry);
  uint32_t stack(StackNode node);
  // The ID of a node that is known; 0 where it is new.
  uint32_t find_stack(StackNode node) const { return index_.find(node); }
  // Always new: an origin is one profile.
  uint32_t origin(const OriginEntry& entry);

  // What to prefetch for a look-up that follows (DictionaryIndex::place_of).
  const void* place_of(const LocationEntry& entry) const { return index_.place_of(entry); }
  const void* place_of(StackNode node) const { return index_.place_of(node); }

 private:
  DictionaryIndex index_;
  LabelValues label_values_;
};

}  // namespace plimsoll::store
