#include "server/server.h"

#include <chrono>

#include "base/log.h"
#include "server/query_api.h"
#include "server/row_pipeline.h"

namespace plimsoll::server {
namespace {

constexpr std::chrono::milliseconds kGatherInterval{1000};

// After a failure (disk full, say) the pipeline tries again this often.
constexpr std::chrono::nanoseconds kRetryInterval = std::chrono::seconds(2);

scheduler::FleetOptions fleet_options(const config::ServerConfig& config) {
  scheduler::FleetOptions options;
  options.heartbeat_interval_ns = config.heartbeat_ns;
  options.limits.max_encoded_bytes = static_cast<uint64_t>(config.max_profile_bytes);
  wire::Assignment& assignment = options.assignment;
  assignment.set_id("continuous");
  assignment.set_rate_hz(static_cast<uint32_t>(config.collect_rate_hz));
  assignment.set_stack_rate_hz(static_cast<uint32_t>(config.collect_stack_rate_hz));
  assignment.set_stack_bytes(static_cast<uint32_t>(config.collect_stack_bytes));
  assignment.set_duration_ns(config.collect_window_ns);
  assignment.set_continuous(true);
  for (const std::string& event : config.collect_events) {
    assignment.add_events()->set_name(event);
  }
  return options;
}

http::Response plain_text(unsigned status, std::string text) {
  http::Response response;
  response.status = status;
  response.content_type = "text/plain; charset=utf-8";
  response.body = std::move(text);
  return response;
}

}  // namespace

Server::Server(std::unique_ptr<store::Ingest> ingest, symbolizer::Symbolizer symbolizer,
               std::stop_source symbol_searches, const config::ServerConfig& config)
    : ingest_(std::move(ingest)),
      symbolizer_(std::move(symbolizer)),
      symbol_searches_(std::move(symbol_searches)),
      symbol_retry_(config.symbol_retry_ns),
      snapshots_(ingest_->directory().path()),
      fleet_(*ingest_, fleet_options(config), [this] {
        const std::lock_guard lock(mutex_);
        pending_ = true;
        wake_.notify_one();
      }) {}

Result<std::unique_ptr<Server>> Server::start(const config::ServerConfig& config,
                                              std::vector<std::string> table_worker) {
  if (config.data_dir.empty()) {
    return with_field(fail(ErrorCode::kInvalid, "no data directory is given"), "--data");
  }
  auto ingest = store::Ingest::open(config.data_dir);
  if (!ingest) {
    return propagate(ingest, "opening the data directory {}", config.data_dir);
  }
  std::stop_source symbol_searches;
  const symbolizer::ProcessLimits limits{.memory_bytes =
                                             static_cast<uint64_t>(config.symbol_max_memory_bytes)};
  auto symbolizer =
      symbolizer::Symbolizer::open(config.data_dir, {config.symbol_roots, config.symbol_debug_roots},
                                   std::move(table_worker), {limits, symbol_searches.get_token()});
  if (!symbolizer) {
    return propagate(symbolizer);
  }
  std::unique_ptr<Server> server(
      new Server(std::move(*ingest), std::move(*symbolizer), std::move(symbol_searches), config));
  if (auto listening = server->listen(config); !listening) {
    return propagate(listening);
  }
  if (auto started = server->start_threads(config); !started) {
    return propagate(started);
  }
  return server;
}

Status Server::start_threads(const config::ServerConfig& config) {
  auto compaction =
      CompactionThread::start(*ingest_, {.max_rows = static_cast<uint64_t>(config.store_max_segment_rows)});
  if (!compaction) {
    return propagate(compaction);
  }
  compaction_ = std::move(*compaction);
  builder_ = std::thread([this] { build_rows(); });
  return {};
}

Status Server::listen(const config::ServerConfig& config) {
  // People last: whoever gets an answer from /readyz may send profiles at once.
  http::ListenerOptions options;
  options.max_buffered_bytes =
      std::max(options.max_buffered_bytes, static_cast<size_t>(config.max_profile_bytes));
  options.address = config.fleet_listen;
  auto daemons = http::Listener::start(options, fleet_.routes());
  if (!daemons) {
    return propagate(daemons, "listening for daemons");
  }
  daemons_ = std::move(*daemons);
  options.address = config.listen;
  auto people = http::Listener::start(options, people_routes());
  if (!people) {
    return propagate(people, "listening for people");
  }
  people_ = std::move(*people);
  return {};
}

std::vector<http::Route> Server::people_routes() {
  std::vector<http::Route> routes = query_routes(snapshots_);
  routes.push_back(
      {"GET", "/healthz", false, 0, [](const http::Request&) { return plain_text(200, "ok\n"); }});
  routes.push_back({"GET", "/readyz", false, 0, [this](const http::Request&) {
                      const std::lock_guard lock(mutex_);
                      return pipeline_status_ ? plain_text(200, "ready\n")
                                              : http::error_response(pipeline_status_.error());
                    }});
  return routes;
}

Server::~Server() {
  stop();
}

void Server::stop() {
  if (daemons_ != nullptr) {
    daemons_->stop();
  }
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    wake_.notify_one();
  }
  symbol_searches_.request_stop();
  if (builder_.joinable()) {
    builder_.join();
  }
  compaction_.reset();
  if (people_ != nullptr) {
    people_->stop();
  }
}

bool Server::wait_for_work() {
  std::unique_lock lock(mutex_);
  // Without a profile too: better symbols may have appeared.
  const auto interval = pipeline_status_ ? symbol_retry_ : std::min(symbol_retry_, kRetryInterval);
  wake_.wait_for(lock, interval, [this] { return pending_ || stopping_; });
  if (!pending_ && stopping_ && pipeline_status_) {
    return false;
  }
  if (pending_) {
    // Profiles that come close together become one segment.
    wake_.wait_for(lock, kGatherInterval, [this] { return stopping_; });
  }
  pending_ = false;
  return true;
}

void Server::build_rows() {
  using Clock = std::chrono::steady_clock;
  auto next_retry = Clock::now();
  while (wait_for_work()) {
    const auto now = Clock::now();
    const bool is_retry = now >= next_retry;
    const auto report = run_pipeline(*ingest_, symbolizer_, is_retry);
    if (is_retry && report) {
      next_retry = now + symbol_retry_;
    }
    if (!report) {
      log_error("{}", report.error().text());
    } else if (report->has_news()) {
      log_info("{} profiles became {} rows; {} of {} new locations have names", report->profiles,
               report->rows, report->names.named, report->names.locations);
      for (const std::string& improved : report->names.improved) {
        log_info("{}", improved);
      }
    }
    if (report && report->rows > 0) {
      compaction_->wake();
    }
    const std::lock_guard lock(mutex_);
    pipeline_status_ = report ? Status() : propagate(report);
    if (stopping_ && !pipeline_status_) {
      return;  // what is pending stays accepted, and is built at the next start
    }
  }
}

}  // namespace plimsoll::server
