#include "server/health/metrics.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <initializer_list>
#include <sstream>
#include <utility>
#include <vector>

#include "base/printable.h"
#include "base/time.h"

namespace plimsoll::server {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricType;

using MetricLabels = std::vector<ClientMetric::Label>;

double seconds(int64_t duration_ns) {
  return static_cast<double>(duration_ns) / static_cast<double>(kNsPerSecond);
}

class Metrics {
 public:
  // The metrics added next are of this name. Counters end in _total, as the format wants it.
  void begin(std::string name, std::string help, MetricType type) {
    families_.push_back({.name = std::move(name), .help = std::move(help), .type = type, .metric = {}});
  }
  void begin_gauge(std::string name, std::string help) {
    begin(std::move(name), std::move(help), MetricType::Gauge);
  }
  void begin_counter(std::string name, std::string help) {
    begin(std::move(name), std::move(help), MetricType::Counter);
  }

  void add(double value, MetricLabels labels = {}) {
    ClientMetric& metric = add_metric(std::move(labels));
    (families_.back().type == MetricType::Counter ? metric.counter.value : metric.gauge.value) = value;
  }
  void add(int64_t value, MetricLabels labels = {}) { add(static_cast<double>(value), std::move(labels)); }

  void add(const ViewTimes& times) {
    ClientMetric& metric = add_metric({{"view", times.view}});
    uint64_t count = 0;
    for (size_t bucket = 0; bucket < kAnswerBucketsS.size(); ++bucket) {
      count += times.counts[bucket];
      metric.histogram.bucket.push_back({count, kAnswerBucketsS[bucket]});
    }
    metric.histogram.sample_count = count + times.counts.back();
    metric.histogram.sample_sum = times.sum_s;
  }

  std::string text() const {
    std::ostringstream text;
    prometheus::TextSerializer().Serialize(text, families_);
    return text.str();
  }

 private:
  ClientMetric& add_metric(MetricLabels labels) {
    // Versions come from outside.
    for (ClientMetric::Label& label : labels) {
      label.value = printable(label.value);
    }
    ClientMetric& metric = families_.back().metric.emplace_back();
    metric.label = std::move(labels);
    return metric;
  }

