#include "server/server.h"

#include <algorithm>
#include <chrono>

#include "base/log.h"
#include "base/process_memory.h"
#include "base/time.h"
#include "objects/object_store.h"
#include "query/traces/stored_requests.h"
#include "server/background/work_kinds.h"
#include "server/fleet_settings.h"
#include "server/passes.h"
#include "server/store_settings.h"
#include "server/symbol_settings.h"
#include "server/trace_diagnosis.h"
#include "symbolizer/debuginfod/debuginfod_fetcher.h"

namespace plimsoll::server {
namespace {

constexpr std::chrono::nanoseconds kAuditInterval = std::chrono::minutes(1);
// Each batch is an insert into each table of a dozen, which the database must merge.
constexpr std::chrono::nanoseconds kGatherForRowStore = std::chrono::seconds(3);

// Of the memory that the process may have.
constexpr uint64_t kShareOfHourlyDiagnosis = 8;

}  // namespace

Server::Server(std::unique_ptr<store::Ingest> ingest, std::unique_ptr<store::SpanSink> spans,
               std::unique_ptr<store::BurstSink> bursts,
               std::unique_ptr<symbolizer::BinaryRepository> binaries,
               std::unique_ptr<Authenticator> authenticator,
               std::unique_ptr<scheduler::CollectionBreaker> breaker,
               std::unique_ptr<scheduler::Drawer> drawer, const config::ServerConfig& config)
    : ingest_(std::move(ingest)),
      spans_(std::move(spans)),
      bursts_(std::move(bursts)),
      binaries_(std::move(binaries)),
      tables_(*binaries_, exchange_settings(config, [this] { work_.wake(kSymbols); })),
      reserve_(ingest_->directory().reserve_path()),
      copies_(ingest_->directory().path()),
      snapshots_(ingest_->directory().path()),
      authenticator_(std::move(authenticator)),
      people_access_(authenticator_->access_control(Authenticator::Notes::kAll)),
      daemons_access_(authenticator_->access_control(Authenticator::Notes::kRefusals)),
      breaker_(std::move(breaker)),
      drawer_(std::move(drawer)),
      fleet_(*ingest_, fleet_options(config, *authenticator_), *breaker_, drawer_.get(),
             [this] { work_.wake(kRows); }),
      health_(
          ingest_->directory().path(), fleet_, work_, [this] { return listeners(); },
          [this] { return symbolizers(); }) {}

Result<std::unique_ptr<Server>> Server::start(const config::ServerConfig& config,
                                              symbolizer::TableWorker table_worker,
                                              const RequestWorkers& request_workers,
                                              std::function<void()> must_end) {
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
  auto bursts = store::open_burst_sink((*ingest)->directory());
  if (!bursts) {
    return propagate(bursts, "opening the data directory {}", config.data_dir);
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
  std::unique_ptr<Server> server(new Server(std::move(*ingest), std::move(*spans), std::move(*bursts),
                                            std::move(*binaries), std::move(*authenticator),
                                            std::move(*breaker), std::move(*drawer), config));
  server->must_end_ = std::move(must_end);
  if (auto listening = server->listen(config, request_workers); !listening) {
    return propagate(listening);
  }
  if (auto started = server->start_work(config, std::move(table_worker)); !started) {
    return propagate(started);
  }
  return server;
}

Status Server::watch_writer() {
  auto pass = writer_pass(*ingest_, [this](const Error& error) {
    {
      const std::lock_guard lock(mutex_);
      taken_over_ = error;
    }
    if (must_end_) {
      must_end_();
    }
  });
  if (!pass) {
    return propagate(pass);
  }
  work_.start(kWriter, std::move(*pass));
  return {};
}

std::optional<Error> Server::taken_over() {
  const std::lock_guard lock(mutex_);
  return taken_over_;
}

Status Server::start_work(const config::ServerConfig& config, symbolizer::TableWorker table_worker) {
  if (const Status watched = watch_writer(); !watched) {
    return watched;
  }
  work_.start(kAudit, [this](const std::stop_token&) -> Result<NextPass> {
    const Status written = authenticator_->log().end_minute();
    return written ? Result<NextPass>(NextPass{.after = kAuditInterval}) : propagate(written);
  });
  if (const Status planned = start_fleet_work(config); !planned) {
    return planned;
  }
  if (const Status kept = start_store_work(config); !kept) {
    return kept;
  }
  if (const Status named = start_symbol_work(config, std::move(table_worker)); !named) {
    return named;
  }
  const bool is_elsewhere = ingest_->row_store() != nullptr;
  work_.start(is_elsewhere ? with_gather(kRows, kGatherForRowStore) : kRows, rows_pass(*ingest_, work_));
  return {};
}

Status Server::start_fleet_work(const config::ServerConfig& config) {
  auto inventory = inventory_pass({.machines = config.inventory_machines,
                                   .jobs = config.inventory_jobs,
                                   .interval_ns = config.inventory_interval_ns,
                                   .machine_ttl_ns = config.fleet_machine_ttl_ns},
                                  *ingest_);
  if (!inventory) {
    return propagate(inventory);
  }
  work_.start(with_retry(kInventory, std::chrono::nanoseconds(config.inventory_interval_ns)),
              std::move(*inventory));
  if (drawer_ == nullptr) {
    return {};
  }
  auto draws = draws_pass(*drawer_, *ingest_);
  if (!draws) {
    return propagate(draws);
  }
  work_.start(kDraws, std::move(*draws));
  return {};
}

Status Server::start_store_work(const config::ServerConfig& config) {
  const auto retained = retention_limits(config, config.data_dir);
  if (!retained) {
    return propagate(retained);
  }
  work_.start(kRetention, retention_pass(*ingest_, *retained, [this] { snapshots_.forget_dropped(); }));
  work_.start(kSpans, spans_pass(*spans_, *retained, free_bytes(config)));
  work_.start(kBursts, bursts_pass(*bursts_, *retained, free_bytes(config)));
  if (const Status copied = start_copying(config); !copied) {
    return copied;
  }
  if (config.traces_diagnose) {
    work_.start(kTraceDiagnosis,
                trace_diagnosis_pass({.data_dir = config.data_dir,
                                      .max_spans = std::min(query::kMaxReadSpans,
                                                            max_memory_bytes() / kShareOfHourlyDiagnosis /
                                                                query::kBytesOfReadSpan),
                                      .max_age_ns = config.traces_findings_max_age_ns}));
  }
  return start_row_work(config, *retained);
}

Status Server::start_copying(const config::ServerConfig& config) {
  if (config.objects_address.empty()) {
    return {};
  }
  if (const Status is_apart = check_object_folder(config); !is_apart) {
    return is_apart;
  }
  auto store = objects::open_object_store(object_store_address(config));
  if (!store) {
    return with_field(propagate(store), "objects.address");
  }
  work_.start(kObjects,
              objects_pass(std::make_unique<store::WriteBehind>(
                               config.data_dir, *std::move(store),
                               store::WriteBehindOptions{.keep_dropped_ns = config.objects_keep_dropped_ns}),
                           std::chrono::nanoseconds(config.objects_interval_ns)));
  return {};
}

Status Server::start_row_work(const config::ServerConfig& config, const store::RetentionLimits& limits) {
  const auto dropped = [this] { snapshots_.forget_dropped(); };
  if (store::RowStore* const rows = ingest_->row_store(); rows != nullptr) {
    const int64_t max_bytes = config.retention_rows_max_bytes;  // 0: what its disk has is not ours to say
    work_.start(kEpochs,
                epochs_pass(*rows,
                            {.max_age_ns = limits.rows_max_age_ns,
                             .max_bytes = max_bytes == 0 ? UINT64_MAX : static_cast<uint64_t>(max_bytes)},
                            dropped));
    return {};
  }
  auto compaction =
      compaction_pass(*ingest_, {.max_rows = static_cast<uint64_t>(config.store_max_segment_rows)});
  if (!compaction) {
    return propagate(compaction);
  }
  work_.start(kRollUp, roll_up_pass(*ingest_, limits, dropped));
  work_.start(kCompaction, std::move(*compaction));
  return {};
}

Status Server::start_symbol_work(const config::ServerConfig& config, symbolizer::TableWorker table_worker) {
  std::stop_source searches;
  const symbolizer::ProcessLimits limits{.memory_bytes =
                                             static_cast<uint64_t>(config.symbol_max_memory_bytes)};
  auto symbolizer =
      symbolizer::Symbolizer::open(config.data_dir, symbol_roots(config), std::move(table_worker),
                                   {limits, searches.get_token(), &tables_});
  if (!symbolizer) {
    return propagate(symbolizer);
  }
  const std::chrono::nanoseconds symbol_retry(config.symbol_retry_ns);
  work_.start(kBinaries, binaries_pass(*binaries_, snapshots_));
  work_.start(with_retry(kSymbols, std::min(symbol_retry, kSymbols.retry)),
              symbols_pass(store::symbols_of(*ingest_), std::move(*symbolizer), std::move(searches),
                           symbol_retry, has_new_binaries_));
  return start_fetching(config);
}

Status Server::start_fetching(const config::ServerConfig& config) {
  auto servers = symbolizer::parse_debuginfod_servers(config.symbol_debuginfod);
  if (!servers) {
    return with_field(propagate(servers), "symbols.debuginfod");
  }
  if (servers->empty() && !config.binaries_from_machines) {
    return {};
  }
  const BinaryDoorOptions door = binary_door(config);
  symbolizer::DebuginfodSettings settings{
      .servers = *std::move(servers),
      .per_build = {.bytes = static_cast<uint64_t>(config.symbol_debuginfod_max_bytes),
                    .time_ns = config.symbol_debuginfod_max_time_ns},
      .retry_ns = config.symbol_debuginfod_retry_ns,
      .check_room = door.check_room};
  work_.start(
      kFetch,
      fetch_pass(std::make_unique<symbolizer::DebuginfodFetcher>(std::move(settings), *binaries_), snapshots_,
                 wanted_builds_, std::chrono::nanoseconds(config.symbol_retry_ns), door.added,
                 config.binaries_from_machines && door.machine_content == elf::BinaryPart::kWholeFile));
  return {};
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

std::vector<query::SymbolizerWorkerHealth> Server::symbolizers() {
  const int64_t to_wall_ns = wall_now_ns() - monotonic_now_ns();
  std::vector<query::SymbolizerWorkerHealth> workers;
  for (const symbolizer::WorkerAccount& account : tables_.workers()) {
    workers.push_back({.name = account.name,
                       .leases = static_cast<int64_t>(account.leases),
                       .tables = static_cast<int64_t>(account.tables),
                       .failures = static_cast<int64_t>(account.failures),
                       .refused = static_cast<int64_t>(account.refused),
                       .expired = static_cast<int64_t>(account.expired),
                       .newest_request_ns = account.newest_request_ns + to_wall_ns,
                       .newest_failure = account.newest_failure});
  }
  return workers;
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
