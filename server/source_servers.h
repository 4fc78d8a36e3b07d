// Source text for annotated code from servers that the operator named: of a code host, say.
//
// Debug information says which file of the build is asked for, and nothing else: neither the host nor a path
// outside of what the operator named for the compiler's folder.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "http/client.h"

namespace plimsoll::server {

// "/build/dir = https://code.example/raw/{revision}/{path}": where what the compiler knew as /build/dir is.
struct SourceServer {
  std::string prefix;   // without '/' at its end; never the root
  std::string origin;   // "https://code.example"
  std::string pattern;  // path and query of the URL, with {path}, and {revision} if it needs one

  bool operator==(const SourceServer&) const = default;
};

// kInvalid for a text of another form, a URL with a user name, without {path}, or with a placeholder in its
// host; and for more than 16.
Result<std::vector<SourceServer>> parse_source_servers(const std::vector<std::string>& texts);

// Path and query of the request for a file, free of "." and "..", each part percent-encoded. Nothing where
// the path does not lie below the server's prefix, or where the pattern needs a revision and this is none
// (empty, over 256 bytes, "." or ".."; '/' is encoded as %2F).
std::optional<std::string> request_for(const SourceServer& server, std::string_view path,
                                       std::string_view revision);

struct SourceLimits {
  size_t max_files = 64;
  std::chrono::milliseconds max_time{10'000};     // begins no request after it
  std::chrono::milliseconds request_time{5'000};  // of one
  size_t max_file_bytes = size_t{16} << 20;
};

// For one annotation; one thread. A server that fails is not asked again. Follows no redirect, sends no
// credentials, and uses the proxies of the environment as http::Client does. Borrows the servers. A request
// ends with the StopScope of the thread.
class SourceFetcher {
 public:
  // `revision`: the label of the binary; empty: it has none.
  SourceFetcher(const std::vector<SourceServer>& servers, std::string revision,
                const SourceLimits& limits = {});

  // The text of a file by the path that the compiler wrote down; nothing where no server has it. An answer in
  // HTML is none: code hosts answer with a page for people to sign in.
  std::optional<std::string> fetch(std::string_view path);

  // Why files were not fetched that might have been, in words that name no host; empty: there is no such
  // reason.
  std::string note() const;

 private:
  std::optional<std::string> ask(const SourceServer& server, const std::string& path_and_query);
  http::Client& client_of(const SourceServer& server);

  const std::vector<SourceServer>& servers_;
  const std::string revision_;
  const SourceLimits limits_;
  const std::chrono::steady_clock::time_point ends_;
  std::map<std::string, http::Client> clients_;  // by origin
  std::set<std::string> failed_;                 // origins
  size_t files_ = 0;
  bool needs_revision_ = false;  // of a file below a prefix
  bool is_over_limit_ = false;
};

}  // namespace plimsoll::server
