// A connection that never waits: thousands of them fit into one thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"
#include "bench/fleet/tls_session.h"

namespace plimsoll::bench {

struct Answer {
  unsigned status = 0;
  std::string body;
  int64_t retry_after_s = 0;  // 0: it was not said
};

// One request at a time over HTTP/1.1. Of responses it takes what the server's have: a length, not chunks.
class HttpConnection {
 public:
  // From a loopback address of the caller's choice (in host byte order) to a port of 127.0.0.1, over TLS unless `trust` is null. Connecting
  // goes on in the background.
  static Result<HttpConnection> open(uint32_t from_address, uint16_t port,
                                     const std::shared_ptr<TlsTrust>& trust = nullptr);

  int fd() const { return fd_.get(); }

  // Begins a request. `method_and_path` is like "POST /fleet/v1/heartbeat", each of the headers ends with "\r\n"; `body` is to stay until the
  // response is there. That to the request before must be.
  void request(std::string_view method_and_path, std::string_view headers, std::string_view body);
  // Sends and receives what is possible now. Returns whether the response is there. kUnavailable: the connection is of no use any more.
  Result<bool> advance();

  Answer answer() const { return {status_, incoming_.substr(body_start_), retry_after_s_}; }
  // Whether the server closes it after this response.
  bool closes() const { return closes_; }

 private:
  HttpConnection(UniqueFd fd, std::optional<TlsSession> tls) : fd_(std::move(fd)), tls_(std::move(tls)) {}
  Status send_some();
  ssize_t send_once();
  ssize_t receive_once(std::span<char> buffer);
  Status receive_some();
  Result<bool> is_complete();
  Status read_head(std::string_view head);

  UniqueFd fd_;
  std::optional<TlsSession> tls_;
  std::string head_;  // over TLS with the body
  std::string_view body_;
  size_t sent_ = 0;  // of both
  std::string incoming_;
  size_t body_start_ = 0;  // 0: the head is not there yet
  size_t body_bytes_ = 0;
  unsigned status_ = 0;
  int64_t retry_after_s_ = 0;
  bool closes_ = false;
};

}  // namespace plimsoll::bench
