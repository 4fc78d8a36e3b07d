#include "config/listening_rule.h"

#include <set>

#include "config/scrape_endpoint.h"

namespace plimsoll::config {

std::optional<PortRange> parse_port_range(std::string_view text) {
  const size_t dash = text.find('-');
  const auto first = parse_port(text.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : parse_port(text.substr(dash + 1));
  if (!first || !last || *last < *first) {
    return std::nullopt;
  }
  return PortRange{*first, *last};
}

std::vector<Key> ListeningRule::keys() {
  return {
      {"program", "Name of the process, or the last part of its executable's path.", &program},
      {"job", "Job of the process, as identity.rules name it. Of program and job at least one is required.",
       &job},
      {"ports",
       "Port or range of ports, such as \"6060\" or \"8000-8099\". Of ports and sockets at least one is "
       "required.",
       &ports},
      {"sockets",
       "Pattern of paths of Unix sockets, such as \"/run/search/*.sock\": *, ? and [...] match no \"/\".",
       &sockets},
      {"paths", "Paths of its profiles.", &paths},
  };
}

Status check(const ListeningRule& rule) {
  if (rule.program.empty() && rule.job.empty()) {
    return fail(ErrorCode::kInvalid, "a rule of scrape.listening requires program or job");
  }
  if (!rule.sockets.empty() && !rule.sockets.starts_with('/')) {
    return with_hint(fail(ErrorCode::kInvalid, "\"{}\" is no pattern of paths of Unix sockets", rule.sockets),
                     "write an absolute path, such as \"/run/search/*.sock\"");
  }
  if (!parse_port_range(rule.ports) && (rule.sockets.empty() || !rule.ports.empty())) {
    return with_hint(fail(ErrorCode::kInvalid, "\"{}\" is not a range of ports", rule.ports),
                     "write \"6060\" or \"8000-8099\", or give sockets");
  }
  std::set<ScrapeKind> kinds;
  for (const std::string& path : rule.paths) {
    const auto endpoint = parse_scrape_endpoint("http://127.0.0.1:1" + path);
    if (!endpoint || !path.starts_with('/')) {
      return fail(ErrorCode::kInvalid, "\"{}\" is not the path of a profile", path);
    }
    const ScrapeKind kind = scrape_kind(*endpoint);
    if (kind != ScrapeKind::kUnknown && !kinds.insert(kind).second) {
      return fail(ErrorCode::kInvalid, "{} is the same profile as another path, which would count twice",
                  path);
    }
  }
  return {};
}

}  // namespace plimsoll::config
