#include "bench/fleet/http_connection.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <utility>

namespace plimsoll::bench {
namespace {

constexpr std::string_view kEndOfHead = "\r\n\r\n";

sockaddr_in loopback(uint32_t address, uint16_t port) {
  sockaddr_in result{};
  result.sin_family = AF_INET;
  result.sin_port = ::htons(port);
  result.sin_addr.s_addr = ::htonl(address);
  return result;
}

bool would_wait() {
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOTCONN || errno == EINPROGRESS;
}

Status lost(std::string_view doing) {
  return fail(ErrorCode::kUnavailable, "{} a simulated daemon's connection: {}", doing,
              std::generic_category().message(errno));
}

// The value of a header that servers write the way ours does: "Name: value".
std::string_view header(std::string_view head, std::string_view name) {
  const std::string line_start = fmt::format("\r\n{}: ", name);
  const size_t start = head.find(line_start);
  if (start == std::string_view::npos) {
    return {};
  }
  const std::string_view rest = head.substr(start + line_start.size());
  return rest.substr(0, rest.find("\r\n"));
}

template <typename Number>
bool parse(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

Result<HttpConnection> HttpConnection::open(uint32_t from_address, uint16_t port,
                                            const std::shared_ptr<TlsTrust>& trust) {
  UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) {
    return fail_errno(errno, "opening a socket for a simulated daemon");
  }
  const int on = 1;
  // With the port left to connect(), each address has all of them.
  ::setsockopt(fd.get(), IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof(on));
  ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  const sockaddr_in from = loopback(from_address, 0);
  const sockaddr_in to = loopback(INADDR_LOOPBACK, port);
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&from), sizeof(from)) != 0) {
    return fail_errno(errno, "binding a simulated daemon to its address");
  }
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof(to)) != 0 && !would_wait()) {
    return std::unexpected(lost("opening").error());
  }
  std::optional<TlsSession> tls;
  if (trust != nullptr) {
    auto session = TlsSession::create(trust, fd.get());
    if (!session) {
      return propagate(session);
    }
    tls = std::move(*session);
  }
  return HttpConnection(std::move(fd), std::move(tls));
}

void HttpConnection::request(std::string_view method_and_path, std::string_view headers,
                             std::string_view body) {
  head_ = fmt::format("{} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {}\r\n{}\r\n", method_and_path,
                      body.size(), headers);
  body_ = body;
  if (tls_) {
    head_ += std::exchange(body_, {});  // in one record where there is room
  }
  sent_ = 0;
  incoming_.clear();
  body_start_ = 0;
}

Result<bool> HttpConnection::advance() {
  if (auto sent = send_some(); !sent) {
    return propagate(sent);
  }
  if (auto received = receive_some(); !received) {
    return propagate(received);
  }
  return is_complete();
}

// Head and body leave together, without a copy of both in one piece.
ssize_t HttpConnection::send_once() {
  const std::string_view head = std::string_view(head_).substr(std::min(sent_, head_.size()));
  if (tls_) {
    return tls_->send(head);
  }
  const std::string_view body = body_.substr(sent_ - (head_.size() - head.size()));
  std::array<iovec, 2> parts{
      {{const_cast<char*>(head.data()), head.size()}, {const_cast<char*>(body.data()), body.size()}}};
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  return ::sendmsg(fd_.get(), &message, MSG_NOSIGNAL);
}

Status HttpConnection::send_some() {
  while (sent_ < head_.size() + body_.size()) {
    const ssize_t sent = send_once();
    if (sent < 0) {
      // A server may answer, and close, before it has heard all.
      return would_wait() || errno == EPIPE || errno == ECONNRESET ? Status() : lost("sending over");
    }
    sent_ += static_cast<size_t>(sent);
  }
  return {};
}

ssize_t HttpConnection::receive_once(std::span<char> buffer) {
  return tls_ ? tls_->receive(buffer) : ::recv(fd_.get(), buffer.data(), buffer.size(), 0);
}

Status HttpConnection::receive_some() {
  std::array<char, 16 << 10> buffer;
  while (true) {
    const ssize_t size = receive_once(buffer);
    if (size < 0) {
      return would_wait() ? Status() : lost("receiving over");
    }
    if (size == 0) {
      closes_ = true;
      return {};
    }
    incoming_.append(buffer.data(), static_cast<size_t>(size));
  }
}

Result<bool> HttpConnection::is_complete() {
  if (body_start_ == 0) {
    const size_t end = incoming_.find(kEndOfHead);
    if (end == std::string::npos) {
      return closes_
                 ? Result<bool>(fail(ErrorCode::kUnavailable,
                                     "the server closed a simulated daemon's connection before it answered"))
                 : false;
    }
    if (auto read = read_head(std::string_view(incoming_).substr(0, end + 2)); !read) {
      return propagate(read);
    }
    body_start_ = end + kEndOfHead.size();
  }
  return incoming_.size() >= body_start_ + body_bytes_;
}

Status HttpConnection::read_head(std::string_view head) {
  const size_t space = head.find(' ');
  retry_after_s_ = 0;
  parse(header(head, "Retry-After"), retry_after_s_);
  closes_ = closes_ || header(head, "Connection") == "close";
  if (space == std::string_view::npos || !parse(head.substr(space + 1, 3), status_) ||
      !parse(header(head, "Content-Length"), body_bytes_)) {
    return fail(ErrorCode::kCorrupt, "this is no head of a response: {}", head);
  }
  return {};
}

}  // namespace plimsoll::bench
