// What `plimsoll server` reads from its configuration.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/access_token.h"
#include "config/settings.h"

namespace plimsoll::config {

struct ServerConfig {
  std::string data_dir;
  std::string listen = "127.0.0.1:7070";
  std::string fleet_listen = "127.0.0.1:7071";
  std::vector<std::string> hosts;  // names that clients may call it by
  std::string certificate;         // files; empty: no TLS
  std::string key;

  std::vector<AccessToken> access_tokens;
  std::string access_machine_ca;  // file; empty: machines have no certificates
  bool access_allow_unauthenticated = false;
  int64_t access_max_requests_per_minute = 600;  // of each machine; 0: no limit
  int64_t access_max_requests_per_minute_per_token =
      6'000;  // of each token that asks or hands in; 0: no limit

  std::vector<std::string> collect_events;  // empty: the daemon's default event
  int64_t collect_rate_hz = 99;
  int64_t collect_stack_rate_hz = 0;   // 0: as collect_rate_hz
  int64_t collect_branch_rate_hz = 0;  // 0: none
  int64_t collect_stack_bytes = 16 << 10;
  int64_t collect_window_ns = 10'000'000'000;
  std::vector<std::string> collect_application_kinds;  // empty: none

  int64_t draw_interval_ns = 0;  // 0: every machine collects continuously
  double draw_percent = 1;
  int64_t draw_machines = 0;  // 0: by draw_percent
  std::vector<std::string> draw_strata = {"platform"};
  int64_t draw_min_per_stratum = 2;
  double draw_min_per_job = 0;
  double draw_max_percent_per_job = 10;
  double draw_max_percent_per_platform = 10;
  double draw_max_percent_per_rack = 10;
  double draw_max_overhead_percent = 0.01;
  int64_t draw_cooldown_ns = 0;              // 0: machines may be drawn at any time
  std::vector<std::string> draw_event_sets;  // each of names with spaces between; empty: collect_events
  int64_t draw_late_after_ns = 60'000'000'000;
  double draw_stop_percent = 20;
  int64_t draw_stop_min_failures = 5;
  int64_t draw_stop_pause_ns = 3'600'000'000'000;

  std::string bursts_config;  // of draws, "M,N"; empty: none are recorded
  int64_t bursts_duration_ns = 300'000'000'000;
  std::vector<std::string> bursts_events;
  int64_t bursts_max_bytes = 0;            // 0: each daemon's limit
  double bursts_max_overhead_percent = 0;  // likewise

  int64_t query_threads = 0;  // 0: one more than there are processors
  int64_t query_sql_threads = 3;
  int64_t query_max_pending = 512;
  int64_t query_max_time_ns = int64_t{300} * 1'000'000'000;
  int64_t query_sql_max_time_ns = int64_t{60} * 1'000'000'000;
  int64_t query_sql_max_memory_bytes = int64_t{256} << 20;

  std::string inventory_machines;  // file or URL; empty: none
  std::string inventory_jobs;      // likewise
  int64_t inventory_interval_ns = 60'000'000'000;

