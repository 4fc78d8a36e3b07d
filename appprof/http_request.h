// One HTTP/1.1 request, and the answer to it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace plimsoll::appprof {

struct Request {
  std::string method;
  std::string path;
  std::map<std::string, std::string> query;
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;

  // The number of a query parameter; `absent` without one, nothing where it is no number of at most nine digits.
  std::optional<int64_t> number(const std::string& name, int64_t absent) const;
  std::string header(const std::string& name) const;
};

struct Response {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
  std::map<std::string, std::string> headers;
};

inline Response plain_text(std::string text) {
  Response response;
  response.body = std::move(text);
  return response;
}

inline Response failed(int status, std::string words) {
  Response response = plain_text(std::move(words));
  response.status = status;
  return response;
}

// Of at most nine digits.
std::optional<int64_t> parse_number(std::string_view text);

// Lines up to the empty one; nothing where malformed.
std::optional<Request> parse_head(std::string_view head);

// Whether a Host header has a numeric address or "localhost", with or without a port.
bool is_address_or_localhost(std::string_view host);

// With `Connection: close`.
std::string write_response(const Response& response);

// "127.0.0.1:6070", "[::1]:0" or "unix:/path".
struct ListenAddress {
  std::string host;  // a numeric address; empty: a Unix socket
  int port = 0;
  std::string path;
  bool is_loopback = false;
  uint32_t mode = 0600;  // permissions of a Unix socket
};
std::optional<ListenAddress> parse_listen_address(const std::string& text);

}  // namespace plimsoll::appprof
