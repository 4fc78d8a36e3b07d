#include "sqlite/memory_allowance.h"

#include <sqlite3.h>

#include <algorithm>
#include <mutex>

#include "base/log.h"

namespace plimsoll::sqlite {
namespace {

constexpr uint32_t kAllocationsBetweenChecks = 1024;

thread_local MemoryAllowance* allowance = nullptr;  // of the statement that this thread answers

sqlite3_mem_methods allocator;  // SQLite's own; written once

}  // namespace

struct AllowanceHooks {
  static void* allocate(int bytes) {
    if (allowance != nullptr && !allowance->take(static_cast<size_t>(bytes))) {
      return nullptr;
    }
    void* const memory = allocator.xMalloc(bytes);
    if (memory == nullptr && allowance != nullptr) {
      allowance->give_back(static_cast<size_t>(bytes));
    }
    return memory;
  }

  static void release(void* memory) {
    if (allowance != nullptr && memory != nullptr) {
      allowance->give_back(static_cast<size_t>(allocator.xSize(memory)));
    }
    allocator.xFree(memory);
  }

  static void* reallocate(void* memory, int bytes) {
    const int before = allocator.xSize(memory);
    if (allowance != nullptr && bytes > before && !allowance->take(static_cast<size_t>(bytes - before))) {
      return nullptr;
    }
    void* const moved = allocator.xRealloc(memory, bytes);
    const bool is_smaller = moved != nullptr && bytes < before;
    if (allowance != nullptr && (is_smaller || moved == nullptr)) {
      allowance->give_back(static_cast<size_t>(is_smaller ? before - bytes : std::max(0, bytes - before)));
    }
    return moved;
  }
};

MemoryAllowance::MemoryAllowance(size_t bytes, const StopCheck& check)
    : max_bytes_(static_cast<int64_t>(bytes)), check_(check), until_check_(kAllocationsBetweenChecks) {
  allowance = this;
}

MemoryAllowance::~MemoryAllowance() {
  allowance = nullptr;
}

bool MemoryAllowance::take(size_t bytes) {
  --until_check_;
  if (until_check_ == 0) {
    until_check_ = kAllocationsBetweenChecks;
    is_over_ = is_over_ || (check_ && !check_());
  }
  if (is_over_ || used_bytes_ + static_cast<int64_t>(bytes) > max_bytes_) {
    return false;
  }
  used_bytes_ += static_cast<int64_t>(bytes);
  return true;
}

void MemoryAllowance::install() {
  static std::once_flag installed;
  std::call_once(installed, [] {
    ::sqlite3_config(SQLITE_CONFIG_GETMALLOC, &allocator);
    sqlite3_mem_methods ours = allocator;
    ours.xMalloc = AllowanceHooks::allocate;
    ours.xFree = AllowanceHooks::release;
    ours.xRealloc = AllowanceHooks::reallocate;
    if (const int code = ::sqlite3_config(SQLITE_CONFIG_MALLOC, &ours); code != SQLITE_OK) {
      log_error("SQLite's memory is not bounded: {}", ::sqlite3_errstr(code));
    }
  });
}

}  // namespace plimsoll::sqlite
