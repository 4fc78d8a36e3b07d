// What each subcommand does, apart from how its flags are spelled.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace plimsoll::cli {

struct ImportOptions {
  std::string data_dir;
  std::vector<std::string> files;
  std::vector<std::string> symbol_roots;  // none: the defaults
  std::vector<std::string> debug_roots;   // likewise
  // For files that do not say whose they are: all but raw profiles, and recordings of perf that name their machine.
  std::string machine = "import";
  std::string job;       // empty: the main binary's name, or, in recordings, each process's own
  std::string platform;  // empty: unknown
  std::string
      time;  // when the profiles ended, as parse_time_ns() reads it; empty: what they or their files tell
  bool reports_json = false;  // one document (ImportTable) instead of text
};
// Raw profiles, recordings of perf, and every format of formats/, told apart by content. Commits each file before the next is read; symbolizes
// at the end, also what was imported before and lacked symbols. Takes what
// can be taken, and fails at the end where a file was not, which then has left nothing.
Status run_import(const ImportOptions& options);

struct ServerOptions {
  std::string config_path;                                 // empty: none
  std::vector<std::pair<std::string, std::string>> flags;  // configuration keys and their values
  std::string role = "server";                             // or "symbolizer", "ingest", "query"
  bool is_standby = false;  // of the role server: it waits until no process writes the data directory
};
// Until SIGINT or SIGTERM. Ends the process with status 1 where another server has taken over the data directory.
Status run_server(const ServerOptions& options);

struct TokenOptions {
  std::string name;
  std::string role;
  std::string expires;  // empty: never
  bool json = false;
};
// Makes a token and prints it with what the server's configuration is to say of it.
Status print_token(const TokenOptions& options);

struct DemoOptions {
  std::string data_dir;  // empty: a new one under /tmp
  uint32_t seconds = 20;
  uint32_t rate_hz = 199;
  bool keeps_running = false;  // server and daemon, until SIGINT or SIGTERM
};
Status run_demo(const DemoOptions& options);

}  // namespace plimsoll::cli
