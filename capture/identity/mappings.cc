#include "capture/identity/mappings.h"

namespace plimsoll::identity {

void Mappings::add(const Mapping& mapping) {
  if (mapping.end <= mapping.start) {
    return;
  }
  auto at = by_start_.lower_bound(mapping.start);
  if (at != by_start_.begin()) {
    const auto before = std::prev(at);
    const Mapping old = before->second;
    if (old.end > mapping.start) {
      before->second.end = mapping.start;
      if (old.end > mapping.end) {
        by_start_[mapping.end] = {mapping.end, old.end, old.file_offset + (mapping.end - old.start),
                                  old.binary};
      }
    }
  }
  while (at != by_start_.end() && at->second.start < mapping.end) {
    Mapping old = at->second;
    at = by_start_.erase(at);
    if (old.end > mapping.end) {
      old.file_offset += mapping.end - old.start;
      old.start = mapping.end;
      by_start_[old.start] = old;
    }
  }
  by_start_[mapping.start] = mapping;
}

const Mapping* Mappings::find(uint64_t address) const {
  const auto after = by_start_.upper_bound(address);
  if (after == by_start_.begin()) {
    return nullptr;
  }
  const Mapping& mapping = std::prev(after)->second;
  return address < mapping.end ? &mapping : nullptr;
}

}  // namespace plimsoll::identity
