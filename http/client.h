// The one way out: an HTTP client on libcurl that keeps its connection between requests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"
#include "http/message.h"

namespace plimsoll::http {

// A client's credentials, and the trusted authorities. All empty: no credentials, and the machine's trust store.
struct Credentials {
  std::string token = {};
  // Files in PEM; they are read when a connection begins.
  std::string ca = {};  // who signs servers' certificates, in place of those that this machine trusts
  std::string certificate = {};
  std::string key = {};
  // Of S3, in place of a token: libcurl signs each request with them (AWS Signature Version 4). Such a request needs a header
  // x-amz-content-sha256 (http/sha256.h), a content type where it has a body, and a query that is encoded and sorted by key.
  std::string access_key_id = {};  // empty: requests are not signed
  std::string secret_access_key = {};
  std::string region = {};
};

struct ClientOptions {
  // "127.0.0.1:7071", "http://host:port" or "https://host/prefix". Without a scheme it is https:// where the credentials name certificates,
  // else http://; with certificates http:// is kInvalid.
  std::string base_url;
  int64_t connect_timeout_ms = 5000;
  int64_t timeout_ms = 60000;  // of a whole request
  // A connection ends once the other machine has acknowledged nothing for so long, be it what was sent or a probe of its kernel while an answer
  // is waited for, and once it has taken nothing of a body for so long. That happens where the network drops all packets; a server that works on
  // its answer acknowledges meanwhile. Probes are whole seconds apart. 0: timeout_ms alone.
  int64_t silence_timeout_ms = 0;
  size_t max_response_bytes = 64UL << 20;
  int cancel_fd = -1;  // readable: give up the request under way, within about a second
  // False: each request has a connection of its own. libcurl sends a request again where a connection that it reuses turns out to be dead, though
  // the server may have taken the first one: not for what must not be done twice.
  bool reuses_connections = true;
  // A request ends within about a second of check_stop() (base/stop_scope.h) failing for the calling thread, with that error.
  bool ends_with_stop_scope = false;
  // Opens each connection in place of libcurl: a stream socket that is connected, to a Unix socket say. The URL is then only what the
  // request says (its host is numeric, and there is a route to it), and no proxy is used. Called in the thread of the request; an error
  // ends the request, and is returned. Give reuses_connections = false with it where what a connection leads to is checked when it is
  // opened.
  std::function<Result<UniqueFd>()> open_connection = {};
  Credentials credentials = {};
};

// Of a body that does not go to the sink of Client::receive(): the words of a refusal.
inline constexpr size_t kMaxBytesBesideSink = 64UL << 10;

struct StreamOptions {
  std::string_view content_type = "application/octet-stream";
  Fields further_headers = {};
  int64_t max_bytes_per_second = 0;  // on average; 0: no limit
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

  // As send() of a GET, for an answer that is too large for memory: the body of a 200 goes to `sink` while it arrives, and is not in the
  // response; another body has at most kMaxBytesBesideSink, or the answer is kTooLarge. An error of the sink ends the request, and is returned.
  Result<Response> receive(std::string_view path_and_query, BodySink& sink,
                           const Fields& further_headers = {});

  // As send() of a PUT, with a body that is too large for memory, whose size need not be known. The server is asked before anything is sent, and
  // a refusal may come at any time. An error of the source ends the request, and is returned.
  Result<Response> send_stream(std::string_view path_and_query, BodySource& source, const StreamOptions& how);

 private:
  struct Sent {
    std::string_view method;
    std::string_view path_and_query;
    std::string_view body = {};
    std::string_view content_type = {};
    BodySource* source = nullptr;  // in place of `body`
    int64_t max_bytes_per_second = 0;
  };
  Result<Response> exchange(const Sent& sent, const Fields& further_headers, BodySink* sink);

  struct HandleDeleter {
    void operator()(void* handle) const;
  };

  ClientOptions options_;
  std::unique_ptr<void, HandleDeleter> handle_;
};

// Whether requests to that address (ClientOptions::base_url) leave this machine unencrypted, and tokens with them.
bool is_unencrypted(std::string_view base_url, const Credentials& credentials);

// Everything but letters, digits and "-._~" as %XX: for one path segment, query key or value.
std::string url_encode(std::string_view text);

}  // namespace plimsoll::http
