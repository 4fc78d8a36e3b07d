#include "server/source_servers.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/printable.h"
#include "query/annotate/source_files.h"

namespace plimsoll::server {
namespace {

constexpr size_t kMaxServers = 16;
constexpr size_t kMaxUrlBytes = 1024;
constexpr size_t kMaxRevisionBytes = 256;
constexpr int64_t kMaxConnectMs = 3'000;
constexpr std::string_view kPath = "{path}";
constexpr std::string_view kRevision = "{revision}";

std::string replaced(std::string_view text, std::string_view placeholder, std::string_view by) {
  std::string result;
  for (size_t at = text.find(placeholder); at != std::string_view::npos; at = text.find(placeholder)) {
    result.append(text.substr(0, at)).append(by);
    text.remove_prefix(at + placeholder.size());
  }
  return result.append(text);
}

// Of '/' and "%2F" a server may make the same: the parts of a path stay parts.
std::string encoded_path(std::string_view path) {
  std::string encoded;
  while (!path.empty()) {
    const size_t end = std::min(path.find('/'), path.size());
    encoded.append(encoded.empty() ? "" : "/").append(http::url_encode(path.substr(0, end)));
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return encoded;
}

bool is_revision(std::string_view text) {
  return !text.empty() && text.size() <= kMaxRevisionBytes && text != "." && text != "..";
}

bool is_sound_pattern(std::string_view pattern) {
  const bool is_visible = std::ranges::all_of(pattern, [](unsigned char c) { return c > ' ' && c < 0x7f; });
  const std::string rest = replaced(replaced(pattern, kPath, ""), kRevision, "");
  return is_visible && pattern.starts_with('/') && pattern.find(kPath) != std::string_view::npos &&
         rest.find_first_of("{}#\\\"<>") == std::string::npos;
}

std::optional<SourceServer> parse_server(std::string_view text) {
  const size_t equals = text.find(" = ");
  if (equals == std::string_view::npos || text.size() > kMaxUrlBytes) {
    return std::nullopt;
  }
  std::string_view prefix = text.substr(0, equals);
  const std::string_view url = text.substr(equals + 3);
  while (prefix.ends_with('/')) {
    prefix.remove_suffix(1);
  }
  const bool has_scheme = url.starts_with("http://") || url.starts_with("https://");
  const size_t host = has_scheme ? url.find("://") + 3 : 0;
  const size_t path = url.find('/', host);
  // A second space before the '=' would belong to the folder, and no path would begin so.
  if (!prefix.starts_with('/') || prefix.ends_with(' ') || !annotate::parse_source_root(prefix) ||
      !has_scheme || path == std::string_view::npos || path == host) {
    return std::nullopt;
  }
  const std::string_view origin = url.substr(0, path);
  const bool is_sound_host = std::ranges::all_of(origin.substr(host), [](unsigned char c) {
    return c > ' ' && c < 0x7f &&
           std::string_view("{}@?#\\\"<>%").find(static_cast<char>(c)) == std::string_view::npos;
  });
  if (!is_sound_host || !is_sound_pattern(url.substr(path))) {
    return std::nullopt;
  }
  return SourceServer{
      .prefix = std::string(prefix), .origin = std::string(origin), .pattern = std::string(url.substr(path))};
}

}  // namespace

Result<std::vector<SourceServer>> parse_source_servers(const std::vector<std::string>& texts) {
  if (texts.size() > kMaxServers) {
    return fail(ErrorCode::kInvalid, "{} source servers; at most {} are asked", texts.size(), kMaxServers);
  }
  std::vector<SourceServer> servers;
  for (const std::string& text : texts) {
    auto server = parse_server(text);
    if (!server) {
      return with_hint(fail(ErrorCode::kInvalid, "\"{}\" is not a source server",
                            printable(std::string_view(text).substr(0, kMaxUrlBytes))),
                       "write the folder that the compiler knew, and a URL without a user name: "
                       "/build/dir = https://HOST/raw/{revision}/{path}");
    }
    servers.push_back(*std::move(server));
  }
  return servers;
}

std::optional<std::string> request_for(const SourceServer& server, std::string_view path,
                                       std::string_view revision) {
  const auto below = annotate::path_below({.prefix = server.prefix, .folder = {}}, path);
  const bool needs_revision = server.pattern.find(kRevision) != std::string::npos;
  if (!below || (needs_revision && !is_revision(revision))) {
    return std::nullopt;
  }
  // The revision first: it is encoded, so that it brings no placeholder.
  return replaced(replaced(server.pattern, kRevision, http::url_encode(revision)), kPath,
                  encoded_path(*below));
}

SourceFetcher::SourceFetcher(const std::vector<SourceServer>& servers, std::string revision,
                             const SourceLimits& limits)
    : servers_(servers),
      revision_(std::move(revision)),
      limits_(limits),
      ends_(std::chrono::steady_clock::now() + limits.max_time) {}

std::optional<std::string> SourceFetcher::fetch(std::string_view path) {
  for (const SourceServer& server : servers_) {
    const auto request = request_for(server, path, revision_);
    if (!request) {
      needs_revision_ = needs_revision_ || request_for(server, path, "any");
      continue;
    }
    if (failed_.contains(server.origin)) {
      continue;
    }
    if (files_ >= limits_.max_files || std::chrono::steady_clock::now() >= ends_) {
      is_over_limit_ = true;
      return std::nullopt;
    }
    ++files_;
    if (auto text = ask(server, *request)) {
      return text;
    }
  }
  return std::nullopt;
}

std::optional<std::string> SourceFetcher::ask(const SourceServer& server, const std::string& path_and_query) {
  auto response = client_of(server).send("GET", path_and_query);
  const bool has_failed = response ? response->status >= 500 || response->status == 429
                                   : response.error().code != ErrorCode::kTooLarge;
  if (has_failed) {
    log_warning("source server {}: {}", server.origin,
                response ? fmt::format("status {}", response->status) : response.error().text());
    failed_.insert(server.origin);
    return std::nullopt;
  }
  const bool is_text =
      response && response->status == 200 && !response->content_type.starts_with("text/html");
  return is_text ? std::optional(std::move(response->body)) : std::nullopt;
}

http::Client& SourceFetcher::client_of(const SourceServer& server) {
  const auto known = clients_.find(server.origin);
  if (known != clients_.end()) {
    return known->second;
  }
  const int64_t request_ms = limits_.request_time.count();
  return clients_
      .emplace(server.origin, http::Client({.base_url = server.origin,
                                            .connect_timeout_ms = std::min(request_ms, kMaxConnectMs),
                                            .timeout_ms = request_ms,
                                            .max_response_bytes = limits_.max_file_bytes,
                                            .ends_with_stop_scope = true}))
      .first->second;
}

std::string SourceFetcher::note() const {
  if (!failed_.empty()) {
    return "a source server (sources.urls) does not answer as it should: its files are without text (the log "
           "of this server says why)";
  }
  if (is_over_limit_) {
    return fmt::format("the source servers (sources.urls) were asked for {} files, and for {} s, at most",
                       limits_.max_files,
                       std::chrono::duration_cast<std::chrono::seconds>(limits_.max_time).count());
  }
  return needs_revision_
             ? "the source servers (sources.urls) were not asked for some files, since the binary has no "
               "label \"revision\" (plimsoll binaries add FILE --revision REVISION)"
             : "";
}

}  // namespace plimsoll::server
