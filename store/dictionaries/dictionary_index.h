// Dictionaries that are added to, and the ID of each entry.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "base/result.h"
#include "store/dictionaries/key_index.h"
#include "store/model/dictionaries.h"
#include "store/model/entry_index.h"

namespace plimsoll::store {

uint64_t hash_of_entry(const MachineEntry& entry);
uint64_t hash_of_entry(const WorkloadEntry& entry);
uint64_t hash_of_entry(const std::string& entry);
uint64_t hash_of_entry(const BinaryEntry& entry);
uint64_t hash_of_entry(const LocationEntry& entry);

// In memory. intern() gives the ID of an entry, which is added where it is new. An exception of an allocation leaves it fit for
// roll_back(). One thread.
class DictionaryIndex {
 public:
  DictionaryIndex() = default;
  explicit DictionaryIndex(Dictionaries entries);

  const Dictionaries& entries() const { return entries_; }

  // For so many origins, locations and stacks in all: growing to that many step by step costs as much as adding them.
  void reserve(const DictionarySizes& sizes);

  uint32_t intern(const MachineEntry& entry) { return intern_in(machines_, entries_.machines, entry); }
  uint32_t intern(const WorkloadEntry& entry) { return intern_in(workloads_, entries_.workloads, entry); }
  uint32_t intern(const BinaryEntry& entry) { return intern_in(binaries_, entries_.binaries, entry); }
  uint32_t intern_thread(const std::string& name) { return intern_in(threads_, entries_.threads, name); }
  // As label_set.h encodes one; no labels are entry 0.
  uint32_t intern_label_set(const std::string& encoded) {
    return encoded.empty() ? 0 : intern_in(label_sets_, entries_.label_sets, encoded);
  }
  uint32_t intern(const LocationEntry& entry) {
    if (!entry.name.empty()) {
      return intern_in(named_locations_, entries_.locations, entry);
    }
    return intern_in(locations_, entries_.locations, LocationKey{entry.address, entry.owner, entry.kind},
                     entry);
  }
  uint32_t intern(StackNode node) { return intern_in(stacks_, entries_.stacks, node, node); }
  // By its name. kConflict where an event of this name has another unit or kind.
  Result<uint32_t> intern(const EventEntry& entry) {
    const auto known = find_event(entry);
    return !known || *known != 0 ? known : append(entries_.events, entry);
  }
  // Always new.
  uint32_t add(const OriginEntry& entry) { return append(entries_.origins, entry); }
  // Of the origin that was added last, those of an event that is shown apart from the others.
  void add(const OriginEventEntry& entry) {
    const bool is_shown = entries_.events[entry.event].is_shown();
    (is_shown ? entries_.origin_events : entries_.origin_squares).push_back(entry);
  }

  // The ID of a label set that is known; 0 where it is new, or no labels.
  uint32_t find_label_set(const std::string& encoded) const {
    return label_sets_.find(hash_of_entry(encoded), encoded, entries_.label_sets.span());
  }

  // The ID of a node that is known; 0 where it is new.
  uint32_t find(StackNode node) const { return stacks_.find(node); }

  // Of stacks, which are nearly all that there is.
  uint64_t stack_bytes() const { return stacks_.memory_bytes() + entries_.stacks.size() * sizeof(StackNode); }

  // What to prefetch for a look-up that follows (KeyIndex::place_of). Not of locations with names.
  const void* place_of(const LocationEntry& entry) const {
    return locations_.place_of({entry.address, entry.owner, entry.kind});
  }
  const void* place_of(StackNode node) const { return stacks_.place_of(node); }

  // Takes back what was added since, but for events of origins. Allocates nothing; costs as much as adding did.
  void roll_back(const DictionarySizes& mark);

 private:
  // A location without a name.
  struct LocationKey {
    uint64_t address = 0;
    uint32_t owner = 0;
    wire::LocationKind kind = wire::LOCATION_UNSPECIFIED;

    bool operator==(const LocationKey&) const = default;
    uint64_t hash() const { return hash_of(address, owner, static_cast<int>(kind)); }
  };

  template <typename Entry>
  static uint32_t append(AppendOnlyList<Entry>& entries, const Entry& entry) {
    entries.push_back(entry);
    return static_cast<uint32_t>(entries.size() - 1);
  }
  template <typename Entry>
  static uint32_t intern_in(EntryIndex<Entry>& index, AppendOnlyList<Entry>& entries, const Entry& entry) {
    const uint64_t hash = hash_of_entry(entry);
    if (const uint32_t known = index.find(hash, entry, entries.span()); known != 0) {
      return known;
    }
    const uint32_t id = append(entries, entry);
    index.add(hash, id);
    return id;
  }
  template <typename Key, typename Entry>
  static uint32_t intern_in(KeyIndex<Key>& index, AppendOnlyList<Entry>& entries, const Key& key,
                            const Entry& entry) {
    if (const uint32_t known = index.find(key); known != 0) {
      return known;
    }
    const uint32_t id = append(entries, entry);
    index.add(key, id);
    return id;
  }
  Result<uint32_t> find_event(const EventEntry& entry) const;

  Dictionaries entries_;
  EntryIndex<MachineEntry> machines_;
  EntryIndex<WorkloadEntry> workloads_;
  EntryIndex<std::string> threads_;
  EntryIndex<std::string> label_sets_;
  EntryIndex<BinaryEntry> binaries_;
  EntryIndex<LocationEntry> named_locations_;
  KeyIndex<LocationKey> locations_;  // the others
  KeyIndex<StackNode> stacks_;
};

}  // namespace plimsoll::store
