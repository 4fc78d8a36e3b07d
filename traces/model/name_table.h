// Names as dense numbers: services, operations, replicas, machines, versions.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace plimsoll::traces {

// Of one name. Longer ones are cut: names that hold a query or a statement would fill the memory.
inline constexpr size_t kMaxNameBytes = 256;

// Of untrusted text, as a NameTable has it: cut to kMaxNameBytes, and printable. Of its own result it is the same.
std::string shown_name(std::string_view name);

// One thread at a time. A name is found in about 20 ns.
class NameTable {
 public:
  // ID 0 is the empty name. `what` is for errors: "operation".
  NameTable(std::string_view what, uint32_t max_names);
  // Names are referred to by address.
  NameTable(NameTable&&) = default;
  NameTable& operator=(NameTable&&) = default;
  NameTable(const NameTable&) = delete;
  NameTable& operator=(const NameTable&) = delete;
  ~NameTable() = default;

  // Of untrusted text, as shown_name() makes it, which takes much longer for text that is not so already. kTooLarge once there are `max_names`.
  Result<uint32_t> id_of(std::string_view name);

  // Borrowed for as long as the table lives.
  std::string_view name(uint32_t id) const { return names_[id]; }
  // Of the name itself, equal in every run, file and program.
  uint64_t hash(uint32_t id) const { return hashes_[id]; }
  // All IDs are below it.
  uint32_t size() const { return static_cast<uint32_t>(names_.size()); }

 private:
  uint32_t add(std::string name);

  std::string what_;
  uint32_t max_names_;
  std::deque<std::string> names_;
  std::vector<uint64_t> hashes_;
  boost::unordered_flat_map<std::string_view, uint32_t> ids_;
};

}  // namespace plimsoll::traces
