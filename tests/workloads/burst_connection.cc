#include "tests/workloads/burst_connection.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/socket.h>

#include <algorithm>
#include <charconv>
#include <vector>

namespace plimsoll::testing {
namespace {

bool send_all(int fd, const void* data, size_t bytes) {
  const char* at = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t sent = ::send(fd, at, bytes, MSG_NOSIGNAL);
    if (sent <= 0) {
      return false;
    }
    at += sent;
    bytes -= static_cast<size_t>(sent);
  }
  return true;
}

bool receive_all(int fd, void* data, size_t bytes) {
  char* at = static_cast<char*>(data);
  while (bytes > 0) {
    const ssize_t received = ::recv(fd, at, bytes, 0);
    if (received <= 0) {
      return false;
    }
    at += received;
    bytes -= static_cast<size_t>(received);
  }
  return true;
}

std::optional<sockaddr_in> address_of(const std::string& ip, uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  return ::inet_pton(AF_INET, ip.c_str(), &address.sin_addr) == 1 ? std::optional(address) : std::nullopt;
}

UniqueFd new_socket() {
  return UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
}

// A frame must not wait for an acknowledgement.
void send_at_once(const UniqueFd& fd) {
  const int yes = 1;
  ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

}  // namespace

bool Connection::send(const ShopFrame& frame, uint32_t payload_bytes) {
  static const std::vector<char> zeros(size_t{64} << 10);
  bool is_sent = send_all(fd_.get(), &frame, sizeof frame);
  for (size_t left = payload_bytes; is_sent && left > 0;) {
    const size_t piece = std::min(left, zeros.size());
    is_sent = send_all(fd_.get(), zeros.data(), piece);
    left -= piece;
  }
  return is_sent;
}

bool Connection::receive(ShopFrame& frame) {
  return receive_all(fd_.get(), &frame, sizeof frame);
}

bool Connection::skip(uint32_t bytes) {
  thread_local std::vector<char> buffer(size_t{64} << 10);
  bool is_received = true;
  for (size_t left = bytes; is_received && left > 0;) {
    const size_t piece = std::min(left, buffer.size());
    is_received = receive_all(fd_.get(), buffer.data(), piece);
    left -= piece;
  }
  return is_received;
}

void Connection::shut_down() const {
  ::shutdown(fd_.get(), SHUT_RDWR);
}

Listener listen_at(const std::string& ip) {
  constexpr int kBacklog = 64;
  Listener listener{new_socket()};
  const auto address = address_of(ip, 0);
  const bool is_bound = address && ::bind(listener.fd.get(), reinterpret_cast<const sockaddr*>(&*address),
                                          sizeof *address) == 0;
  return is_bound && ::listen(listener.fd.get(), kBacklog) == 0 ? std::move(listener) : Listener{};
}

uint16_t port_of(const Listener& listener) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  return ::getsockname(listener.fd.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0
             ? ntohs(address.sin_port)
             : uint16_t{0};
}

std::optional<Connection> accept_from(const Listener& listener) {
  UniqueFd fd(::accept4(listener.fd.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!fd.valid()) {
    return std::nullopt;
  }
  send_at_once(fd);
  return Connection(std::move(fd));
}

void stop_listening(const Listener& listener) {
  ::shutdown(listener.fd.get(), SHUT_RDWR);
}

std::optional<Connection> connect_to(const std::string& address) {
  const size_t colon = address.find(':');
  if (colon == std::string::npos) {
    return std::nullopt;
  }
  uint16_t port = 0;
  std::from_chars(address.data() + colon + 1, address.data() + address.size(), port);
  const auto to = address_of(address.substr(0, colon), port);
  UniqueFd fd = new_socket();
  if (!to || ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&*to), sizeof *to) != 0) {
    return std::nullopt;
  }
  send_at_once(fd);
  return Connection(std::move(fd));
}

void stay_on_two_cpus() {
  cpu_set_t all;
  cpu_set_t two;
  CPU_ZERO(&two);
  if (::sched_getaffinity(0, sizeof all, &all) != 0) {
    return;
  }
  for (size_t cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&two) < 2; ++cpu) {
    if (CPU_ISSET(cpu, &all)) {
      CPU_SET(cpu, &two);
    }
  }
  ::sched_setaffinity(0, sizeof two, &two);
}

}  // namespace plimsoll::testing
