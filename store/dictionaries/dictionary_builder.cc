#include "store/dictionaries/dictionary_builder.h"

#include <utility>

namespace plimsoll::store {
namespace {

// Nothing that can fail has to be done for an entry before it is added.
constexpr auto kAdd = [](uint32_t /*id*/) { return Status(); };

}  // namespace

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
  return *index_.intern(entry, kAdd);
}

Result<uint32_t> DictionaryBuilder::event(const EventEntry& entry) {
  return index_.intern(entry, kAdd);
}

uint32_t DictionaryBuilder::workload(const WorkloadEntry& entry) {
  return *index_.intern(entry, kAdd);
}

uint32_t DictionaryBuilder::thread(const std::string& name) {
  return *index_.intern_thread(name, kAdd);
}

uint32_t DictionaryBuilder::label_set(const std::string& encoded) {
  return *index_.intern_label_set(encoded, [&](uint32_t id) {
    label_values_.add(id, encoded);
    return Status();
  });
}

uint32_t DictionaryBuilder::binary(const BinaryEntry& entry) {
  return *index_.intern(entry, kAdd);
}

uint32_t DictionaryBuilder::location(const LocationEntry& entry) {
  return *index_.intern(entry, kAdd);
}

uint32_t DictionaryBuilder::stack(StackNode node) {
  return *index_.intern(node, kAdd);
}

uint32_t DictionaryBuilder::origin(const OriginEntry& entry) {
  return *index_.add(entry, kAdd);
}

}  // namespace plimsoll::store
