#include "tests/soak/raw_request.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <charconv>

#include "base/time.h"
#include "base/unique_fd.h"

namespace plimsoll::soak {
namespace {

UniqueFd connect_to(uint16_t port) {
  UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = ::htons(port);
  address.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
  const bool connects =
      fd.valid() && (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ||
                     errno == EINPROGRESS);
  return connects ? std::move(fd) : UniqueFd();
}

unsigned status_of(std::string_view answer) {
  constexpr std::string_view kVersion = "HTTP/1.1 ";
  unsigned status = 0;
  if (answer.starts_with(kVersion)) {
    std::from_chars(answer.data() + kVersion.size(), answer.data() + answer.size(), status);
  }
  return status;
}

}  // namespace

RawAnswer send_raw(uint16_t port, std::string_view bytes, bool half_closes, int64_t timeout_ms) {
  const UniqueFd fd = connect_to(port);
  const int64_t deadline_ns = monotonic_now_ns() + timeout_ms * kNsPerMs;
  RawAnswer answer;
  bool is_open = fd.valid();
  while (is_open && monotonic_now_ns() < deadline_ns && answer.text.find("\r\n\r\n") == std::string::npos) {
    pollfd polled{.fd = fd.get(), .events = POLLIN, .revents = 0};
    polled.events = static_cast<short>(POLLIN | (bytes.empty() ? 0 : POLLOUT));
    const auto left_ms = static_cast<int>((deadline_ns - monotonic_now_ns()) / kNsPerMs);
    if (::poll(&polled, 1, std::max(left_ms, 0)) <= 0) {
      break;
    }
    if ((polled.revents & POLLOUT) != 0) {
      const ssize_t sent = ::send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      bytes.remove_prefix(sent > 0 ? static_cast<size_t>(sent) : 0);
      if (bytes.empty() && half_closes) {
        ::shutdown(fd.get(), SHUT_WR);
      }
    }
    if ((polled.revents & (POLLIN | POLLHUP | POLLERR)) != 0) {
      std::array<char, 16384> buffer{};
      const ssize_t received = ::recv(fd.get(), buffer.data(), buffer.size(), 0);
      is_open = received > 0 || (received < 0 && errno == EAGAIN);
      answer.text.append(buffer.data(), received > 0 ? static_cast<size_t>(received) : 0);
    }
  }
  answer.status = status_of(answer.text);
  return answer;
}

}  // namespace plimsoll::soak
