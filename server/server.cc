#include "server/server.h"

#include <sys/utsname.h>

#include <algorithm>
#include <chrono>

#include "base/log.h"
#include "base/process_memory.h"
#include "base/resource_limit.h"
#include "base/time.h"
#include "query/annotate/source_files.h"
#include "query/traces/stored_requests.h"
#include "server/access_api.h"
#include "server/annotate_api.h"
#include "server/background/readiness.h"
#include "server/background/work_kinds.h"
#include "server/collection_api.h"
#include "server/doors/trace_door.h"
#include "server/experiments_api.h"
#include "server/fleet_settings.h"
#include "server/health_api.h"
#include "server/page_api.h"
#include "server/passes.h"
#include "server/profile_api.h"
#include "server/query_api.h"
#include "server/store_settings.h"
#include "server/trace_diagnosis.h"
#include "store/directory/disk_usage.h"
#include "symbolizer/repository/repository_files.h"
#include "web/page_files.h"

namespace plimsoll::server {
namespace {

constexpr std::chrono::nanoseconds kAuditInterval = std::chrono::minutes(1);

// Daemons' requests have short heads, and there are many daemons.
constexpr size_t kFleetConnectionBytes = 8UL << 10;

// 32 KiB each. Whoever opens many and asks nothing is the first to go.
constexpr unsigned kPeopleConnections = 1024;

// One of them is free for others, however many orders a caller gives.
constexpr unsigned kControlThreads = 3;

// One for each processor and two at least, so that a question waits in line and not beside many others; and one that is free for others
// while a caller has so many.
unsigned question_threads(const config::ServerConfig& config) {
  return config.query_threads != 0 ? static_cast<unsigned>(config.query_threads)
                                   : std::max(2U, std::thread::hardware_concurrency()) + 1;
}

http::PoolOptions question_pools(const config::ServerConfig& config) {
  return {.control_threads = kControlThreads,
          .long_threads = question_threads(config),
          .background_threads = static_cast<unsigned>(config.query_sql_threads),
          .max_requests = static_cast<size_t>(config.query_max_pending),
          .serves_callers_in_turn = true};
}

// Of a statement's memory; and of all that the process may have, which leaves the rest to rows and other questions.
constexpr size_t kShareOfAnswer = 4;
constexpr uint64_t kShareOfStatements = 4;
// Of the spans that questions about request traces read.
constexpr uint64_t kShareOfTraceQuestions = 4;
constexpr uint64_t kShareOfHourlyDiagnosis = 8;
// Of requests, and of answers.
constexpr unsigned kPartOfBodies = 16;
// Of requests with traces, while they are read.
constexpr unsigned kPartOfTraces = 8;

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

// With the repository of binaries, where most of them are looked for first.
symbolizer::SymbolRoots symbol_roots(const config::ServerConfig& config) {
  return {config.symbol_roots, symbolizer::with_repository(config.symbol_debug_roots, config.data_dir)};
}

symbolizer::RepositoryLimits repository_limits(const config::ServerConfig& config) {
  return {.max_bytes = static_cast<uint64_t>(config.binaries_max_bytes),
          .max_file_bytes = static_cast<uint64_t>(config.binaries_max_file_bytes),
          .max_age_ns = config.binaries_max_age_ns};
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
  AnnotateSettings settings{.worker = std::move(worker),
                            .roots = symbol_roots(config),
                            .sources = *std::move(sources),
                            .folder = config.data_dir,
                            .max_time = query_limits(config).max_time};
  settings.limits.memory_bytes = static_cast<uint64_t>(config.symbol_max_memory_bytes);
  return settings;
}

// For people, the store and the symbolizer.
constexpr int64_t kOtherOpenFiles = 1024;

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

}  // namespace

Server::Server(std::unique_ptr<store::Ingest> ingest, std::unique_ptr<store::SpanSink> spans,
               std::unique_ptr<symbolizer::BinaryRepository> binaries,
               std::unique_ptr<Authenticator> authenticator,
               std::unique_ptr<scheduler::CollectionBreaker> breaker,
               std::unique_ptr<scheduler::Drawer> drawer, const config::ServerConfig& config)
    : ingest_(std::move(ingest)),
      spans_(std::move(spans)),
      binaries_(std::move(binaries)),
      reserve_(ingest_->directory().reserve_path()),
      snapshots_(ingest_->directory().path()),
      authenticator_(std::move(authenticator)),
      people_access_(authenticator_->access_control(Authenticator::Notes::kAll)),
      daemons_access_(authenticator_->access_control(Authenticator::Notes::kRefusals)),
      breaker_(std::move(breaker)),
      drawer_(std::move(drawer)),
      fleet_(*ingest_, fleet_options(config, *authenticator_), *breaker_, drawer_.get(),
             [this] { work_.wake(kRows); }),
      health_(ingest_->directory().path(), fleet_, work_, [this] { return listeners(); }) {}

Result<std::unique_ptr<Server>> Server::start(const config::ServerConfig& config,
                                              symbolizer::TableWorker table_worker,
                                              const RequestWorkers& request_workers) {
  if (config.data_dir.empty()) {
    return with_field(fail(ErrorCode::kInvalid, "no data directory: set server.data or give --data"),
                      "--data");
  }
  const auto limits = retention_limits(config, config.data_dir);
  if (!limits) {
    return propagate(limits, "measuring the disk of {}", config.data_dir);
  }
  auto ingest = store::Ingest::open(config.data_dir, ingest_options(config, *limits));
  if (!ingest) {
    return propagate(ingest, "opening the data directory {}", config.data_dir);
  }
  auto spans = store::open_span_sink((*ingest)->directory(), static_cast<uint64_t>(limits->traces_max_bytes));
  if (!spans) {
    return propagate(spans, "opening the data directory {}", config.data_dir);
  }
  auto binaries = symbolizer::BinaryRepository::open(config.data_dir, repository_limits(config));
  if (!binaries) {
    return propagate(binaries);
  }
  auto authenticator = open_authenticator(config, (*ingest)->directory());
  if (!authenticator) {
    return propagate(authenticator, "reading access rights");
  }
  auto breaker = open_breaker(config, (*ingest)->directory());
  if (!breaker) {
    return propagate(breaker, "reading stops");
  }
  auto drawer = open_drawer(config, (*ingest)->directory(), **breaker, wall_now_ns());
  if (!drawer) {
    return propagate(drawer, "reading the draws");
  }
  if (const auto warning = overhead_warning(config)) {
    log_warning("draw.max_overhead_percent: {}", *warning);
  }
  std::unique_ptr<Server> server(new Server(std::move(*ingest), std::move(*spans), std::move(*binaries),
                                            std::move(*authenticator), std::move(*breaker),
                                            std::move(*drawer), config));
  if (auto listening = server->listen(config, request_workers); !listening) {
    return propagate(listening);
  }
  if (auto started = server->start_work(config, std::move(table_worker)); !started) {
    return propagate(started);
  }
  return server;
}

Status Server::start_work(const config::ServerConfig& config, symbolizer::TableWorker table_worker) {
  std::stop_source searches;
  const symbolizer::ProcessLimits limits{.memory_bytes =
                                             static_cast<uint64_t>(config.symbol_max_memory_bytes)};
  auto symbolizer = symbolizer::Symbolizer::open(config.data_dir, symbol_roots(config),
                                                 std::move(table_worker), {limits, searches.get_token()});
  if (!symbolizer) {
    return propagate(symbolizer);
  }
  auto compaction =
      compaction_pass(*ingest_, {.max_rows = static_cast<uint64_t>(config.store_max_segment_rows)});
  if (!compaction) {
    return propagate(compaction);
  }
  auto inventory = inventory_pass({.machines = config.inventory_machines,
                                   .jobs = config.inventory_jobs,
                                   .interval_ns = config.inventory_interval_ns,
                                   .machine_ttl_ns = config.fleet_machine_ttl_ns},
                                  *ingest_);
  if (!inventory) {
    return propagate(inventory);
  }
  const std::chrono::nanoseconds symbol_retry(config.symbol_retry_ns);
  work_.start(kAudit, [this](const std::stop_token&) -> Result<NextPass> {
    const Status written = authenticator_->log().end_minute();
    return written ? Result<NextPass>(NextPass{.after = kAuditInterval}) : propagate(written);
  });
  work_.start(with_retry(kInventory, std::chrono::nanoseconds(config.inventory_interval_ns)),
              std::move(*inventory));
  if (drawer_ != nullptr) {
    auto draws = draws_pass(*drawer_, *ingest_);
    if (!draws) {
      return propagate(draws);
    }
    work_.start(kDraws, std::move(*draws));
  }
  const auto retained = retention_limits(config, config.data_dir);
  if (!retained) {
    return propagate(retained);
  }
  work_.start(kRetention, retention_pass(*ingest_, *retained, [this] { snapshots_.forget_dropped(); }));
  work_.start(kSpans, spans_pass(*spans_, *retained,
                                 [folder = config.data_dir] { return store::free_bytes(folder); }));
  if (config.traces_diagnose) {
    work_.start(kTraceDiagnosis,
                trace_diagnosis_pass({.data_dir = config.data_dir,
                                      .max_spans = std::min(query::kMaxReadSpans,
                                                            max_memory_bytes() / kShareOfHourlyDiagnosis /
                                                                query::kBytesOfReadSpan),
                                      .max_age_ns = config.traces_findings_max_age_ns}));
  }
  work_.start(kRollUp, roll_up_pass(*ingest_, *retained, [this] { snapshots_.forget_dropped(); }));
  work_.start(kBinaries, binaries_pass(*binaries_, snapshots_));
  work_.start(kCompaction, std::move(*compaction));
  work_.start(with_retry(kSymbols, std::min(symbol_retry, kSymbols.retry)),
              symbols_pass(store::symbols_of(*ingest_), std::move(*symbolizer), std::move(searches),
                           symbol_retry, has_new_binaries_));
  work_.start(kRows, rows_pass(*ingest_, work_));
  return {};
}

Status Server::listen(const config::ServerConfig& config, const RequestWorkers& workers) {
  // People last: whoever gets an answer from /readyz may send profiles at once.
  http::ListenerOptions options;
  options.allow_beyond_loopback = config.access_allow_unauthenticated || authenticator_->asks();
  options.tls = {.certificate = config.certificate, .key = config.key};
  options.access_control = people_access_.get();
  if (!authenticator_->asks()) {
    options.head_rules.hosts = names_of_server(config);
  }
  options.max_buffered_bytes = std::max(memory_share(options.max_buffered_bytes, kPartOfBodies),
                                        static_cast<size_t>(config.max_profile_bytes));
  options.max_unread_bytes = memory_share(options.max_unread_bytes, kPartOfBodies);
  if (auto allowed = allow_connections(config.fleet_max_connections); !allowed) {
    return allowed;
  }
  options.max_connections = kPeopleConnections;
  // Nobody keeps all others out: with a quarter of the connections for them, though many may come from behind one address.
  options.max_connections_of_address = options.max_connections * 3 / 4;
  http::ListenerOptions fleet_options = options;
  fleet_options.address = config.fleet_listen;
  fleet_options.max_connections = static_cast<unsigned>(config.fleet_max_connections);
  fleet_options.max_connections_of_address = 0;  // a whole site may lie behind one address
  fleet_options.connection_bytes = kFleetConnectionBytes;
  fleet_options.access_control = daemons_access_.get();
  fleet_options.tls.client_ca = config.access_machine_ca;
  fleet_options.path_hints = {
      {"/api/", "this address is for daemons; users take that of server.listen (default port 7070)"}};
  auto routes = fleet_routes(config);
  if (!routes) {
    return propagate(routes);
  }
  auto daemons = http::Listener::start(fleet_options, std::move(*routes));
  if (!daemons) {
    return propagate(daemons, "listening for daemons");
  }
  {
    const std::lock_guard lock(mutex_);
    daemons_ = std::move(*daemons);
  }
  options.address = config.listen;
  options.path_hints = {
      {"/fleet/", "this address is for users; daemons take that of server.fleet_listen (default port 7071)"}};
  options.pools = question_pools(config);
  auto routes_of_clients = people_routes(config, workers);
  if (!routes_of_clients) {
    return propagate(routes_of_clients);
  }
  auto people = http::Listener::start(options, std::move(*routes_of_clients));
  if (!people) {
    return propagate(people, "listening for clients");
  }
  const std::lock_guard lock(mutex_);
  people_ = std::move(*people);
  return {};
}

Result<std::vector<http::Route>> Server::fleet_routes(const config::ServerConfig& config) {
  const auto limits = retention_limits(config, config.data_dir);
  if (!limits) {
    return propagate(limits);
  }
  TraceDoorOptions traces{.sample_one_in = static_cast<uint32_t>(config.traces_sample)};
  traces.max_body_bytes = std::min(traces.max_body_bytes, static_cast<size_t>(config.max_profile_bytes));
  traces.max_memory_bytes = memory_share(traces.max_memory_bytes, kPartOfTraces);
  traces.check_room = [folder = config.data_dir, min_bytes = limits->min_free_bytes] {
    return store::expect_free_bytes(folder, min_bytes);
  };
  std::vector<http::Route> routes = fleet_.routes();
  std::ranges::move(trace_routes(*spans_, traces), std::back_inserter(routes));
  return routes;
}

Result<std::vector<http::Route>> Server::people_routes(const config::ServerConfig& config,
                                                       const RequestWorkers& workers) {
  auto annotations = annotate_settings(config, workers.annotations);
  if (!annotations) {
    return propagate(annotations);
  }
  auto experiments = ingest_->directory().open_draws();
  if (!experiments) {
    return propagate(experiments, "reading the definitions of experiments");
  }
  const QueryHooks hooks{
      .write_audit_log = [this] { return authenticator_->log().write(); },
      .running_server = [this] { return running_server(health_.collect()); },
      .retention_limits = [limits = retention_limits(config, config.data_dir)] { return limits; },
      .answered = [this](std::string_view view,
                         int64_t duration_ns) { health_.questions().note(view, duration_ns); }};
  std::vector<http::Route> routes = query_routes(snapshots_, hooks, query_limits(config));
  std::ranges::move(profile_routes(snapshots_, hooks, profile_settings(config, workers.profiles)),
                    std::back_inserter(routes));
  std::ranges::move(annotate_routes(snapshots_, *std::move(annotations)), std::back_inserter(routes));
  std::ranges::move(collection_routes(*breaker_, drawer_.get(), *ingest_, reserve_),
                    std::back_inserter(routes));
  std::ranges::move(experiment_routes(std::move(*experiments), reserve_), std::back_inserter(routes));
  std::ranges::move(access_routes(*authenticator_, snapshots_.data_dir(), reserve_),
                    std::back_inserter(routes));
  std::ranges::move(binary_routes(*binaries_, binary_door(config)), std::back_inserter(routes));
  std::ranges::move(page_routes(web::page_files()), std::back_inserter(routes));
  std::ranges::move(health_routes(health_, [this] { return readiness(work_.all(), wall_now_ns()); }),
                    std::back_inserter(routes));
  return routes;
}

BinaryDoorOptions Server::binary_door(const config::ServerConfig& config) {
  BinaryDoorOptions options{.max_file_bytes = static_cast<uint64_t>(config.binaries_max_file_bytes)};
  options.check_room = [folder = config.data_dir,
                        limits = retention_limits(config, config.data_dir)](uint64_t bytes) -> Status {
    return limits ? store::expect_free_bytes(folder, limits->min_free_bytes + static_cast<int64_t>(bytes))
                  : propagate(limits);
  };
  options.added = [this] {
    *has_new_binaries_ = true;
    work_.wake(kSymbols);
  };
  return options;
}

std::vector<ListenerHealth> Server::listeners() {
  std::vector<ListenerHealth> listeners;
  const std::lock_guard lock(mutex_);
  for (const auto& [name, listener] : {std::pair("clients", people_.get()), {"daemons", daemons_.get()}}) {
    if (listener != nullptr) {
      listeners.push_back({name, listener->address(), listener->counts()});
    }
  }
  return listeners;
}

Status Server::reload(const config::ServerConfig& config) {
  Status done = authenticator_->reload(known_tokens(config));
  for (http::Listener* const listener : {people_.get(), daemons_.get()}) {
    const Status reloaded = listener->reload_certificate();
    done = done ? reloaded : done;
  }
  return done;
}

Server::~Server() {
  stop();
}

void Server::stop() {
  if (people_ != nullptr) {
    people_->give_up_questions();
  }
  if (daemons_ != nullptr) {
    daemons_->stop();
  }
  work_.stop();
  if (people_ != nullptr) {
    people_->stop();
  }
}

}  // namespace plimsoll::server
