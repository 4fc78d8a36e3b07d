// Who asked for what, and what the answer was.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "base/result.h"
#include "store/access/access_store.h"

namespace plimsoll::server {

// Requests that differ in nothing but their time are counted together, and go to disk together, once a minute: whoever asks in vain all the time
// fills neither memory nor disk. Any thread may call.
class AuditLog {
 public:
  // So many different ones are told apart within a minute; all others are one entry for each status.
  static constexpr size_t kMostDifferent = 10'000;

  explicit AuditLog(store::AccessStore store) : store_(std::move(store)) {}
  AuditLog(const AuditLog&) = delete;
  AuditLog& operator=(const AuditLog&) = delete;
  // Writes.
  ~AuditLog();

  // Every minute one of the calls writes, some milliseconds; failures to write are logged, and tried again.
  void note(store::AskedFor asked);
  // What was noted so far is on disk when it returns.
  Status write();

 private:
  using Key = std::tuple<std::string, std::string, std::string, unsigned>;
  void count(store::AskedFor asked);
  bool is_due(int64_t now_ns);

  std::mutex mutex_;
  std::map<Key, store::AskedFor> noted_;  // guarded by mutex_, as is the next
  int64_t written_ns_ = 0;
  std::mutex store_mutex_;
  store::AccessStore store_;  // guarded by store_mutex_
};

}  // namespace plimsoll::server
