#include "config/server_role_keys.h"

#include <cstdint>

#include "base/time.h"

namespace plimsoll::config {

std::vector<Key> symbolizer_keys(ServerConfig& config) {
  return {
      {"symbolizer.server",
       "Of plimsoll server --role symbolizer, which uses this table and symbols.max_memory_bytes alone: "
       "address "
       "of\nthe API of the server that it makes symbol tables for (server.listen there).",
       &config.symbolizer_server},
      {"symbolizer.token_file", "File with a token of the role symbolizer. Default: none.",
       &config.symbolizer_token_file},
      {"symbolizer.server_ca",
       "Authorities that sign the server's certificate, a PEM file. Default: those that this machine trusts.",
       &config.symbolizer_server_ca},
      {"symbolizer.name",
       "Name of this worker in the server's lists, different for each. Default: the name of this machine.",
       &config.symbolizer_name},
      {"symbolizer.folder",
       "Folder for files of the server and tables that are made. Its content can be deleted at any time.",
       &config.symbolizer_folder},
      {"symbolizer.parallel", "Symbol tables that are made at once. Default: 0, the number of CPUs.",
       &config.symbolizer_parallel, Range{0, 32}},
      {"symbolizer.max_bytes",
       "Maximum size of files in symbolizer.folder, without tables. A build that is larger is left to the "
       "server.",
       SizeBytes{&config.symbolizer_max_bytes}, Range{int64_t{1} << 20, int64_t{1} << 50}},
      {"symbolizer.listen",
       "Address and port for /healthz, /readyz and /metrics, which ask for no token:\n"
       "beyond loopback only with access.allow_unauthenticated.",
       &config.symbolizer_listen},
  };
}

std::vector<Key> ingest_keys(ServerConfig& config) {
  return {
      {"ingest.server",
       "Of plimsoll server --role ingest, which uses this table, [server] without server.data, "
       "access.machine_ca,\naccess.allow_unauthenticated, fleet.max_connections and "
       "limits.max_profile_bytes alone: address for daemons of\nthe server that has the data "
       "(server.fleet_listen there).",
       &config.ingest_server},
      {"ingest.token_file", "File with a token of the role relay. Default: none.", &config.ingest_token_file},
      {"ingest.server_ca",
       "Authorities that sign the server's certificate, a PEM file. Default: those that this machine trusts.",
       &config.ingest_server_ca},
      {"ingest.connections",
       "Connections to the server. A quarter of them, at least one, is for registrations and heartbeats, the "
       "others are for\nprofiles. Recordings of bursts have one more.",
       &config.ingest_connections, Range{2, 64}},
      {"ingest.max_waiting_bytes",
       "Maximum size of profiles that wait for the server or are on their way to it, and a quarter of it for "
       "each of the other\nkinds of requests, at most a quarter of the memory. Beyond it daemons get 503, "
       "and keep what they have.",
       SizeBytes{&config.ingest_max_waiting_bytes}, Range{int64_t{1} << 20, int64_t{64} << 30}},
  };
}

std::vector<Key> primary_keys(ServerConfig& config) {
  return {
      {"primary.server",
       "Of plimsoll server --role query, which answers questions beside the server that has the data "
       "directory (docs/scaling.md):\naddress of the API of that server (server.listen there).",
       &config.primary_server},
      {"primary.token_file", "File with a token of the role replica. Default: none.",
       &config.primary_token_file},
      {"primary.server_ca",
       "Authorities that sign that server's certificate, a PEM file. Default: those that this machine "
       "trusts.",
       &config.primary_ca},
      {"primary.interval",
       "How often machines and draws are copied from that server, if they have changed. At most a tenth of "
       "the time is spent on it.",
       DurationNs{&config.primary_interval_ns}, Range{kNsPerSecond, kNsPerHour}},
  };
}

}  // namespace plimsoll::config
