// The one way out: an HTTP client on libcurl that keeps its connection between requests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "http/message.h"

namespace plimsoll::http {

// A client's credentials, and the trusted authorities. All empty: no credentials, and the machine's trust store.
struct Credentials {
  std::string token = {};
  // Files in PEM; they are read when a connection begins.
  std::string ca = {};  // who signs servers' certificates, in place of those that this machine trusts
  std::string certificate = {};
  std::string key = {};
};

struct ClientOptions {
  // "127.0.0.1:7071", "http://host:port" or "https://host/prefix". Without a scheme it is https:// where the credentials name certificates,
  // else http://; with certificates http:// is kInvalid.
  std::string base_url;
  int64_t connect_timeout_ms = 5000;
  int64_t timeout_ms = 60000;  // of a whole request
  size_t max_response_bytes = 64UL << 20;
  int cancel_fd = -1;  // readable: give up the request under way, within about a second
  Credentials credentials = {};
};

// For one thread at a time; movable. Follows no redirect. Uses the proxies of the environment, but never for
// loopback.
class Client {
 public:
  explicit Client(ClientOptions options);

  // Sends one request and waits. Any status is a Response; an Error means that there is none: kUnavailable
  // where trying later may help or the request was cancelled, kTooLarge past max_response_bytes, kInvalid for a URL, method or type that
  // cannot be sent. `path_and_query` begins with '/' and is already encoded (url_encode()).
  Result<Response> send(std::string_view method, std::string_view path_and_query, std::string_view body = {},
                        std::string_view content_type = {}, const Fields& further_headers = {});

 private:
  struct HandleDeleter {
    void operator()(void* handle) const;
  };

  ClientOptions options_;
  std::unique_ptr<void, HandleDeleter> handle_;
};

// Everything but letters, digits and "-._~" as %XX: for one path segment, query key or value.
std::string url_encode(std::string_view text);

}  // namespace plimsoll::http
