// Which of the hosts of an address statements go to.
#pragma once

#include <atomic>
#include <cstddef>

namespace plimsoll::store::clickhouse {

// Hosts by their place in the address. Shared by connections, so that one that finds a host failing spares the others the wait. Any thread.
class HostChoice {
 public:
  explicit HostChoice(size_t hosts) : hosts_(hosts) {}
  HostChoice(const HostChoice&) = delete;
  HostChoice& operator=(const HostChoice&) = delete;
  ~HostChoice() = default;

  size_t current() const { return current_; }

  // This host fails: statements go to the next one from now on, unless they have left this one already. A host that has answered stays the
  // choice until it fails itself.
  void leave(size_t host) { current_.compare_exchange_strong(host, (host + 1) % hosts_); }

 private:
  const size_t hosts_;
  std::atomic<size_t> current_ = 0;
};

}  // namespace plimsoll::store::clickhouse
