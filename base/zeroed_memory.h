// Memory of zeros for tables that are written to here and there.
#pragma once

#include <cstddef>

namespace plimsoll {

// Takes no memory, and no time, before it is touched: then by the huge page where it is as large as that and the kernel has them, since
// a fault costs about a microsecond, and several in a virtual machine. Ends as operator new does where there is no address space.
class ZeroedMemory {
 public:
  explicit ZeroedMemory(size_t bytes);
  ZeroedMemory(ZeroedMemory&& other) noexcept;
  ZeroedMemory& operator=(ZeroedMemory&&) = delete;
  ZeroedMemory(const ZeroedMemory&) = delete;
  ZeroedMemory& operator=(const ZeroedMemory&) = delete;
  ~ZeroedMemory();

  void* data() const { return data_; }

 private:
  void* mapping_ = nullptr;
  size_t mapped_bytes_ = 0;
  void* data_ = nullptr;
};

}  // namespace plimsoll
