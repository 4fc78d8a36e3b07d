#include "store/dictionaries/dictionary_builder.h"

#include <utility>

namespace plimsoll::store {

DictionaryBuilder::DictionaryBuilder(Dictionaries entries) : index_(std::move(entries)) {
  const AppendOnlyList<std::string>& sets = index_.entries().label_sets;
  for (uint32_t id = 1; id < sets.size(); ++id) {
    label_values_.add(id, sets[id]);
  }
}

void DictionaryBuilder::roll_back(const DictionarySizes& mark) {
  index_.roll_back(mark);
  label_values_.roll_back(mark.label_sets);
}

uint32_t DictionaryBuilder::machine(const MachineEntry& entry) {
  return index_.intern(entry);
}

Result<uint32_t> DictionaryBuilder::event(const EventEntry& entry) {
  return index_.intern(entry);
}

uint32_t DictionaryBuilder::workload(const WorkloadEntry& entry) {
  return index_.intern(entry);
}

uint32_t DictionaryBuilder::thread(const std::string& name) {
  return index_.intern_thread(name);
}

uint32_t DictionaryBuilder::label_set(const std::string& encoded) {
  const size_t known = index_.entries().label_sets.size();
  const uint32_t id = index_.intern_label_set(encoded);
  if (id >= known) {
    label_values_.add(id, encoded);
  }
  return id;
}

uint32_t DictionaryBuilder::binary(const BinaryEntry& entry) {
  return index_.intern(entry);
}

uint32_t DictionaryBuilder::location(const LocationEntry& entry) {
  return index_.intern(entry);
}

uint32_t DictionaryBuilder::stack(StackNode node) {
  return index_.intern(node);
}

uint32_t DictionaryBuilder::origin(const OriginEntry& entry) {
  return index_.add(entry);
}

}  // namespace plimsoll::store
