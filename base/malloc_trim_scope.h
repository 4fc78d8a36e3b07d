// Giving freed memory back to the kernel.
#pragma once

namespace plimsoll {

// At the end of its scope calls malloc_trim(): memory that was freed in it goes back to the kernel, where the allocator would have
// kept it. For work that needs much memory for a short time. Scans all heaps, each of which is locked meanwhile: some 15 ms where 100 MiB were freed, little where nothing was.
class MallocTrimScope {
 public:
  MallocTrimScope() = default;
  MallocTrimScope(const MallocTrimScope&) = delete;
  MallocTrimScope& operator=(const MallocTrimScope&) = delete;
  ~MallocTrimScope();
};

}  // namespace plimsoll