  int64_t heartbeat_ns = 5'000'000'000;
  int64_t fleet_max_connections = 16'384;
  int64_t fleet_machine_ttl_ns = int64_t{30} * 24 * 3600 * 1'000'000'000;
  int64_t max_profile_bytes = int64_t{64} << 20;
  std::vector<std::string> symbol_roots = {"/usr", "/lib", "/opt", "/home", "/root",
                                           "/srv", "/tmp", "/bin", "/sbin"};
  std::vector<std::string> symbol_debug_roots = {"/usr/lib/debug"};
  std::vector<std::string> source_roots;  // as annotate::parse_source_root() reads them
  std::vector<std::string> source_urls;   // as server::parse_source_servers() reads them
  std::string store_address;              // empty: rows are in the data directory
  std::string store_password_file;
  std::string store_ca;
  bool store_replicated = false;
  int64_t store_insert_quorum = 2;
  std::vector<std::string> store_shards;  // addresses of further databases that rows are split over
  int64_t store_max_segment_rows = int64_t{64} << 20;
  int64_t store_max_block_bytes = int64_t{512} << 20;
  int64_t store_max_block_age_ns = int64_t{24} * 3600 * 1'000'000'000;
  // As store::RetentionLimits has them.
  int64_t retention_raw_max_age_ns = int64_t{30} * 24 * 3600 * 1'000'000'000;
  int64_t retention_raw_max_bytes = 0;
  int64_t retention_rows_max_age_ns = int64_t{400} * 24 * 3600 * 1'000'000'000;
  int64_t retention_rows_max_bytes = 0;
  int64_t retention_full_max_age_ns = int64_t{30} * 24 * 3600 * 1'000'000'000;
  int64_t retention_full_max_bytes = 0;
  int64_t retention_symbols_max_bytes = 0;
  int64_t retention_traces_max_age_ns = int64_t{7} * 24 * 3600 * 1'000'000'000;
  int64_t retention_traces_max_bytes = 0;
  int64_t retention_bursts_max_age_ns = int64_t{7} * 24 * 3600 * 1'000'000'000;
  int64_t retention_bursts_max_bytes = 0;
  int64_t retention_min_free_bytes = 0;
  int64_t retention_max_upload_age_ns = int64_t{7} * 24 * 3600 * 1'000'000'000;
  std::string objects_address;  // as objects::open_object_store() reads them; empty: none
  std::string objects_endpoint;
  std::string objects_region = "us-east-1";
  std::string objects_credentials_file;
  std::string objects_ca;
  int64_t objects_interval_ns = 60'000'000'000;
  int64_t objects_keep_dropped_ns = int64_t{7} * 24 * 3600 * 1'000'000'000;
  int64_t traces_sample = 1;  // one trace of so many is kept
  std::vector<std::string> traces_attributes = {
      "host.type",    "host.cpu.model.name",     "host.arch",
      "cloud.region", "cloud.availability_zone", "deployment.environment.name",
      "http.route"};
  bool traces_diagnose = true;
  int64_t traces_findings_max_age_ns = int64_t{30} * 24 * 3600 * 1'000'000'000;
  int64_t symbol_retry_ns = 10'000'000'000;
  int64_t symbol_max_memory_bytes = int64_t{1} << 30;
  std::vector<std::string> symbol_debuginfod;  // as symbolizer::parse_debuginfod_servers() reads them
  int64_t symbol_debuginfod_max_bytes = int64_t{2} << 30;
  int64_t symbol_debuginfod_max_time_ns = int64_t{120} * 1'000'000'000;
  int64_t symbol_debuginfod_retry_ns = int64_t{24} * 3600 * 1'000'000'000;
  int64_t symbol_worker_lease_ns = int64_t{30} * 1'000'000'000;
  int64_t symbol_worker_grace_ns = int64_t{5} * 1'000'000'000;

  int64_t binaries_max_bytes = int64_t{20} << 30;
  int64_t binaries_max_file_bytes = int64_t{4} << 30;
  int64_t binaries_max_age_ns = 2160LL * 3600 * 1'000'000'000;
  bool binaries_from_machines = false;
  std::string binaries_content = "debug";  // check_binary_content()

  // Of `plimsoll server --role symbolizer` alone:
  std::string symbolizer_server;      // address of the server; empty: this is no worker
  std::string symbolizer_token_file;  // empty: no token
  std::string symbolizer_server_ca;   // empty: the machine's trust store
  std::string symbolizer_name;        // empty: the machine's name
  std::string symbolizer_folder = "/var/cache/plimsoll-symbolizer";
  int64_t symbolizer_parallel = 0;  // 0: as many as there are CPUs
  int64_t symbolizer_max_bytes = int64_t{20} << 30;
  std::string symbolizer_listen = "127.0.0.1:7072";

  // Of `plimsoll server --role ingest` alone:
  std::string ingest_server;      // address for daemons of the primary; empty: this is no ingest server
  std::string ingest_token_file;  // empty: no token
  std::string ingest_server_ca;   // empty: the machine's trust store
  int64_t ingest_connections = 4;
  int64_t ingest_max_waiting_bytes = int64_t{256} << 20;

  // Of `plimsoll server --role query` alone:
  std::string
      primary_server;  // address of the API of the server that has the data directory; empty: there is none
  std::string primary_token_file;  // empty: no token
  std::string primary_ca;          // empty: the machine's trust store
  int64_t primary_interval_ns = 10'000'000'000;

  // The keys point into this object.
  std::vector<Key> keys();
};

// Values that make no sense together are kInvalid.
Result<ServerConfig> load_server_config(const LoadInputs& inputs);

}  // namespace plimsoll::config
