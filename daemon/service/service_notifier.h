// Tells the service manager (systemd) how the daemon does: the protocol of sd_notify(3), which systemd promises to keep and
// permits anyone to speak. Datagrams of "KEY=value" lines go to the Unix socket that NOTIFY_SOCKET names. It is ours rather than
// libsystemd's because that is 800 KiB for one sendto().
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/unique_fd.h"

namespace plimsoll {

// One thread. Where no service manager listens, nothing is sent; one that is gone is no failure of the daemon.
class ServiceNotifier {
 public:
  using Environment = std::function<const char*(const char*)>;

  // Reads NOTIFY_SOCKET (a path, or '@' and an abstract name), and WATCHDOG_USEC where WATCHDOG_PID is this process or unset.
  explicit ServiceNotifier(const Environment& environment);

  // Started, or done with reloading.
  void ready();
  void reloading();
  void stopping();
  // One line that `systemctl status` shows.
  void status(std::string_view line);

  // To be called in every turn of the main loop, and before alive_until_ns(): a service manager that waits in vain for the
  // watchdog's sign restarts the daemon. Sends one if the time has come.
  void alive();
  // When the next call of alive() is due (monotonic); the end of time without a watchdog.
  int64_t alive_until_ns() const { return alive_at_ns_; }

 private:
  void send(std::string_view message) const;

  UniqueFd socket_;
  std::string address_;  // as in sockaddr_un; empty: none
  int64_t alive_interval_ns_ = 0;
  int64_t alive_at_ns_ = INT64_MAX;
};

}  // namespace plimsoll
