#include "http/head_check.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <string>

#include "http/ignoring_case.h"

namespace plimsoll::http {
namespace {

std::vector<std::string_view> values_of(const Request& request, std::string_view name) {
  std::vector<std::string_view> values;
  for (const auto& [header, value] : request.headers) {
    if (is_same_ignoring_case(header, name)) {
      values.push_back(value);
    }
  }
  return values;
}

Response invalid(std::string_view why) {
  return error_response(fail(ErrorCode::kInvalid, "{}", why).error());
}

Response denied(const std::string& why, const std::string& hint) {
  return error_response(with_hint(fail(ErrorCode::kDenied, "{}", why), hint).error());
}

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// A port is not part of the name: "[::1]:7070", "localhost:7070".
std::string_view without_port(std::string_view host) {
  if (host.starts_with('[')) {
    return host.substr(0, host.find(']') + 1);
  }
  return host.substr(0, host.rfind(':'));
}

bool is_address(std::string_view host) {
  std::array<unsigned char, sizeof(in6_addr)> address{};
  if (host.starts_with('[') && host.ends_with(']')) {
    return ::inet_pton(AF_INET6, std::string(host.substr(1, host.size() - 2)).c_str(), address.data()) == 1;
  }
  return ::inet_pton(AF_INET, std::string(host).c_str(), address.data()) == 1;
}

// Browsers never ask a name server for names below localhost (RFC 6761, 6.3).
bool is_localhost(std::string_view host) {
  constexpr std::string_view kBelow = ".localhost";
  return is_same_ignoring_case(host, "localhost") ||
         (host.size() > kBelow.size() &&
          is_same_ignoring_case(host.substr(host.size() - kBelow.size()), kBelow));
}

bool is_ours(std::string_view host, const std::vector<std::string>& names) {
  const std::string_view name = without_port(host);
  return is_address(name) || is_localhost(name) ||
         std::ranges::any_of(names, [&](const std::string& own) { return is_same_ignoring_case(name, own); });
}

std::optional<Response> check_length(const Request& request) {
  const auto lengths = values_of(request, "Content-Length");
  for (const std::string_view length : lengths) {
    if (!is_number(length) || length != lengths.front()) {
      return invalid("Content-Length is not a number, or there are two different ones");
    }
  }
  if (!lengths.empty() && !values_of(request, "Transfer-Encoding").empty()) {
    return invalid("Content-Length and Transfer-Encoding are both given");
  }
  return std::nullopt;
}

std::optional<Response> check_host(const Request& request, std::string_view version, const HeadRules& rules) {
  const auto hosts = values_of(request, "Host");
  if (hosts.size() > 1 || (hosts.empty() && version == "HTTP/1.1")) {
    return invalid("a request must have one Host header");
  }
  if (rules.hosts && !hosts.empty() && !is_ours(hosts.front(), *rules.hosts)) {
    return denied(fmt::format("this server is not known as {}", hosts.front()),
                  "use its address, or add the name to server.hosts");
  }
  return std::nullopt;
}

// "http://localhost:7070" is of the host "localhost:7070"; "null" is of none.
std::string_view host_of_origin(std::string_view origin) {
  const size_t scheme = origin.find("://");
  return scheme == std::string_view::npos ? std::string_view() : origin.substr(scheme + 3);
}

bool is_of_another_site(const Request& request) {
  const std::string_view site = request.header("Sec-Fetch-Site");
  const bool says_so = is_same_ignoring_case(site, "cross-site") || is_same_ignoring_case(site, "same-site");
  const auto origins = values_of(request, "Origin");
  return says_so || std::ranges::any_of(origins, [&](std::string_view origin) {
           return !is_same_ignoring_case(host_of_origin(origin), request.header("Host"));
         });
}

// Forms and scripts of any page may send these without asking first.
bool is_simple_type(std::string_view content_type) {
  const std::string_view type = content_type.substr(0, content_type.find_first_of("; "));
  return is_same_ignoring_case(type, "text/plain") ||
         is_same_ignoring_case(type, "application/x-www-form-urlencoded") ||
         is_same_ignoring_case(type, "multipart/form-data");
}

std::optional<Response> check_site(const Request& request, const HeadRules& rules) {
  if (request.method == "GET" || request.method == "HEAD") {
    return std::nullopt;
  }
  if (is_of_another_site(request)) {
    return denied("the request is from a web page of another origin", "use the command line");
  }
  if (!rules.allow_simple_types && is_simple_type(request.header("Content-Type"))) {
    return error_response(
        with_hint(
            fail(ErrorCode::kUnsupported, "content type {} is not accepted", request.header("Content-Type")),
            "set Content-Type: application/json, application/x-protobuf or application/octet-stream")
            .error());
  }
  return std::nullopt;
}

}  // namespace

std::optional<Response> refusal_of_head(const Request& request, std::string_view version,
                                        const HeadRules& rules) {
  // Left as it came by the decoder, which hands on texts that end at a zero byte.
  if (request.path.find("%00") != std::string::npos) {
    return invalid("the path has a zero byte");
  }
  auto refused = check_length(request);
  refused = refused ? std::move(refused) : check_host(request, version, rules);
  return refused ? std::move(refused) : check_site(request, rules);
}

}  // namespace plimsoll::http
