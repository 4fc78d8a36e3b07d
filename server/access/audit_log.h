// Who asked for what, and what the answer was.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "store/access/access_store.h"

namespace plimsoll::server {

// How much there may be of something.
enum class Asker : uint8_t {
  kStranger,  // any client that reaches the server
  kKnown,     // authenticated, or no authentication
  kOrderer,  // has given an order, or let a machine enrol: each is kept, and the caller sees to it that it is soon on disk
};

// Requests that differ in nothing but their time are counted together, and go to disk together, once a minute, by the server's background work:
// a flood of refused requests fills neither memory nor disk, and displaces no entries of others. Any thread may call.
class AuditLog {
 public:
  // So many different ones are told apart within a minute; all others that are new then are one entry for each status.
  static constexpr size_t kMaxOfStrangers = 300;
  static constexpr size_t kMaxOfKnown = 10'000;

  // `boot_now_ns`: a clock that cannot be set.
  explicit AuditLog(store::AccessStore store, std::function<int64_t()> boot_now_ns = plimsoll::boot_now_ns);
  AuditLog(const AuditLog&) = delete;
  AuditLog& operator=(const AuditLog&) = delete;
  // Writes.
  ~AuditLog();

  // Waits for no disk.
  void note(store::AskedFor asked, Asker asker);
  // What was noted so far is on disk when it returns. Where it fails, that is kept for the next time.
  Status write();
  // write(), and there is room for so many different requests again.
  Status end_minute();

 private:
  using Key = std::tuple<std::string, std::string, std::string, unsigned>;
  static Key key_of(const store::AskedFor& asked);
  bool has_room(Asker asker);
  void count(store::AskedFor asked);
  std::vector<store::AskedFor> take_noted();
  Status add_in_parts(std::vector<store::AskedFor> asked);

  const std::function<int64_t()> boot_now_ns_;
  std::mutex mutex_;
  std::map<Key, store::AskedFor> noted_;  // guarded by mutex_, as is the next
  std::array<size_t, 3> different_{};     // of this minute, by Asker
  std::mutex store_mutex_;
  store::AccessStore store_;  // guarded by store_mutex_
  int64_t written_ns_;        // likewise; by boot_now_ns_, what was counted as passed
};

}  // namespace plimsoll::server
