// Memory that is needed for a moment only.
#pragma once

namespace plimsoll {

// At the end of its scope what was freed there goes back to the kernel, which the allocator would keep for the next time. Looks through
// all heaps, each of which is locked meanwhile: some 15 ms where 100 MiB were freed, little where nothing was.
class MemoryGivenBack {
 public:
  MemoryGivenBack() = default;
  MemoryGivenBack(const MemoryGivenBack&) = delete;
  MemoryGivenBack& operator=(const MemoryGivenBack&) = delete;
  ~MemoryGivenBack();
};

}  // namespace plimsoll
