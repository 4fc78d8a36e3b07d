// Adds entries to the dictionaries of a block.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "sqlite/database.h"
#include "store/dictionaries/dictionary_index.h"
#include "store/model/label_values.h"

namespace plimsoll::store {

// Adds entries, to memory and to the database together, within the caller's transaction. If that is rolled back, roll_back() takes this
// object to where it was at the transaction's beginning. An exception of an allocation leaves it fit for that.
class DictionaryWriter {
 public:
  static Result<DictionaryWriter> open(sqlite::Database& database);

  const Dictionaries& entries() const { return index_.entries(); }

  using Mark = DictionaryIndex::Mark;
  Mark mark() const { return index_.mark(); }
  // Takes back what was added since. Allocates nothing; costs as much as adding did.
  void roll_back(const Mark& mark);

  Result<uint32_t> machine(const MachineEntry& entry);
  // kConflict where an event of this name has another unit or kind.
  Result<uint32_t> event(const EventEntry& entry);
  Result<uint32_t> workload(const WorkloadEntry& entry);
  Result<uint32_t> thread(const std::string& name);
  // As label_set.h encodes one; 0 for no labels.
  Result<uint32_t> label_set(const std::string& encoded);
  uint32_t find_label_set(const std::string& encoded) const { return index_.find_label_set(encoded); }
  const LabelValues& label_values() const { return label_values_; }
  Result<uint32_t> binary(const BinaryEntry& entry);
  Result<uint32_t> location(const LocationEntry& entry);
  Result<uint32_t> stack(StackNode node);
  // The ID of a node that is known; 0 where it is new.
  uint32_t find_stack(StackNode node) const { return index_.find(node); }

  // What to prefetch for a look-up that follows (DictionaryIndex::place_of).
  const void* place_of(const LocationEntry& entry) const { return index_.place_of(entry); }
  const void* place_of(StackNode node) const { return index_.place_of(node); }

  // Always new: an origin is one profile.
  Result<uint32_t> origin(const OriginEntry& entry, const std::string& profile_id, int64_t archive_sequence);

 private:
  DictionaryWriter(sqlite::Database& database, Dictionaries entries);

  sqlite::Database* database_;
  DictionaryIndex index_;
  LabelValues label_values_;
};

}  // namespace plimsoll::store
