#include "config/server_request_keys.h"

#include <cstdint>

#include "base/time.h"

namespace plimsoll::config {

std::vector<Key> server_keys(ServerConfig& config) {
  return {
      {"server.data", "Data directory. Required here or as --data; there is no default.", &config.data_dir},
      {"server.listen",
       "Address and port of the API, for users and the command line. Default: loopback only.",
       &config.listen},
      {"server.fleet_listen", "Address and port for daemons. Default: loopback only.", &config.fleet_listen},
      {"server.hosts",
       "Host names that clients may use, besides addresses, localhost and the name of this machine. Without "
       "authentication, requests\nfor other names are refused: otherwise any web page could send requests "
       "here (DNS rebinding). Default: none.",
       &config.hosts},
      {"server.certificate",
       "Server certificate, a PEM file, followed by its intermediate certificates. Enables TLS (https://) on "
       "both addresses.\nDefault: none.",
       &config.certificate},
      {"server.key", "Key of that certificate, a PEM file without a password.", &config.key},
  };
}

std::vector<Key> access_keys(ServerConfig& config) {
  return {
      {"access.tokens",
       "Tokens of users, one table per token; \"plimsoll token\" prints them. With a token here, or with "
       "access.machine_ca, every client\nmust authenticate. Only in this file, not as a variable "
       "(docs/security.md):",
       TableList(&config.access_tokens)},
      {"access.machine_ca",
       "Certificate authorities that sign certificates of machines, a PEM file. A daemon with such a "
       "certificate (daemon.certificate) is\nthe machine in its common name. Requires server.certificate. "
       "Default: none.",
       &config.access_machine_ca},
      {"access.allow_unauthenticated",
       "Permits non-loopback addresses without authentication: every client that reaches them may do "
       "everything.",
       &config.access_allow_unauthenticated},
      {"access.max_requests_per_minute",
       "Request limit per authenticated machine. Requests over it get 429 with Retry-After. 0: unlimited.",
       &config.access_max_requests_per_minute, Range{0, 1'000'000}},
      {"access.max_requests_per_minute_per_token",
       "Request limit per token with the role read, admin, upload or fdo. Orders are not limited. 0: "
       "unlimited.",
       &config.access_max_requests_per_minute_per_token, Range{0, 1'000'000}},
  };
}

std::vector<Key> query_keys(ServerConfig& config) {
  return {
      {"query.threads",
       "Threads that answer queries. No caller (a token, or an address without one) has all of them, nor "
       "more of "
       "the places to wait\nthan are free. Default: 0, one more than there are CPUs, at least 3.",
       &config.query_threads, Range{0, 1024}},
      {"query.sql_threads",
       "Threads of low priority that answer SQL statements, shared in the same way. Other queries do not "
       "wait for them.",
       &config.query_sql_threads, Range{1, 1024}},
      {"query.max_pending",
       "Maximum queries that wait or are answered at once, and as many SQL statements. Others get 503 with "
       "Retry-After, or 429 where\ntheir caller has its share of the places.",
       &config.query_max_pending, Range{1, 100'000}},
      {"query.max_time", "Time limit of a query. SQL statements have their own.",
       DurationNs{&config.query_max_time_ns}, Range{kNsPerSecond, 24 * kNsPerHour}},
      {"query.sql_max_time", "Time limit of an SQL statement.", DurationNs{&config.query_sql_max_time_ns},
       Range{kNsPerSecond, 24 * kNsPerHour}},
      {"query.sql_max_memory_bytes",
       "Memory limit of an SQL statement, without what it sorts in temporary files; its answer has a quarter "
       "of "
       "that at\nmost. Statements that do not fit into a quarter of the server's memory together wait for "
       "each "
       "other.",
       SizeBytes{&config.query_sql_max_memory_bytes}, Range{int64_t{1} << 20, int64_t{64} << 30}},
  };
}

}  // namespace plimsoll::config
