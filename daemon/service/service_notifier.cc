#include "daemon/service/service_notifier.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <charconv>
#include <cstddef>
#include <cstring>
#include <optional>

#include "base/time.h"

namespace plimsoll {
namespace {

std::string_view text_of(const ServiceNotifier::Environment& environment, const char* name) {
  const char* const value = environment(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

std::optional<int64_t> number_of(std::string_view text) {
  int64_t number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_number = parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
  return is_number && number > 0 ? std::optional(number) : std::nullopt;
}

// A third of what the service manager waits; 0: it does not.
int64_t alive_interval_ns(const ServiceNotifier::Environment& environment) {
  const std::string_view watched = text_of(environment, "WATCHDOG_PID");
  const auto interval_us = number_of(text_of(environment, "WATCHDOG_USEC"));
  int64_t interval_ns = 0;
  if (!interval_us || (!watched.empty() && number_of(watched) != ::getpid()) ||
      __builtin_mul_overflow(*interval_us, int64_t{1000}, &interval_ns)) {
    return 0;
  }
  return interval_ns / 3;
}

}  // namespace

ServiceNotifier::ServiceNotifier(const Environment& environment)
    : socket_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)),
      address_(text_of(environment, "NOTIFY_SOCKET")),
      alive_interval_ns_(alive_interval_ns(environment)) {
  const bool is_address = address_.size() > 1 && address_.size() < sizeof(sockaddr_un::sun_path) &&
                          (address_[0] == '/' || address_[0] == '@');
  if (!is_address) {
    address_.clear();
  } else if (address_[0] == '@') {
    address_[0] = '\0';
  }
  // A service manager that is slow to read must not miss that we are ready; one that does not read must not stop us.
  constexpr timeval kLongestWait{1, 0};
  ::setsockopt(socket_.get(), SOL_SOCKET, SO_SNDTIMEO, &kLongestWait, sizeof kLongestWait);
  if (alive_interval_ns_ > 0 && !address_.empty()) {
    alive_at_ns_ = 0;
  }
}

void ServiceNotifier::send(std::string_view message) const {
  if (address_.empty()) {
    return;
  }
  sockaddr_un target{};
  target.sun_family = AF_UNIX;
  std::memcpy(&target.sun_path, address_.data(), address_.size());
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address_.size());
  ::sendto(socket_.get(), message.data(), message.size(), MSG_NOSIGNAL,
           reinterpret_cast<const sockaddr*>(&target), length);
}

void ServiceNotifier::ready() {
  send("READY=1");
}

void ServiceNotifier::reloading() {
  send(fmt::format("RELOADING=1\nMONOTONIC_USEC={}", monotonic_now_ns() / 1000));
}

void ServiceNotifier::stopping() {
  send("STOPPING=1");
}

void ServiceNotifier::status(std::string_view line) {
  send(fmt::format("STATUS={}", line.substr(0, line.find('\n'))));
}

void ServiceNotifier::alive() {
  const int64_t now_ns = monotonic_now_ns();
  if (now_ns >= alive_at_ns_) {
    send("WATCHDOG=1");
    alive_at_ns_ = now_ns + alive_interval_ns_;
  }
}

}  // namespace plimsoll
