// TCP connections and frames of burst_shop. A failed connection is one that its peer has ended.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/unique_fd.h"

namespace plimsoll::testing {

enum class ShopCall : uint32_t {
  kGetItem,
  kSearchIndex,
  kListItem,
  kRefresh,
  kRead,
  kGetProperty,
  kGetProperties
};

// A request; its reply has the same, and `bytes` follow it.
struct ShopFrame {
  uint64_t request = 0;
  uint64_t span = 0;
  uint64_t block = 0;
  ShopCall call = ShopCall::kGetItem;
  uint32_t bytes = 0;
};

// One thread, but for shut_down().
class Connection {
 public:
  Connection() = default;
  explicit Connection(UniqueFd fd) : fd_(std::move(fd)) {}

  // With so many zeros behind it.
  bool send(const ShopFrame& frame, uint32_t payload_bytes);
  bool receive(ShopFrame& frame);
  bool skip(uint32_t bytes);
  // Ends what another thread waits for.
  void shut_down() const;

 private:
  UniqueFd fd_;
};

struct Listener {
  UniqueFd fd;
};

// At a free port of an IPv4 address.
Listener listen_at(const std::string& ip);
// 0: it does not listen.
uint16_t port_of(const Listener& listener);
// Nothing once it is stopped.
std::optional<Connection> accept_from(const Listener& listener);
void stop_listening(const Listener& listener);
// "127.0.0.1:80".
std::optional<Connection> connect_to(const std::string& address);

// So that threads wait for CPUs on machines with many, too.
void stay_on_two_cpus();

}  // namespace plimsoll::testing
