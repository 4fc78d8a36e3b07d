#include "server/request_settings.h"

#include <sys/utsname.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/process_memory.h"
#include "base/resource_limit.h"
#include "query/annotate/source_files.h"
#include "server/symbol_settings.h"

namespace plimsoll::server {
namespace {

// One of them is free for others, however many orders a caller gives.
constexpr unsigned kControlThreads = 3;

// One for each processor and two at least, so that a question waits in line and not beside many others; and one that is free for others
// while a caller has so many.
unsigned question_threads(const config::ServerConfig& config) {
  return config.query_threads != 0 ? static_cast<unsigned>(config.query_threads)
                                   : std::max(2U, std::thread::hardware_concurrency()) + 1;
}

// Of a statement's memory; and of all that the process may have, which leaves the rest to rows and other questions.
constexpr size_t kShareOfAnswer = 4;
constexpr uint64_t kShareOfStatements = 4;
// Of the spans that questions about request traces read.
constexpr uint64_t kShareOfTraceQuestions = 4;

// For people, the store and the symbolizer.
constexpr int64_t kOtherOpenFiles = 1024;

}  // namespace

http::PoolOptions question_pools(const config::ServerConfig& config) {
  return {.control_threads = kControlThreads,
          .long_threads = question_threads(config),
          .background_threads = static_cast<unsigned>(config.query_sql_threads),
          .max_requests = static_cast<size_t>(config.query_max_pending),
          .serves_callers_in_turn = true};
}

QueryLimits query_limits(const config::ServerConfig& config) {
  const auto milliseconds = [](int64_t duration_ns) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::nanoseconds(duration_ns));
  };
  const auto memory_bytes = static_cast<size_t>(config.query_sql_max_memory_bytes);
  return {.max_time = milliseconds(config.query_max_time_ns),
          .sql = {.time = milliseconds(config.query_sql_max_time_ns),
                  .answer_bytes = memory_bytes / kShareOfAnswer,
                  .memory_bytes = memory_bytes},
          .sql_memory_bytes = max_memory_bytes() / kShareOfStatements,
          .trace_memory_bytes = max_memory_bytes() / kShareOfTraceQuestions};
}

ProfileSettings profile_settings(const config::ServerConfig& config, symbolizer::TableWorker worker) {
  ProfileSettings settings{.worker = std::move(worker),
                           .roots = symbol_roots(config),
                           .folder = config.data_dir,
                           .max_time = query_limits(config).max_time};
  settings.limits.memory_bytes = static_cast<uint64_t>(config.symbol_max_memory_bytes);
  return settings;
}

Result<AnnotateSettings> annotate_settings(const config::ServerConfig& config,
                                           symbolizer::TableWorker worker) {
  auto sources = annotate::parse_source_roots(config.source_roots);
  if (!sources) {
    return with_field(propagate(sources), "sources.roots");
  }
  auto servers = parse_source_servers(config.source_urls);
  if (!servers) {
    return with_field(propagate(servers), "sources.urls");
  }
  AnnotateSettings settings{.worker = std::move(worker),
                            .roots = symbol_roots(config),
                            .sources = *std::move(sources),
                            .source_servers = *std::move(servers),
                            .folder = config.data_dir,
                            .max_time = query_limits(config).max_time};
  settings.limits.memory_bytes = static_cast<uint64_t>(config.symbol_max_memory_bytes);
  return settings;
}

Status allow_connections(int64_t connections) {
  const auto needed = static_cast<uint64_t>(connections + kOtherOpenFiles);
  const auto allowed = raise_limit(RLIMIT_NOFILE, needed, "open files");
  if (!allowed) {
    return propagate(allowed);
  }
  return *allowed >= needed
             ? Status()
             : with_hint(with_field(fail(ErrorCode::kTooLarge,
                                         "{} daemon connections need {} open files in all, the limit is {}",
                                         connections, needed, *allowed),
                                    "fleet.max_connections"),
                         "lower fleet.max_connections, or raise the limit (ulimit -Hn; LimitNOFILE= of a "
                         "systemd unit)");
}

// This machine's name with and without its domain, and what the configuration adds.
std::vector<std::string> names_of_server(const config::ServerConfig& config) {
  std::vector<std::string> names = config.hosts;
  utsname machine{};
  if (::uname(&machine) == 0) {
    const std::string name = machine.nodename;
    names.push_back(name);
    names.push_back(name.substr(0, name.find('.')));
  }
  return names;
}

}  // namespace plimsoll::server
