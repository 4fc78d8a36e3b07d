#include "config/scrape_endpoint.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

namespace plimsoll::config {
namespace {

constexpr std::string_view kScheme = "http://";
constexpr std::string_view kUnixScheme = "unix:";
constexpr size_t kMaxSocketPathBytes = 107;  // what fits into sockaddr_un, with a zero byte
constexpr size_t kMaxUrlBytes = 1024;

bool is_loopback(const std::string& host) {
  in_addr ipv4{};
  in6_addr ipv6{};
  if (::inet_pton(AF_INET, host.c_str(), &ipv4) == 1) {
    return ntohl(ipv4.s_addr) >> 24U == 127;
  }
  if (::inet_pton(AF_INET6, host.c_str(), &ipv6) == 1) {
    return IN6_IS_ADDR_LOOPBACK(&ipv6);
  }
  return host == "localhost";
}

// Letters, digits and what stands in names and addresses.
bool is_host(std::string_view host, bool is_bracketed) {
  return !host.empty() && std::ranges::all_of(host, [&](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '.' || (is_bracketed && c == ':');
  });
}

// HOST, HOST:PORT, [IPV6] or [IPV6]:PORT
bool take_authority(std::string_view authority, ScrapeEndpoint& endpoint) {
  const bool is_bracketed = authority.starts_with('[');
  const size_t host_end =
      is_bracketed ? authority.find(']') : std::min(authority.find(':'), authority.size());
  if (host_end == std::string_view::npos) {
    return false;
  }
  endpoint.host = authority.substr(is_bracketed ? 1 : 0, host_end - (is_bracketed ? 1 : 0));
  const std::string_view rest = authority.substr(host_end + (is_bracketed ? 1 : 0));
  if (!is_host(endpoint.host, is_bracketed)) {
    return false;
  }
  if (rest.empty()) {
    return true;
  }
  const auto port = rest.starts_with(':') ? parse_port(rest.substr(1)) : std::nullopt;
  endpoint.port = port.value_or(0);
  return port.has_value();
}

// "/run/job.sock", "/run/job.sock:" or "/run/job.sock:/debug/pprof/heap"
bool take_socket(std::string_view text, ScrapeEndpoint& endpoint) {
  const size_t colon = text.find(":/");
  const bool has_path = colon != std::string_view::npos;
  endpoint.path = has_path ? text.substr(colon + 1) : "/";
  text = text.substr(0, colon);
  text.remove_suffix(!has_path && text.ends_with(':') ? 1 : 0);
  endpoint.socket_path = text;
  endpoint.base_url = fmt::format("{}{}:", kUnixScheme, text);
  endpoint.port = 0;
  endpoint.is_loopback = true;
  return text.size() > 1 && text.starts_with('/') && text.size() <= kMaxSocketPathBytes;
}

}  // namespace

std::optional<uint16_t> parse_port(std::string_view text) {
  uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  const bool is_whole = error == std::errc() && end == text.data() + text.size();
  return is_whole && port != 0 ? std::optional(port) : std::nullopt;
}

std::string ScrapeEndpoint::name() const {
  return (socket_path.empty() ? base_url.substr(kScheme.size()) : base_url) + path;
}

std::string ScrapeEndpoint::program() const {
  if (!socket_path.empty()) {
    return std::string(kUnixScheme) + socket_path;
  }
  // Other addresses of 127/8 may be other programs' with the same port.
  in6_addr ipv6{};
  const bool is_ipv6_loopback =
      ::inet_pton(AF_INET6, host.c_str(), &ipv6) == 1 && IN6_IS_ADDR_LOOPBACK(&ipv6);
  return fmt::format("{}:{}", host == "localhost" || is_ipv6_loopback ? "127.0.0.1" : host, port);
}

namespace {

// "heap" of "/debug/pprof/heap?gc=1".
std::string_view last_part(const ScrapeEndpoint& endpoint) {
  const std::string_view path = std::string_view(endpoint.path).substr(0, endpoint.path.find('?'));
  return path.substr(path.rfind('/') + 1);
}

}  // namespace

ScrapeKind scrape_kind(const ScrapeEndpoint& endpoint) {
  constexpr std::array<std::pair<std::string_view, ScrapeKind>, 8> kKinds{{
      {"heap", ScrapeKind::kHeap},
      {"allocs", ScrapeKind::kHeap},
      {"growth", ScrapeKind::kGrowth},
      {"contention", ScrapeKind::kLock},
      {"mutex", ScrapeKind::kLock},
      {"block", ScrapeKind::kBlock},
      {"profile", ScrapeKind::kCpu},
      {"wall", ScrapeKind::kWall},
  }};
  const std::string_view name = kind_of_endpoint(endpoint);
  const auto* const found = std::ranges::find(kKinds, name, [](const auto& kind) { return kind.first; });
  return found == kKinds.end() ? ScrapeKind::kUnknown : found->second;
}

std::string_view path_of_announced_kind(std::string_view kind) {
  // Those that sample while they wait are short: a scrape has scrape.timeout for everything.
  constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kPaths{{
      {"heap", "/debug/pprof/heap"},
      {"allocs", "/debug/pprof/allocs"},
      {"growth", "/debug/pprof/growth"},
      {"contention", "/debug/pprof/contention"},
      {"mutex", "/debug/pprof/mutex"},
      {"block", "/debug/pprof/block"},
      {"profile", "/debug/pprof/profile?seconds=5"},
      {"wall", "/debug/pprof/wall?seconds=5"},
  }};
  const auto* found = std::ranges::find(kPaths, kind, [](const auto& path) { return path.first; });
  return found == kPaths.end() ? std::string_view() : found->second;
}

std::string_view kind_of_endpoint(const ScrapeEndpoint& endpoint) {
  std::string_view name = last_part(endpoint);
  // As gperftools and its successors call them: heapz, growthz, contentionz.
  if (name.ends_with('z')) {
    name.remove_suffix(1);
  }
  return path_of_announced_kind(name).empty() ? std::string_view() : name;
}

Status check_application_kinds(std::span<const std::string> kinds) {
  for (const std::string& kind : kinds) {
    if (path_of_announced_kind(kind).empty()) {
      return with_hint(fail(ErrorCode::kInvalid, "no such kind of application profiles: \"{}\"", kind),
                       "write heap, allocs, growth, contention, mutex, block, profile or wall");
    }
  }
  return {};
}

Result<ScrapeEndpoint> parse_scrape_endpoint(std::string_view url) {
  const auto wrong = [&] {
    return with_hint(
        fail(ErrorCode::kInvalid, "\"{}\" is not a scrape endpoint", url.substr(0, kMaxUrlBytes)),
        "write http://HOST:PORT/PATH or unix:/SOCKET:/PATH");
  };
  const bool is_visible =
      std::ranges::all_of(url, [](unsigned char c) { return c > ' ' && c < 0x7f && c != '#'; });
  if (url.size() > kMaxUrlBytes || !is_visible) {
    return wrong();
  }
  ScrapeEndpoint endpoint;
  if (url.starts_with(kUnixScheme)) {
    return take_socket(url.substr(kUnixScheme.size()), endpoint) ? Result<ScrapeEndpoint>(std::move(endpoint))
                                                                 : wrong();
  }
  if (!url.starts_with(kScheme)) {
    return wrong();
  }
  const std::string_view after_scheme = url.substr(kScheme.size());
  const size_t slash = std::min(after_scheme.find('/'), after_scheme.size());
  if (!take_authority(after_scheme.substr(0, slash), endpoint)) {
    return wrong();
  }
  endpoint.base_url = url.substr(0, kScheme.size() + slash);
  endpoint.path = slash == after_scheme.size() ? "/" : after_scheme.substr(slash);
  endpoint.is_loopback = is_loopback(endpoint.host);
  return endpoint;
}

}  // namespace plimsoll::config
