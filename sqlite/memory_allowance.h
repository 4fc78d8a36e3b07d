// Bounds what SQLite takes for one statement: a short one can make its parser build a gigabyte (twenty common table expressions, each
// of which names the one before twice), where no handler of SQLite's is asked.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/stop_check.h"

namespace plimsoll::sqlite {

// While it lives, SQLite gets at most so many bytes on this thread, and none once `check` fails, so that what it does ends with
// SQLITE_NOMEM. One at a time on a thread; `check` must outlive it.
class MemoryAllowance {
 public:
  MemoryAllowance(size_t bytes, const StopCheck& check);
  ~MemoryAllowance();
  MemoryAllowance(const MemoryAllowance&) = delete;
  MemoryAllowance& operator=(const MemoryAllowance&) = delete;

  // Puts itself between SQLite and its allocator. Before the first use of SQLite in a process, and again to no effect.
  static void install();

 private:
  friend struct AllowanceHooks;
  bool take(size_t bytes);
  void give_back(size_t bytes) { used_bytes_ -= static_cast<int64_t>(bytes); }

  int64_t max_bytes_;
  int64_t used_bytes_ = 0;  // below 0 where what was there before went
  const StopCheck& check_;
  uint32_t until_check_;
  bool is_over_ = false;
};

}  // namespace plimsoll::sqlite