  std::vector<prometheus::MetricFamily> families_;
};

void add_received(const scheduler::ReceivedProfiles& received, Metrics& metrics) {
  metrics.begin_counter("plimsoll_profiles_received_total", "Uploads of profiles by daemons, by result");
  metrics.add(received.accepted, {{"result", "accepted"}});
  metrics.add(received.duplicate, {{"result", "duplicate"}});
  metrics.add(received.refused, {{"result", "refused"}});
  metrics.add(received.failed, {{"result", "failed"}});
  metrics.begin_counter("plimsoll_samples_received_total", "Samples in accepted profiles, over all events");
  metrics.add(received.samples);
  metrics.begin_counter("plimsoll_samples_lost_total",
                        "Samples that kernels took and could not hand over, in accepted profiles");
  metrics.add(received.lost_samples);
}

void add_store(const store::StoreHealth& store, Metrics& metrics) {
  metrics.begin_gauge("plimsoll_profiles_pending", "Accepted profiles that have no rows yet");
  metrics.add(store.profiles_pending);
  metrics.begin_gauge("plimsoll_profiles_set_aside", "Accepted profiles from which no rows can be built");
  metrics.add(store.profiles_set_aside);
  metrics.begin_gauge("plimsoll_locations", "Code addresses that symbols could name");
  metrics.add(store.locations);
  metrics.begin_gauge("plimsoll_locations_without_symbols_ratio",
                      "Share of the code addresses that have no name");
  metrics.add(store.locations == 0 ? 0.0
                                   : static_cast<double>(store.locations_without_symbols) /
                                         static_cast<double>(store.locations));
  metrics.begin_gauge("plimsoll_binaries", "Binaries by the state of their symbols");
  metrics.add(store.binaries_found, {{"symbols", "found"}});
  metrics.add(store.binaries_pending, {{"symbols", "pending"}});
  metrics.add(store.binaries_missing, {{"symbols", "missing"}});
  metrics.begin_gauge("plimsoll_blocks_unreadable",
                      "Blocks that are left out of results because they are damaged");
  metrics.add(store.blocks_unreadable);
  metrics.begin_gauge("plimsoll_data_directory_bytes", "Disk space allocated to the data directory");
  metrics.add(store.disk_bytes);
  metrics.begin_gauge("plimsoll_data_directory_free_bytes",
                      "Free disk space in the file system of the data directory");
  metrics.add(store.disk_free_bytes);
}

void add_measured(const MeasuredFacts& measured, int64_t now_ns, Metrics& metrics) {
  if (measured.store) {
    add_store(*measured.store, metrics);
  }
  metrics.begin_gauge("plimsoll_data_directory_measured_age_seconds",
                      "Age of the metrics of the data directory, machines and stops");
  metrics.add(seconds(std::max<int64_t>(now_ns - measured.measured_ns, 0)));
  metrics.begin_gauge("plimsoll_data_directory_measuring_failed",
                      "1 if the newest measurement of the data directory failed, else 0");
  metrics.add(measured.store_error.empty() ? 0.0 : 1.0);
  metrics.begin_gauge("plimsoll_machines", "Registered machines by state and version of plimsolld");
  for (const auto& [version, machines] : measured.machines_by_version) {
    metrics.add(machines.live, {{"state", "live"}, {"version", version}});
    metrics.add(machines.offline, {{"state", "offline"}, {"version", version}});
  }
  metrics.begin_gauge("plimsoll_collection_stops", "Stops of collection in force, by origin");
  metrics.add(measured.stops_by_hand, {{"by", "hand"}});
  metrics.add(measured.stops_by_failures, {{"by", "failures"}});
}

void add_daemons(const scheduler::DaemonTotals& daemons, Metrics& metrics) {
  const auto gauge = [&metrics](const char* name, const char* help, auto value) {
    metrics.begin_gauge(name, help);
    metrics.add(value);
  };
  gauge("plimsoll_daemons_reporting", "Live daemons whose status is known", daemons.reporting);
  gauge("plimsoll_daemons_with_problem", "Live daemons that report a problem", daemons.with_problem);
  gauge("plimsoll_daemons_slowed_down", "Live daemons that collect less to stay within their limits",
        daemons.slowed_down);
  metrics.begin_gauge("plimsoll_daemons_bursts", "Live daemons by whether they can record bursts");
  metrics.add(daemons.can_record_bursts, {{"can_record", "yes"}});
  metrics.add(daemons.cannot_record_bursts, {{"can_record", "no"}});
  metrics.add(daemons.bursts_not_reported, {{"can_record", "not reported"}});
  gauge("plimsoll_daemon_recordings_queued", "Recordings of bursts in the spools of live daemons",
        daemons.recordings_queued);
  gauge("plimsoll_daemon_profiles_queued", "Profiles in the spools of live daemons", daemons.profiles_queued);
  gauge("plimsoll_daemon_spooled_bytes", "Size of the profiles in the spools of live daemons",
        daemons.spooled_bytes);
  gauge("plimsoll_daemon_cpu_limit_used_max_ratio",
        "Highest CPU use of a live daemon as a fraction of its limit", daemons.max_cpu_of_limit);
  metrics.begin_counter("plimsoll_daemon_profiles_dropped_total",
                        "Profiles that daemons dropped, by reason, as their heartbeats report");
  const scheduler::DaemonTotals::Dropped& dropped = daemons.profiles_dropped;
  metrics.add(dropped.no_room, {{"reason", "no_room"}});
  metrics.add(dropped.too_old, {{"reason", "too_old"}});
  metrics.add(dropped.damaged, {{"reason", "damaged"}});
  metrics.add(dropped.disk, {{"reason", "disk"}});
  metrics.add(dropped.missing, {{"reason", "missing"}});
  metrics.begin_counter("plimsoll_daemon_profiles_refused_total",
                        "Profiles that daemons gave up because the server refused them");
  metrics.add(daemons.profiles_refused);
}

void add_work(const std::vector<query::BackgroundWorkHealth>& works, int64_t now_ns, Metrics& metrics) {
  const auto each = [&](const auto& value) {
    for (const query::BackgroundWorkHealth& work : works) {
      metrics.add(value(work), {{"work", work.name}});
    }
  };
  // 0 where there is no such time.
  const auto age = [now_ns](int64_t since_ns) {
    return since_ns == 0 ? 0.0 : seconds(std::max<int64_t>(now_ns - since_ns, 0));
  };
  metrics.begin_gauge("plimsoll_background_work_failing", "1 if the newest pass failed, else 0");
  each([](const auto& work) { return work.is_failing() ? 1.0 : 0.0; });
  metrics.begin_gauge("plimsoll_background_work_failing_seconds",
                      "Time since the first of the passes that failed in a row; 0 after a success");
  each([&](const auto& work) { return age(work.failing_since_ns); });
  metrics.begin_counter("plimsoll_background_work_errors_total", "Passes that failed");
  each([](const auto& work) { return work.errors; });
  metrics.begin_gauge("plimsoll_background_work_last_error_age_seconds",
                      "Time since the newest pass that failed; no series before the first");
  for (const query::BackgroundWorkHealth& work : works) {
    if (work.last_error_ns != 0) {
      // Without its error: each text would make another series, and texts name paths of the server.
      metrics.add(age(work.last_error_ns), {{"work", work.name}});
    }
  }
  metrics.begin_gauge("plimsoll_background_work_running_seconds",
                      "Time since the start of the running pass; 0 between passes");
  each([&](const auto& work) { return age(work.running_since_ns); });
  metrics.begin_gauge("plimsoll_background_work_success_age_seconds",
                      "Time since the end of the newest successful pass; no series before the first");
  for (const query::BackgroundWorkHealth& work : works) {
    if (work.newest_success_ns != 0) {
      metrics.add(age(work.newest_success_ns), {{"work", work.name}});
    }
  }
}

void add_listeners(const std::vector<ListenerHealth>& listeners, Metrics& metrics) {
  metrics.begin_counter("plimsoll_http_requests_total", "HTTP requests by listener and class of status");
  for (const ListenerHealth& listener : listeners) {
    for (size_t i = 0; i < listener.counts.answers.size(); ++i) {
      metrics.add(static_cast<double>(listener.counts.answers[i]),
                  {{"listener", listener.name}, {"status", std::to_string(i + 1) + "xx"}});
    }
  }
  metrics.begin_gauge("plimsoll_http_connections", "Open connections by listener");
  for (const ListenerHealth& listener : listeners) {
    metrics.add(static_cast<double>(listener.counts.connections), {{"listener", listener.name}});
  }
}

void add_pools(const std::vector<ListenerHealth>& listeners, Metrics& metrics) {
  const auto each = [&](const auto& value) {
    for (const ListenerHealth& listener : listeners) {
      for (const http::PoolCounts& pool : listener.counts.pools) {
        metrics.add(static_cast<double>(value(pool.counts)),
                    {{"listener", listener.name}, {"pool", std::string(pool.name)}});
      }
    }
  };
  metrics.begin_gauge("plimsoll_http_requests_waiting", "Requests that wait for a thread of their pool");
  each([](const http::WorkCounts& counts) { return counts.waiting; });
  metrics.begin_gauge("plimsoll_http_requests_running", "Requests that a thread of their pool handles");
  each([](const http::WorkCounts& counts) { return counts.running; });
  metrics.begin_counter("plimsoll_http_requests_refused_total",
                        "Requests refused because too many were waiting, of all or of their caller");
  each([](const http::WorkCounts& counts) { return counts.refused; });
  metrics.begin_counter("plimsoll_http_requests_cancelled_total",
                        "Queries given up because their client had gone or the server was stopping");
  each([](const http::WorkCounts& counts) { return counts.cancelled; });
}

void add_symbolizers(const std::vector<query::SymbolizerWorkerHealth>& workers, Metrics& metrics) {
  const auto each = [&](const auto& value) {
    for (const query::SymbolizerWorkerHealth& worker : workers) {
      metrics.add(value(worker), {{"worker", worker.name}});
    }
  };
  metrics.begin_gauge("plimsoll_symbolizer_worker_leases", "Builds that a symbolizer worker works on");
  each([](const auto& worker) { return worker.leases; });
  metrics.begin_counter("plimsoll_symbolizer_worker_tables_total",
                        "Symbol tables that were taken from a symbolizer worker");
  each([](const auto& worker) { return worker.tables; });
  metrics.begin_counter("plimsoll_symbolizer_worker_failures_total",
                        "Builds of which a symbolizer worker could make no table");
  each([](const auto& worker) { return worker.failures; });
  metrics.begin_counter("plimsoll_symbolizer_worker_refused_total",
                        "Tables of a symbolizer worker that were damaged or not of the build");
  each([](const auto& worker) { return worker.refused; });
  metrics.begin_counter("plimsoll_symbolizer_worker_expired_total",
                        "Leases that a symbolizer worker neither renewed nor ended");
  each([](const auto& worker) { return worker.expired; });
}

// The names that Prometheus's client libraries have in common.
void add_process(const ProcessHealth& process, Metrics& metrics) {
  const auto gauge = [&metrics](const char* name, const char* help, auto value) {
    metrics.begin_gauge(name, help);
    metrics.add(value);
  };
  metrics.begin_counter("process_cpu_seconds_total", "CPU time of the process");
  metrics.add(process.cpu_s);
  gauge("process_resident_memory_bytes", "Resident memory of the process", process.resident_bytes);
  gauge("process_virtual_memory_bytes", "Virtual memory of the process", process.virtual_bytes);
  gauge("process_start_time_seconds", "Start of the process, since 1970", process.start_s);
  gauge("process_open_fds", "Open file descriptors of the process", process.open_fds);
  gauge("process_max_fds", "Limit on open file descriptors of the process", process.max_fds);
}

}  // namespace

std::string metrics_text(const ServerHealth& health) {
  Metrics metrics;
  metrics.begin_gauge("plimsoll_build_info", "1, with the version of the server");
  metrics.add(1.0, {{"version", health.version}});
  add_received(health.received, metrics);
  add_measured(health.measured, health.now_ns, metrics);
  add_daemons(health.daemons, metrics);
  metrics.begin("plimsoll_question_duration_seconds", "Time that answers of views took",
                MetricType::Histogram);
  for (const ViewTimes& times : health.questions) {
    metrics.add(times);
  }
  add_work(health.work, health.now_ns, metrics);
  add_symbolizers(health.symbolizers, metrics);
  add_listeners(health.listeners, metrics);
  add_pools(health.listeners, metrics);
  add_process(health.process, metrics);
  return metrics.text();
}

}  // namespace plimsoll::server
