#include "config/server_symbol_keys.h"

#include <cstdint>

#include "base/time.h"
#include "config/server_storage_keys.h"

namespace plimsoll::config {

std::vector<Key> symbols_keys(ServerConfig& config) {
  return {
      {"symbols.roots", "Folders whose files the symbolizer may open when a profile refers to them.",
       &config.symbol_roots},
      {"symbols.debug_roots",
       "Folders of separate debug files, laid out as Debian's -dbgsym packages do: by build "
       "ID\n(.build-id/xx/yyyy.debug), or by the path of the binary.",
       &config.symbol_debug_roots},
      {"symbols.retry", "How often to look for better symbols of binaries that lack some.",
       DurationNs{&config.symbol_retry_ns}, Range{kNsPerSecond, 24 * kNsPerHour}},
      {"symbols.max_memory_bytes",
       "Memory limit of the process that reads a binary's symbols, without mapped files. A binary that needs "
       "more is\nsymbolized from its symbol table only, without files and lines.",
       SizeBytes{&config.symbol_max_memory_bytes}, Range{int64_t{16} << 20, int64_t{64} << 30}},
      {"symbols.debuginfod",
       "URLs of debuginfod servers (http://, https://), asked in this order for debug files and binaries "
       "that "
       "the server lacks. They learn\nwhich build IDs are sampled. Only these hosts are contacted, redirects "
       "included. Default: none.",
       &config.symbol_debuginfod},
      {"symbols.debuginfod_max_bytes", "Maximum bytes fetched for a build ID, over all servers.",
       SizeBytes{&config.symbol_debuginfod_max_bytes}, Range{int64_t{1} << 20, int64_t{64} << 30}},
      {"symbols.debuginfod_max_time", "Maximum time spent on a build ID, over all servers.",
       DurationNs{&config.symbol_debuginfod_max_time_ns}, Range{kNsPerSecond, kNsPerHour / 2}},
      {"symbols.debuginfod_retry",
       "Time after which servers are asked again for a file that they did not have.",
       DurationNs{&config.symbol_debuginfod_retry_ns}, Range{kNsPerSecond, 8760 * kNsPerHour}},
      {"symbols.worker_lease",
       "How long a symbolizer worker (plimsoll server --role symbolizer) has a build unless it renews its "
       "lease. Then another gets the build.",
       DurationNs{&config.symbol_worker_lease_ns}, Range{kNsPerSecond, kNsPerHour / 6}},
      {"symbols.worker_grace",
       "How long a build waits for a symbolizer worker, while workers ask, before the server makes its "
       "symbol "
       "table itself.",
       DurationNs{&config.symbol_worker_grace_ns}, Range{0, kNsPerHour}},
  };
}

std::vector<Key> sources_keys(ServerConfig& config) {
  return {
      {"sources.roots",
       "Folders whose source files plimsoll annotate may show to users with the role read. Paths in debug "
       "information are looked up below\nthese folders only. \"/build/dir = /srv/src\": what the compiler "
       "knew as /build/dir is in /srv/src. Default: none.",
       &config.source_roots},
      {"sources.urls",
       "Servers that are asked for source files of annotated code that no root has. \"/build/dir = "
       "https://HOST/raw/{revision}/{path}\":\nwhat the compiler knew as /build/dir. {revision} is the label "
       "of the binary (plimsoll binaries add --revision). Only these\nhosts are contacted, without "
       "credentials, and no redirect is followed. Default: none.",
       &config.source_urls},
  };
}

std::vector<Key> binaries_keys(ServerConfig& config) {
  return {
      {"binaries.max_bytes",
       "Maximum size of all binaries and debug files that were added (plimsoll binaries add). Those that no "
       "recent row\nuses are dropped first; beyond it no more are taken.",
       SizeBytes{&config.binaries_max_bytes}, Range{int64_t{1} << 20, int64_t{1} << 50}},
      {"binaries.max_file_bytes", "Maximum size of one binary or debug file.",
       SizeBytes{&config.binaries_max_file_bytes}, Range{int64_t{1} << 20, int64_t{64} << 30}},
      {"binaries.max_age", "How long a binary is kept after it was added while no recent row uses it.",
       DurationNs{&config.binaries_max_age_ns}, Range{kNsPerHour, kLongestAgeNs}},
      {"binaries.from_machines",
       "Takes binaries from daemons whose configuration permits it (binaries.upload), of builds that lack "
       "symbols.",
       &config.binaries_from_machines},
      {"binaries.content",
       "What daemons are asked for: \"symbols\", \"debug\" (symbols and DWARF), or \"code\" (whole files, "
       "which annotated code\nand profiles for compilers need).",
       &config.binaries_content},
  };
}

}  // namespace plimsoll::config
