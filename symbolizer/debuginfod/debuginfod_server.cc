#include "symbolizer/debuginfod/debuginfod_server.h"

#include <algorithm>
#include <cctype>

#include "base/printable.h"

namespace plimsoll::symbolizer {
namespace {

constexpr size_t kMaxServerUrlBytes = 1024;
constexpr size_t kMaxServers = 16;

bool has_url_scheme(std::string_view url) {
  return url.starts_with("http://") || url.starts_with("https://");
}

// Up to where a URL names scheme, host and port.
size_t origin_bytes(std::string_view url) {
  return std::min(url.find('/', url.find("://") + 3), url.size());
}

std::string in_lower_case(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return lower;
}

bool has_server(const std::vector<DebuginfodServer>& servers, std::string DebuginfodServer::* part,
                const std::string& text) {
  return std::ranges::find(servers, text, part) != servers.end();
}

std::optional<DebuginfodServer> parse_server(std::string_view url) {
  while (url.ends_with('/')) {
    url.remove_suffix(1);
  }
  const bool is_visible = std::ranges::all_of(url, [](unsigned char c) { return c > ' ' && c < 0x7f; });
  if (!has_url_scheme(url) || !is_visible || url.size() > kMaxServerUrlBytes ||
      url.find_first_of("?#@\\\"<>") != std::string_view::npos) {
    return std::nullopt;
  }
  const std::string origin = in_lower_case(url.substr(0, origin_bytes(url)));
  if (origin.ends_with('/')) {
    return std::nullopt;  // no host
  }
  return DebuginfodServer{.base_url = origin + std::string(url.substr(origin.size())), .origin = origin};
}

}  // namespace

Result<std::vector<DebuginfodServer>> parse_debuginfod_servers(const std::vector<std::string>& urls) {
  std::vector<DebuginfodServer> servers;
  if (urls.size() > kMaxServers) {
    return fail(ErrorCode::kInvalid, "{} debuginfod servers; at most {} are asked", urls.size(), kMaxServers);
  }
  for (const std::string& url : urls) {
    auto server = parse_server(url);
    if (!server) {
      return with_hint(fail(ErrorCode::kInvalid, "\"{}\" is not the URL of a debuginfod",
                            printable(std::string_view(url).substr(0, kMaxServerUrlBytes))),
                       "write http://HOST:PORT or https://HOST, without a user name or a query");
    }
    if (has_server(servers, &DebuginfodServer::base_url, server->base_url)) {
      return fail(ErrorCode::kInvalid, "debuginfod server {} is listed twice", server->base_url);
    }
    servers.push_back(*std::move(server));
  }
  return servers;
}

std::optional<RedirectTarget> permitted_redirect(std::string_view location, const std::string& origin,
                                                 const std::vector<DebuginfodServer>& servers) {
  // "//host/path" is a URL without a scheme.
  if (location.starts_with('/') && !location.starts_with("//")) {
    return RedirectTarget{.origin = origin, .path_and_query = std::string(location)};
  }
  if (!has_url_scheme(location)) {
    return std::nullopt;
  }
  const size_t bytes = origin_bytes(location);
  const std::string target = in_lower_case(location.substr(0, bytes));
  const std::string path(location.substr(bytes));
  if (path.empty() || !has_server(servers, &DebuginfodServer::origin, target)) {
    return std::nullopt;
  }
  return RedirectTarget{.origin = target, .path_and_query = path};
}

}  // namespace plimsoll::symbolizer
