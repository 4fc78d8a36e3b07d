#include "store/dictionaries/dictionary_index.h"

namespace plimsoll::store {
namespace {

// The last ones, down to `size`, which `forget` removes from their index.
template <typename Entry, typename Forget>
void remove_last(AppendOnlyList<Entry>& entries, size_t size, Forget forget) {
  for (size_t id = entries.size(); id-- > size;) {
    forget(entries[id], static_cast<uint32_t>(id));
  }
  entries.truncate(size);
}

template <typename Entry>
void remove_last(AppendOnlyList<Entry>& entries, size_t size, EntryIndex<Entry>& index) {
  remove_last(entries, size,
              [&](const Entry& entry, uint32_t id) { index.remove_last(hash_of_entry(entry), id); });
}

// All but the empty entry 0.
template <typename Entry>
void index_entries(const AppendOnlyList<Entry>& entries, EntryIndex<Entry>& index) {
  for (size_t id = 1; id < entries.size(); ++id) {
    index.add(hash_of_entry(entries[id]), static_cast<uint32_t>(id));
  }
}

}  // namespace

uint64_t hash_of_entry(const MachineEntry& entry) {
  return hash_of(entry.machine_id, entry.hostname, entry.datacenter, entry.cluster, entry.platform,
                 entry.architecture, entry.kernel, entry.cores, entry.cpu_model, entry.kernel_build_id,
                 entry.os, entry.daemon_version);
}

uint64_t hash_of_entry(const WorkloadEntry& entry) {
  return hash_of(entry.job, entry.instance, entry.app, entry.image, entry.build_id, entry.revision,
                 entry.compiler, entry.builder);
}

uint64_t hash_of_entry(const std::string& entry) {
  return hash_of(entry);
}

uint64_t hash_of_entry(const BinaryEntry& entry) {
  return hash_of(static_cast<int>(entry.identity_kind), entry.identity, entry.path);
}

uint64_t hash_of_entry(const LocationEntry& entry) {
  return hash_of(static_cast<int>(entry.kind), entry.owner, entry.address, entry.name);
}

DictionaryIndex::DictionaryIndex(Dictionaries entries) : entries_(std::move(entries)) {
  index_entries(entries_.machines, machines_);
  index_entries(entries_.workloads, workloads_);
  index_entries(entries_.threads, threads_);
  index_entries(entries_.label_sets, label_sets_);
  index_entries(entries_.binaries, binaries_);
  for (uint32_t id = 1; id < entries_.locations.size(); ++id) {
    const LocationEntry& entry = entries_.locations[id];
    if (entry.name.empty()) {
      locations_.add({entry.address, entry.owner, entry.kind}, id);
    } else {
      named_locations_.add(hash_of_entry(entry), id);
    }
  }
  for (uint32_t id = 1; id < entries_.stacks.size(); ++id) {
    stacks_.add(entries_.stacks[id], id);
  }
}

void DictionaryIndex::reserve(const DictionarySizes& sizes) {
  entries_.origins.reserve(sizes.origins);
  entries_.locations.reserve(sizes.locations);
  entries_.stacks.reserve(sizes.stacks);
  locations_.reserve(sizes.locations);
  stacks_.reserve(sizes.stacks);
}

void DictionaryIndex::roll_back(const DictionarySizes& mark) {
  remove_last(entries_.machines, mark.machines, machines_);
  remove_last(entries_.workloads, mark.workloads, workloads_);
  remove_last(entries_.threads, mark.threads, threads_);
  remove_last(entries_.label_sets, mark.label_sets, label_sets_);
  remove_last(entries_.binaries, mark.binaries, binaries_);
  remove_last(entries_.locations, mark.locations, [&](const LocationEntry& entry, uint32_t id) {
    if (entry.name.empty()) {
      locations_.remove({entry.address, entry.owner, entry.kind});
    } else {
      named_locations_.remove_last(hash_of_entry(entry), id);
    }
  });
  remove_last(entries_.stacks, mark.stacks, [&](StackNode node, uint32_t /*id*/) { stacks_.remove(node); });
  // These have no index.
  entries_.events.truncate(mark.events);
  entries_.origins.truncate(mark.origins);
}

Result<uint32_t> DictionaryIndex::find_event(const EventEntry& entry) const {
  const auto known =
      std::ranges::find(entries_.events.begin() + 1, entries_.events.end(), entry.name, &EventEntry::name);
  if (known == entries_.events.end()) {
    return 0;
  }
  if (known->unit != entry.unit || known->kind != entry.kind) {
    return fail(ErrorCode::kConflict, "event {} comes with unit {} and kind {}; here it has {} and {}",
                entry.name, wire::Unit_Name(entry.unit), wire::Kind_Name(entry.kind),
                wire::Unit_Name(known->unit), wire::Kind_Name(known->kind));
  }
  return static_cast<uint32_t>(known - entries_.events.begin());
}

}  // namespace plimsoll::store
