#include "http/address.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <optional>

namespace plimsoll::http {
namespace {

struct HostPort {
  std::string host;
  std::string port;
};

using AddressList = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

std::optional<HostPort> split_address(std::string_view address) {
  const size_t colon = address.rfind(':');
  if (colon == std::string_view::npos) {
    return std::nullopt;
  }
  std::string_view host = address.substr(0, colon);
  const std::string_view port = address.substr(colon + 1);
  uint16_t number = 0;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
  if (error != std::errc() || end != port.data() + port.size()) {
    return std::nullopt;
  }
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return std::nullopt;
  }
  if (host.empty() || host.find('\0') != std::string_view::npos) {
    return std::nullopt;
  }
  return HostPort{std::string(host), std::string(port)};
}

Result<AddressList> resolve(const std::string& address) {
  const auto parts = split_address(address);
  if (!parts) {
    return with_hint(fail(ErrorCode::kInvalid, "listening on '{}': not an address", address),
                     "write HOST:PORT, such as 127.0.0.1:7070 or [::1]:7070");
  }
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(parts->host.c_str(), parts->port.c_str(), &wanted, &found);
  if (error != 0) {
    return with_hint(fail(ErrorCode::kInvalid, "listening on {}: {}", address, ::gai_strerror(error)),
                     "use an address of this machine");
  }
  return AddressList(found, &::freeaddrinfo);
}

bool is_loopback(const sockaddr* address) {
  constexpr uint32_t kLoopbackNet = 127;
  if (address->sa_family == AF_INET) {
    return ::ntohl(reinterpret_cast<const sockaddr_in*>(address)->sin_addr.s_addr) >> 24 == kLoopbackNet;
  }
  if (address->sa_family != AF_INET6) {
    return false;
  }
  const in6_addr& ip = reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr;
  return IN6_IS_ADDR_LOOPBACK(&ip) || (IN6_IS_ADDR_V4MAPPED(&ip) && ip.s6_addr[12] == kLoopbackNet);
}

// To where listening is permitted.
Result<AddressList> resolve_to_listen(const std::string& address, bool allow_beyond_loopback) {
  auto target = resolve(address);
  if (target && !allow_beyond_loopback && !is_loopback((*target)->ai_addr)) {
    return with_hint(
        fail(ErrorCode::kDenied,
             "listening on {}: refused, other machines could reach it without authentication", address),
        "bind to 127.0.0.1 or [::1], configure authentication ([[access.tokens]] or access.machine_ca), or "
        "set access.allow_unauthenticated = true to run without it");
  }
  return target;
}

Status bind_and_listen(int fd, const addrinfo& target, const std::string& address) {
  const int on = 1;
  // Restarting must not wait for old connections in TIME_WAIT.
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (::bind(fd, target.ai_addr, target.ai_addrlen) != 0 || ::listen(fd, SOMAXCONN) != 0) {
    const int error_number = errno;
    auto failure = fail_errno(error_number, "listening on {}", address);
    if (error_number == EADDRINUSE) {
      failure.error().code = ErrorCode::kConflict;
      return with_hint(std::move(failure), "another program has this port: stop it or choose another port");
    }
    return with_hint(std::move(failure), "use an address of this machine and a port that this user may bind");
  }
  return {};
}

uint16_t port_of(const sockaddr_storage& address) {
  const bool v6 = address.ss_family == AF_INET6;
  return ::ntohs(v6 ? reinterpret_cast<const sockaddr_in6*>(&address)->sin6_port
                    : reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
}

}  // namespace

std::string text_of(const sockaddr* address) {
  char ip[INET6_ADDRSTRLEN] = {};
  if (address->sa_family == AF_INET) {
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(address);
    ::inet_ntop(AF_INET, &v4->sin_addr, ip, sizeof(ip));
    return fmt::format("{}:{}", ip, ::ntohs(v4->sin_port));
  }
  if (address->sa_family == AF_INET6) {
    const auto* v6 = reinterpret_cast<const sockaddr_in6*>(address);
    ::inet_ntop(AF_INET6, &v6->sin6_addr, ip, sizeof(ip));
    return fmt::format("[{}]:{}", ip, ::ntohs(v6->sin6_port));
  }
  return {};
}

Status check_listening(const std::string& address, bool allow_beyond_loopback) {
  const auto target = resolve_to_listen(address, allow_beyond_loopback);
  return target ? Status() : propagate(target);
}

Result<ListeningSocket> listen_on(const std::string& address, bool allow_beyond_loopback) {
  const auto target = resolve_to_listen(address, allow_beyond_loopback);
  if (!target) {
    return propagate(target);
  }
  UniqueFd fd(::socket((*target)->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) {
    return fail_errno(errno, "listening on {}: creating a socket", address);
  }
  if (const auto bound = bind_and_listen(fd.get(), **target, address); !bound) {
    return propagate(bound);
  }
  sockaddr_storage actual{};
  socklen_t size = sizeof(actual);
  auto* const actual_address = reinterpret_cast<sockaddr*>(&actual);
  if (::getsockname(fd.get(), actual_address, &size) != 0) {
    return fail_errno(errno, "listening on {}: reading the address", address);
  }
  return ListeningSocket{std::move(fd), text_of(actual_address), port_of(actual),
                         is_loopback(actual_address)};
}

}  // namespace plimsoll::http
