#include "config/server_config.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "base/printable.h"
#include "config/binary_content.h"
#include "config/scrape_endpoint.h"
#include "config/server_collection_keys.h"
#include "config/server_request_keys.h"
#include "config/server_role_keys.h"
#include "config/server_storage_keys.h"
#include "config/server_symbol_keys.h"

namespace plimsoll::config {
namespace {

// Keys that no span can have: names of traces are printable, and cut at 256 bytes (traces::kMaxNameBytes).
Status check_trace_attributes(const std::vector<std::string>& keys) {
  constexpr size_t kMaxTraceAttributes = 32;
  constexpr size_t kMaxKeyBytes = 256;
  if (keys.size() > kMaxTraceAttributes) {
    return fail(ErrorCode::kInvalid, "{} attributes, where at most {} are kept", keys.size(),
                kMaxTraceAttributes);
  }
  for (const std::string& key : keys) {
    if (key.empty()) {
      return fail(ErrorCode::kInvalid, "an attribute has an empty key");
    }
    if (key.size() > kMaxKeyBytes) {
      return fail(ErrorCode::kInvalid, "the key of an attribute has {} bytes, where at most {} are kept",
                  key.size(), kMaxKeyBytes);
    }
    if (printable(key) != key) {
      return fail(ErrorCode::kInvalid, "the key of an attribute is not printable: {}", printable(key));
    }
  }
  return {};
}

}  // namespace

std::vector<Key> ServerConfig::keys() {
  std::vector<Key> all;
  // In the order of the file.
  for (const auto keys_of_table :
       {server_keys, access_keys, query_keys, collect_keys, draw_keys, burst_keys, inventory_keys, fleet_keys,
        limits_keys, store_keys, retention_keys, objects_keys, traces_keys, symbols_keys, sources_keys,
        binaries_keys, symbolizer_keys, ingest_keys, primary_keys}) {
    std::ranges::move(keys_of_table(*this), std::back_inserter(all));
  }
  return all;
}

Result<ServerConfig> load_server_config(const LoadInputs& inputs) {
  ServerConfig config;
  if (const auto sources = load(config.keys(), inputs); !sources) {
    return propagate(sources);
  }
  if (config.collect_stack_rate_hz > config.collect_rate_hz) {
    return with_field(fail(ErrorCode::kInvalid, "{} stacks per second is more than {} samples per second",
                           config.collect_stack_rate_hz, config.collect_rate_hz),
                      "collect.stack_rate_hz");
  }
  if (const auto checked = check_tokens(config.access_tokens); !checked) {
    return with_field(propagate(checked), "access.tokens");
  }
  if (const auto checked = check_trace_attributes(config.traces_attributes); !checked) {
    return with_field(propagate(checked), "traces.attributes");
  }
  if (const auto checked = check_application_kinds(config.collect_application_kinds); !checked) {
    return with_field(propagate(checked), "collect.application_kinds");
  }
  if (const auto checked = check_binary_content(config.binaries_content); !checked) {
    return propagate(checked);
  }
  if (!config.bursts_config.empty() && config.draw_interval_ns == 0) {
    return with_field(
        fail(ErrorCode::kInvalid, "bursts are recorded by draws: bursts.config requires draw.interval"),
        "bursts.config");
  }
  if (config.store_replicated && config.store_address.empty()) {
    return with_field(fail(ErrorCode::kInvalid, "store.replicated requires store.address"),
                      "store.replicated");
  }
  if (!config.store_shards.empty() && config.store_address.empty()) {
    return with_field(fail(ErrorCode::kInvalid, "store.shards requires store.address"), "store.shards");
  }
  if (!config.access_machine_ca.empty() && config.certificate.empty()) {
    return with_field(fail(ErrorCode::kInvalid, "access.machine_ca requires server.certificate"),
                      "server.certificate");
  }
  return config;
}

}  // namespace plimsoll::config
