#include "appprof/http_request.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>

namespace plimsoll::appprof {
namespace {

// Takes the part up to `end` off the front; all of it where that is missing.
std::string_view take_until(std::string_view& text, std::string_view end) {
  const size_t at = text.find(end);
  const std::string_view part = text.substr(0, at);
  text.remove_prefix(at == std::string_view::npos ? text.size() : at + end.size());
  return part;
}

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  const size_t end = text.find_last_not_of(" \t");
  return begin == std::string_view::npos ? std::string_view() : text.substr(begin, end - begin + 1);
}

const char* reason_of(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 409:
      return "Conflict";
    case 413:
      return "Content Too Large";
    case 429:
      return "Too Many Requests";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    default:
      return "Error";
  }
}

}  // namespace

std::optional<int64_t> parse_number(std::string_view text) {
  int64_t value = 0;
  if (text.empty() || text.size() > 9 || text.find_first_not_of("0123456789") != std::string_view::npos) {
    return std::nullopt;
  }
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::optional<int64_t> Request::number(const std::string& name, int64_t absent) const {
  const auto found = query.find(name);
  return found == query.end() ? absent : parse_number(found->second);
}

std::string Request::header(const std::string& name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? std::string() : found->second;
}

std::optional<Request> parse_head(std::string_view head) {
  Request request;
  std::string_view first = take_until(head, "\r\n");
  request.method = take_until(first, " ");
  std::string_view target = take_until(first, " ");
  if (request.method.empty() || !target.starts_with("/") || !first.starts_with("HTTP/1.")) {
    return std::nullopt;
  }
  request.path = take_until(target, "?");
  while (!target.empty()) {
    std::string_view pair = take_until(target, "&");
    const std::string name(take_until(pair, "="));
    request.query[name] = pair;
  }
  while (!head.empty()) {
    std::string_view line = take_until(head, "\r\n");
    if (line.empty()) {
      continue;
    }
    std::string name(take_until(line, ":"));
    std::ranges::transform(name, name.begin(), [](char c) {
      return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    request.headers[name] = trimmed(line);
  }
  return request;
}

bool is_address_or_localhost(std::string_view host) {
  if (host.starts_with("[")) {
    const std::string address(host.substr(1, std::min(host.find(']'), host.size()) - 1));
    in6_addr v6{};
    return ::inet_pton(AF_INET6, address.c_str(), &v6) == 1;
  }
  const std::string name(host.substr(0, host.find(':')));
  in_addr v4{};
  return name == "localhost" || ::inet_pton(AF_INET, name.c_str(), &v4) == 1;
}

std::string write_response(const Response& response) {
  std::string text = "HTTP/1.1 " + std::to_string(response.status) + " " + reason_of(response.status) +
                     "\r\nContent-Type: " + response.content_type +
                     "\r\nContent-Length: " + std::to_string(response.body.size()) +
                     "\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n";
  if (response.status != 200) {
    text += "X-Go-Pprof: 1\r\n";  // go tool pprof shows the words of such an error
  }
  for (const auto& [name, value] : response.headers) {
    text += name;
    text += ": ";
    text += value;
    text += "\r\n";
  }
  text += "\r\n";
  text += response.body;
  return text;
}

std::optional<ListenAddress> parse_listen_address(const std::string& text) {
  ListenAddress address;
  constexpr std::string_view kUnix = "unix:";
  if (text.starts_with(kUnix)) {
    address.path = text.substr(kUnix.size());
    address.is_loopback = true;
    // What sockaddr_un takes, with its zero.
    return address.path.starts_with("/") && address.path.size() < 108 ? std::optional(address) : std::nullopt;
  }
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos) {
    return std::nullopt;
  }
  const auto port = parse_number(std::string_view(text).substr(colon + 1));
  address.host = text.substr(0, colon);
  const bool is_bracketed = address.host.starts_with("[") && address.host.ends_with("]");
  if (is_bracketed) {
    address.host = address.host.substr(1, address.host.size() - 2);
  }
  in_addr v4{};
  in6_addr v6{};
  if (!port || *port > 65'535) {
    return std::nullopt;
  }
  address.port = static_cast<int>(*port);
  if (!is_bracketed && ::inet_pton(AF_INET, address.host.c_str(), &v4) == 1) {
    address.is_loopback = address.host.starts_with("127.");
  } else if (is_bracketed && ::inet_pton(AF_INET6, address.host.c_str(), &v6) == 1) {
    address.is_loopback = address.host == "::1";
  } else {
    return std::nullopt;
  }
  return address;
}

}  // namespace plimsoll::appprof
