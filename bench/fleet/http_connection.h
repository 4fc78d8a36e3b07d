// A connection that never waits: thousands of them fit into one thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"

namespace plimsoll::bench {

// One request at a time over HTTP/1.1. Of responses it takes what the server's have: a length, not chunks.
class HttpConnection {
 public:
  // From a loopback address of the caller's choice (in host byte order) to a port of 127.0.0.1. Connecting goes on in the background.
  static Result<HttpConnection> open(uint32_t from_address, uint16_t port);

  int fd() const { return fd_.get(); }

  // Begins a request. `method_and_path` is like "POST /fleet/v1/heartbeat". The response to the one before must be there.
  void request(std::string_view method_and_path, std::string_view body);
  // Sends and receives what is possible now. Returns whether the response is there. kUnavailable: the connection is of no use any more.
  Result<bool> advance();
  bool has_unsent() const { return sent_ < outgoing_.size(); }

  unsigned status() const { return status_; }
  std::string_view body() const { return std::string_view(incoming_).substr(body_start_); }
  // The seconds of Retry-After; 0: none were said.
  int64_t retry_after_s() const { return retry_after_s_; }
  // Whether the server closes it after this response.
  bool closes() const { return closes_; }

 private:
  explicit HttpConnection(UniqueFd fd) : fd_(std::move(fd)) {}
  Status send_some();
  Status receive_some();
  Result<bool> is_complete();
  Status read_head(std::string_view head);

  UniqueFd fd_;
  std::string outgoing_;
  size_t sent_ = 0;
  std::string incoming_;
  size_t body_start_ = 0;  // 0: the head is not there yet
  size_t body_bytes_ = 0;
  unsigned status_ = 0;
  int64_t retry_after_s_ = 0;
  bool closes_ = false;
};

}  // namespace plimsoll::bench
