// TLS for connections that never wait.
#pragma once

#include <sys/types.h>

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace plimsoll::bench {

// Whom the clients of a benchmark trust.
class TlsTrust {
 public:
  // A file of certificates, in PEM.
  static Result<std::shared_ptr<TlsTrust>> load(const std::string& path);
  TlsTrust(const TlsTrust&) = delete;
  TlsTrust& operator=(const TlsTrust&) = delete;
  ~TlsTrust();

 private:
  friend class TlsSession;
  TlsTrust() = default;

  void* credentials_ = nullptr;  // gnutls_certificate_credentials_t
};

// A client's side of one connection. What is sent and received returns what the system calls of those names would: bytes, 0 at the end, or -1 and
// errno, EAGAIN where it would wait.
class TlsSession {
 public:
  // Over a connected, or connecting, socket to 127.0.0.1, which stays the caller's.
  static Result<TlsSession> create(std::shared_ptr<TlsTrust> trust, int fd);

  // After EAGAIN the same bytes are to be given again.
  ssize_t send(std::string_view bytes);
  ssize_t receive(std::span<char> buffer);

 private:
  struct Free {
    void operator()(void* session) const;
  };
  TlsSession(std::shared_ptr<TlsTrust> trust, void* session) : trust_(std::move(trust)), session_(session) {}
  bool shake_hands();

  std::shared_ptr<TlsTrust> trust_;
  std::unique_ptr<void, Free> session_;  // a gnutls_session_t
  bool has_shaken_hands_ = false;
};

}  // namespace plimsoll::bench
