#include "bench/fleet/pests.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

namespace plimsoll::bench {
namespace {

// None where there is no port left.
UniqueFd connect_from(const char* source, uint16_t port) {
  UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const auto address_of = [](const char* text, uint16_t to_port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = ::htons(to_port);
    address.sin_addr.s_addr = ::inet_addr(text);
    return address;
  };
  const sockaddr_in from = address_of(source, 0);
  const sockaddr_in to = address_of("127.0.0.1", port);
  const bool is_bound =
      fd.valid() && ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&from), sizeof from) == 0;
  const bool connects =
      is_bound &&
      (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0 || errno == EINPROGRESS);
  return connects ? std::move(fd) : UniqueFd();
}

}  // namespace

void Pests::act() {
  for (Pest& pest : pests_) {
    if (!pest.fd.valid()) {
      pest = {connect_from(source_, port_), 0};
    }
    if (!pest.fd.valid()) {
      continue;
    }
    if (pest.sent == text_.size()) {
      char byte = 0;
      const bool has_ended = ::recv(pest.fd.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
      pest.fd = has_ended ? UniqueFd() : std::move(pest.fd);
      continue;
    }
    const size_t size = std::min(piece_bytes_, text_.size() - pest.sent);
    const ssize_t sent = ::send(pest.fd.get(), text_.data() + pest.sent, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    const bool has_ended = sent < 0 && errno != EAGAIN && errno != ENOTCONN;
    pest.sent += sent > 0 ? static_cast<size_t>(sent) : 0;
    pest.fd = has_ended ? UniqueFd() : std::move(pest.fd);
  }
}

}  // namespace plimsoll::bench
