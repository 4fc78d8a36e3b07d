#include "config/server_storage_keys.h"

#include <cstdint>

#include "base/time.h"

namespace plimsoll::config {
namespace {

constexpr int64_t kLargestStoreBytes = int64_t{1} << 50;

}  // namespace

std::vector<Key> store_keys(ServerConfig& config) {
  return {
      {"store.address",
       "Where rows are: clickhouse://[USER@]HOST[:PORT][,HOST[:PORT]...]/DATABASE, or clickhouses:// for TLS "
       "(docs/clickhouse.md).\nSeveral hosts are replicas (store.replicated). A data directory keeps its "
       "address; \"plimsoll store copy\" moves the rows of one\nthat has some. Default: in the data "
       "directory.",
       &config.store_address},
      {"store.password_file",
       "File with the password for store.address in its first line. Default: no password.",
       &config.store_password_file},
      {"store.ca",
       "PEM file of the authority that store.address is signed by. Default: those that this machine trusts.",
       &config.store_ca},
      {"store.replicated",
       "Makes replicated tables at store.address, so that a replica that is lost loses nothing. Requires "
       "ZooKeeper or ClickHouse Keeper,\nand the macro replica in the configuration of each ClickHouse "
       "server.",
       &config.store_replicated},
      {"store.insert_quorum",
       "With store.replicated: how many replicas must have a batch of rows before it counts. While fewer "
       "run, rows wait in the\ndata directory.",
       &config.store_insert_quorum, Range{2, 16}},
      {"store.shards",
       "Further databases that rows are split over by machine, each as store.address has it "
       "(docs/scaling.md). "
       "List all in the\norder in which they were added, new ones last. The data directory keeps the list. "
       "Default: all rows are at store.address.",
       &config.store_shards},
      {"store.max_segment_rows",
       "Maximum rows of a merged segment. Merging needs 1 to 3 bytes of memory per row.",
       &config.store_max_segment_rows, Range{int64_t{1} << 16, int64_t{1} << 30}},
      {"store.max_block_bytes",
       "Maximum size of a block: the part of the store that takes rows until it is this large or "
       "store.max_block_age old.\nBuilding rows and answering questions need memory for the blocks they "
       "touch: "
       "about as much as their catalogues take.",
       SizeBytes{&config.store_max_block_bytes}, Range{int64_t{16} << 20, int64_t{1} << 40}},
      {"store.max_block_age",
       "Maximum time that a block takes rows. Questions read the blocks of their times only.",
       DurationNs{&config.store_max_block_age_ns}, Range{kNsPerHour, int64_t{31} * 24 * kNsPerHour}},
  };
}

std::vector<Key> retention_keys(ServerConfig& config) {
  return {
      {"retention.raw_max_age",
       "Maximum age of raw profiles, from which rows can be built again. Counted from when they came.",
       DurationNs{&config.retention_raw_max_age_ns}, Range{kNsPerHour, kLongestAgeNs}},
      {"retention.raw_max_bytes",
       "Maximum size of all raw profiles, with the IDs of those that are remembered. The oldest are dropped "
       "first.\nDefault: 0, 15 % of the file system.",
       SizeBytes{&config.retention_raw_max_bytes}, Range{0, kLargestStoreBytes}},
      {"retention.rows_max_age",
       "Maximum age of rows, which answer questions. They are dropped by whole blocks, once the latest "
       "profile of a block is that old.\nA block that was merged spans a tenth of this age at most, and 40 "
       "days at most.",
       DurationNs{&config.retention_rows_max_age_ns}, Range{kNsPerHour, kLongestAgeNs}},
      {"retention.rows_max_bytes",
       "Maximum size of all blocks. The oldest are dropped first, the newest never: blocks get an eighth of "
       "this size at most.\nDefault: 0, 45 % of the file system.",
       SizeBytes{&config.retention_rows_max_bytes}, Range{0, kLargestStoreBytes}},
      {"retention.full_max_age",
       "Maximum age of full rows. Once the latest profile of a block is that old, it is rolled up: its "
       "profiles are summed by\nhour, and threads and instances are dropped. 0: rows are never rolled up.",
       DurationNs{&config.retention_full_max_age_ns}, Range{0, kLongestAgeNs}},
      {"retention.full_max_bytes",
       "Maximum size of all blocks with full rows. Over it the oldest are rolled up.\nDefault: 0, 35 % of "
       "the "
       "file system.",
       SizeBytes{&config.retention_full_max_bytes}, Range{0, kLargestStoreBytes}},
      {"retention.symbols_max_bytes",
       "Maximum size of all symbol tables. Those that were not used for the longest time are dropped first, "
       "and made\nagain when they are needed and the binary can still be found. Default: 0, 5 % of the file "
       "system.",
       SizeBytes{&config.retention_symbols_max_bytes}, Range{0, kLargestStoreBytes}},
      {"retention.traces_max_age",
       "Maximum age of request traces. Counted from when they came; they are dropped by whole blocks, of six "
       "hours at most.",
       DurationNs{&config.retention_traces_max_age_ns}, Range{kNsPerHour, kLongestAgeNs}},
      {"retention.traces_max_bytes",
       "Maximum size of all request traces. The oldest are dropped first.\nDefault: 0, 15 % of the file "
       "system.",
       SizeBytes{&config.retention_traces_max_bytes}, Range{0, kLargestStoreBytes}},
      {"retention.bursts_max_age", "Maximum age of recordings of bursts. Counted from when they came.",
       DurationNs{&config.retention_bursts_max_age_ns}, Range{kNsPerHour, kLongestAgeNs}},
      {"retention.bursts_max_bytes",
       "Maximum size of all recordings of bursts. The oldest are dropped first.\nDefault: 0, 5 % of the file "
       "system.",
       SizeBytes{&config.retention_bursts_max_bytes}, Range{0, kLargestStoreBytes}},
      {"retention.min_free_bytes",
       "Minimum of the file system that stays free. Under it the oldest raw profiles, blocks and request "
       "traces are\ndropped, and where nothing is left to drop, uploads and traces get 503, and daemons keep "
       "their profiles. Orders\nstill work. Default: 0, 10 % of the file system, at most 10 GiB.",
       SizeBytes{&config.retention_min_free_bytes}, Range{0, kLargestStoreBytes}},
      {"retention.max_upload_age",
       "Maximum age of profiles that daemons send, counted from the end of their windows; older ones are "
       "refused. The server\nremembers the IDs of profiles for a day longer. Must exceed "
       "limits.max_spool_age "
       "of the daemons.",
       DurationNs{&config.retention_max_upload_age_ns}, Range{kNsPerHour, kLongestAgeNs}},
  };
}

std::vector<Key> objects_keys(ServerConfig& config) {
  return {
      {"objects.address",
       "Object store that the data directory is copied to: s3://BUCKET or s3://BUCKET/PREFIX, or "
       "file:///FOLDER "
       "(docs/operations.md).\nEach server has a prefix of its own. A folder must exist. Default: none.",
       &config.objects_address},
      {"objects.endpoint", "URL of the S3 server: https://HOST or https://HOST:PORT. Required with s3://.",
       &config.objects_endpoint},
      {"objects.region", "Region of the S3 server.", &config.objects_region},
      {"objects.credentials_file",
       "File with the ID of an access key in its first line and the secret in its second. Required with "
       "s3://.",
       &config.objects_credentials_file},
      {"objects.ca",
       "PEM file of the authority that objects.endpoint is signed by. Default: those that this machine "
       "trusts.",
       &config.objects_ca},
      {"objects.interval",
       "Time between two passes, each of which copies what is new. What came since the last one is lost with "
       "the disk.",
       DurationNs{&config.objects_interval_ns}, Range{kNsPerSecond, 24 * kNsPerHour}},
      {"objects.keep_dropped",
       "How long the object store keeps what retention has dropped from the data directory.",
       DurationNs{&config.objects_keep_dropped_ns}, Range{kNsPerHour, kLongestAgeNs}},
  };
}

std::vector<Key> traces_keys(ServerConfig& config) {
  return {
      {"traces.sample",
       "How many traces one that is kept stands for: 20 keeps one in 20, chosen by the trace's ID. 1: all "
       "are kept.",
       &config.traces_sample, Range{1, 1'000'000}},
      {"traces.attributes",
       "Attributes of spans and their resources that are kept, by key, at most 32: hardware and kinds of "
       "request, by which\nplimsoll regressions compares versions. [] keeps none.",
       &config.traces_attributes},
      {"traces.diagnose",
       "Diagnoses each hour of request traces, ten minutes after its end (plimsoll findings).",
       &config.traces_diagnose},
      {"traces.findings_max_age",
       "Maximum age of findings, and of the statistics of each hour's requests, which stay longer than the "
       "traces.",
       DurationNs{&config.traces_findings_max_age_ns}, Range{kNsPerHour, kLongestAgeNs}},
  };
}

}  // namespace plimsoll::config
