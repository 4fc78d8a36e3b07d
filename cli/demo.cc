#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "base/log.h"
#include "base/shell_argument.h"
#include "base/time.h"
#include "cli/child_process.h"
#include "cli/commands.h"
#include "cli/symbol_tables.h"
#include "cli/views/terminal.h"
#include "config/server_config.h"
#include "query/views/top.h"
#include "server/server.h"

namespace plimsoll::cli {
namespace {

struct Workload {
  std::string name;
  std::string program;  // that must be there
  std::string script;   // for sh; runs until it is ended
};

// A program with a known split of work, and programs nobody here wrote.
std::vector<Workload> workloads(const std::string& folder, uint32_t seconds) {
  return {
      {"known_split", folder + "/known_split",
       fmt::format("exec '{}/known_split' {} work", folder, seconds + 10)},
      {"sqlite3", "sqlite3",
       "while :; do sqlite3 :memory: 'WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c WHERE "
       "x<400000) "
       "SELECT x%13, count(*), sum(x%7) FROM c GROUP BY 1 ORDER BY 2'; done"},
      {"python3", "python3",
       "exec python3 -c 'while True: sorted(str(hash(str(i))) for i in range(200000))'"},
      {"gzip", "gzip", fmt::format("while :; do gzip -9 -c '{}/plimsoll' > /dev/null; done", folder)},
      {"g++", "g++",
       "while :; do echo '#include <map>\n#include <regex>\nint main() { return std::map<int, "
       "std::regex>().size(); }' | "
       "g++ -std=c++20 -O2 -x c++ -c -o /dev/null -; done"},
  };
}

bool is_there(const std::string& program) {
  if (program.find('/') != std::string::npos) {
    return ::access(program.c_str(), X_OK) == 0;
  }
  const char* const path = std::getenv("PATH");
  std::string_view folders = path == nullptr ? "" : path;
  while (!folders.empty()) {
    const size_t colon = std::min(folders.find(':'), folders.size());
    if (::access(fmt::format("{}/{}", folders.substr(0, colon), program).c_str(), X_OK) == 0) {
      return true;
    }
    folders.remove_prefix(std::min(colon + 1, folders.size()));
  }
  return false;
}

// To be called while there is one thread: those that it makes later do not take them, only sigwait() does.
sigset_t block_end_signals() {
  sigset_t signals;
  ::sigemptyset(&signals);
  ::sigaddset(&signals, SIGINT);
  ::sigaddset(&signals, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return signals;
}

Result<std::string> make_data_dir(const DemoOptions& options) {
  if (!options.data_dir.empty()) {
    return options.data_dir;
  }
  std::string path = "/tmp/plimsoll-demo-XXXXXX";
  if (::mkdtemp(path.data()) == nullptr) {
    return fail_errno(errno, "creating a folder for the demo under /tmp");
  }
  return path;
}

// Waits for the time with a progress line on a terminal, or a line every five seconds in a pipe. Fails as soon as the
// daemon has ended.
Status wait_with_progress(uint32_t seconds, ChildProcess& daemon, const std::string& daemon_log) {
  const bool is_terminal = ::isatty(STDOUT_FILENO) == 1;
  const int64_t end_ns = monotonic_now_ns() + seconds * kNsPerSecond;
  for (uint32_t elapsed = 0; elapsed < seconds; ++elapsed) {
    const int64_t next_ns = end_ns - static_cast<int64_t>(seconds - elapsed - 1) * kNsPerSecond;
    ::poll(nullptr, 0, static_cast<int>(std::max<int64_t>(0, (next_ns - monotonic_now_ns()) / 1'000'000)));
    if (!daemon.is_running()) {
      return with_hint(fail(ErrorCode::kDenied, "the daemon exited: {}", last_line_of(daemon_log)),
                       "run \"plimsolld probe\" to see what this machine and user can measure");
    }
    if (is_terminal) {
      fmt::print("\rprofiling this machine: {} of {} s ", elapsed + 1, seconds);
      std::fflush(stdout);
    } else if ((elapsed + 1) % 5 == 0) {
      fmt::print("profiling this machine: {} of {} s\n", elapsed + 1, seconds);
    }
  }
  fmt::print("{}", is_terminal ? "\n" : "");
  return {};
}

Result<query::Table> print_top(const query::Snapshot& snapshot, std::string_view title,
                               const query::Parameters& parameters) {
  const auto request = query::parse_top(parameters, wall_now_ns());
  if (!request) {
    return propagate(request);
  }
  auto table = query::top(*request, snapshot);
  if (table) {
    fmt::print("\n{}\n{}", title, query::to_text(*table, style_of_output()));
  }
  return table;
}

// The first row that is a function with a name; empty: there is none. Those in brackets stand for code without names.
std::string hottest_function(const query::Table& by_function) {
  for (const std::vector<query::Value>& row : by_function.rows) {
    for (size_t column = 0; column < row.size(); ++column) {
      const auto* const name = std::get_if<std::string>(&row[column]);
      if (by_function.columns[column].name == "function" && name != nullptr &&
          name->find_first_of("['~!") != 0 && !name->empty()) {
        return *name;
      }
    }
  }
  return {};
}

// A time with as many profiles before it as after it, to a profile; empty where there are fewer than two. A profile counts where
// its middle is.
std::string middle_of(const query::Snapshot& snapshot) {
  std::vector<int64_t> middles_ns;
  for (size_t id = 1; id < snapshot.dictionaries.origins.size(); ++id) {
    const store::OriginEntry& origin = snapshot.dictionaries.origins[id];
    middles_ns.push_back(origin.from_ns + (origin.to_ns - origin.from_ns) / 2);
  }
  std::ranges::sort(middles_ns);
  const size_t half = middles_ns.size() / 2;
  return half == 0 ? "" : format_time(middles_ns[half - 1] + (middles_ns[half] - middles_ns[half - 1]) / 2);
}

// Commands that can be run as they are printed.
void print_next(const std::string& data_dir, const std::string& function, const std::string& middle) {
  fmt::print("\nThe data is in {0}. Five questions to ask of it:\n", data_dir);
  const std::string data = shell_argument(data_dir);
  fmt::print("Which functions of one program are hot?\n  plimsoll top --data {} --where app=known_split\n",
             data);
  fmt::print("On which call paths? As a flame graph:\n  plimsoll flame --data {} --svg > flame.svg\n", data);
  if (!middle.empty()) {
    fmt::print(
        "What changed between the two halves of the time?\n  plimsoll diff --data {} --base-until {} "
        "--new-since {}\n",
        data, middle, middle);
  }
  if (!function.empty()) {
    fmt::print("What calls the hottest function?\n  plimsoll callers --data {} {}\n", data,
               shell_argument(function));
  }
  fmt::print("Which programs and threads cause it?\n  plimsoll top --data {} --by app,thread\n", data);
  fmt::print(
      "With a server on this data, give --server 127.0.0.1:7070 instead of --data, and open "
      "http://127.0.0.1:7070/ in a browser: plimsoll server --data {}\n",
      data);
}

Status print_answers(const std::string& data_dir) {
  const auto snapshot = query::Snapshot::load(data_dir);
  if (!snapshot) {
    return propagate(snapshot);
  }
  std::string hottest;
  for (const auto& [title, parameters] : std::vector<std::pair<std::string, query::Parameters>>{
           {"Applications", {{"by", "app"}, {"limit", "10"}}},
           {"Hot functions of the machine", {{"by", "function,binary"}, {"limit", "20"}}},
           {"The program with the known split (70, 20 and 10 %)",
            {{"by", "function"}, {"where", "app=known_split"}, {"limit", "4"}}}}) {
    const auto table = print_top(**snapshot, title, parameters);
    if (!table) {
      return propagate(table);
    }
    hottest = hottest.empty() ? hottest_function(*table) : hottest;
  }
  print_next(data_dir, hottest, middle_of(**snapshot));
  return {};
}

// A server and the daemon of this machine.
struct RunningPair {
  std::unique_ptr<server::Server> server;
  ChildProcess daemon;

  static Result<RunningPair> start(const config::ServerConfig& config, const std::string& folder) {
    auto server = server::Server::start(config, table_worker(), {.annotations = annotate_worker()});
    if (!server) {
      return propagate(server);
    }
    auto daemon = ChildProcess::start({folder + "/plimsolld", "--server", (*server)->fleet_address(),
                                       "--state-dir", config.data_dir + "/plimsolld"},
                                      daemon_log_of(config));
    return daemon ? Result<RunningPair>(RunningPair{std::move(*server), std::move(*daemon)})
                  : propagate(daemon);
  }
  static std::string daemon_log_of(const config::ServerConfig& config) {
    return config.data_dir + "/plimsolld.log";
  }
  // What the daemon has measured by now is in answers afterwards, and the data directory is free for another server.
  void stop() {
    daemon.stop();
    server->stop();
    server.reset();
  }
};

// Until a signal, at the address that was printed first.
Status keep_running(const config::ServerConfig& config, const std::string& folder) {
  const sigset_t signals = block_end_signals();
  auto kept = RunningPair::start(config, folder);
  if (!kept) {
    return propagate(kept);
  }
  fmt::print(
      "\nThe web page: http://{}/\nThis machine is profiled until you press Ctrl-C; the data stays in {}.\n",
      kept->server->address(), config.data_dir);
  std::fflush(stdout);
  int signal_number = 0;
  ::sigwait(&signals, &signal_number);
  kept->stop();
  return {};
}

}  // namespace

Status run_demo(const DemoOptions& options) {
  const auto data_dir = make_data_dir(options);
  if (!data_dir) {
    return propagate(data_dir);
  }
  set_log_level(LogLevel::kWarning);
  const std::string folder = executable_folder();
  config::ServerConfig config;
  config.data_dir = *data_dir;
  config.listen = "127.0.0.1:0";
  config.fleet_listen = "127.0.0.1:0";
  config.collect_rate_hz = options.rate_hz;
  config.collect_window_ns = 2 * kNsPerSecond;
  config.heartbeat_ns = kNsPerSecond;
  config.symbol_roots.push_back(folder);
  auto started = RunningPair::start(config, folder);
  if (!started) {
    return propagate(started);
  }
  // The page of --keep is where the first server was.
  config.listen = started->server->address();
  config.fleet_listen = started->server->fleet_address();
  fmt::print("server: http://{} for queries, http://{} for daemons\n", config.listen, config.fleet_listen);
  std::vector<ChildProcess> running;
  for (const Workload& workload : workloads(folder, options.seconds)) {
    if (!is_there(workload.program)) {
      fmt::print("not running {}: it is not installed\n", workload.program);
      continue;
    }
    auto child = ChildProcess::start({"/bin/sh", "-c", workload.script}, "/dev/null");
    if (!child) {
      return propagate(child);
    }
    running.push_back(std::move(*child));
  }
  fmt::print("running a workload of {} programs\n", running.size());
  if (auto waited = wait_with_progress(options.seconds, started->daemon, RunningPair::daemon_log_of(config));
      !waited) {
    return waited;
  }
  started->stop();
  running.clear();
  const Status answered = print_answers(*data_dir);
  return answered && options.keeps_running ? keep_running(config, folder) : answered;
}

}  // namespace plimsoll::cli
