#include "cli/store_status.h"

#include <fmt/format.h>

#include "base/time.h"
#include "cli/views/terminal.h"
#include "config/server_config.h"
#include "query/table/table.h"
#include "server/store_settings.h"
#include "store/store_account.h"

namespace plimsoll::cli {
namespace {

constexpr int64_t kNsPerDay = int64_t{24} * 3600 * 1'000'000'000;

query::Value time_or_nothing(const store::BlockState& state, int64_t time_ns) {
  return state.from_ns > state.to_ns ? query::Value() : query::Value(format_time(time_ns));
}

std::string bytes_text(int64_t bytes) {
  return query::readable(static_cast<double>(bytes), "bytes");
}

// "1.2 GB of at most 30 GB by retention.raw_max_bytes; 0.4 GB more a day, so the oldest are dropped after 75d".
std::string room_text(int64_t bytes, int64_t max_bytes, std::string_view key, int64_t bytes_a_day) {
  std::string text = fmt::format("{} of at most {} by {}", bytes_text(bytes), bytes_text(max_bytes), key);
  if (bytes_a_day == 0) {
    return text;
  }
  const double days = static_cast<double>(max_bytes) / static_cast<double>(bytes_a_day);
  const bool is_long = days > 3650;
  return fmt::format(
      "{}; {} more a day, room for {}", text, bytes_text(bytes_a_day),
      is_long ? "many years" : format_duration(static_cast<int64_t>(days * static_cast<double>(kNsPerDay))));
}

std::string full_text(const store::StoreAccount& account, const store::RetentionLimits& limits) {
  if (limits.full_max_age_ns == 0) {
    return fmt::format("full rows: {}, never rolled up (retention.full_max_age is 0)",
                       bytes_text(account.full_bytes));
  }
  return fmt::format("full rows: {}; rolled up after {} by retention.full_max_age",
                     room_text(account.full_bytes, limits.full_max_bytes, "retention.full_max_bytes", 0),
                     format_duration(limits.full_max_age_ns));
}

std::string state_text(const store::BlockAccount& block) {
  return !block.damage.empty()   ? "damaged"
         : block.is_rolled_up    ? "rolled up"
         : block.state.is_sealed ? "sealed"
                                 : "open";
}

std::vector<std::string> notes_of(const store::StoreAccount& account, const store::RetentionLimits& limits) {
  std::vector<std::string> notes;
  for (const store::BlockAccount& block : account.blocks) {
    if (!block.damage.empty()) {
      notes.push_back(
          fmt::format("block {:06} is left out of results: {}; rebuild it: plimsoll store repair --rebuild",
                      block.number, block.damage));
    }
  }
  const std::vector<std::string> of_all{
      fmt::format("blocks: {}", room_text(account.block_bytes, limits.rows_max_bytes,
                                          "retention.rows_max_bytes", account.block_bytes_a_day)),
      full_text(account, limits),
      fmt::format("raw profiles: {} of {} accepted, {}", account.raw_profiles, account.accepted_profiles,
                  room_text(account.archive_bytes, limits.raw_max_bytes, "retention.raw_max_bytes",
                            account.archive_bytes_a_day)),
      fmt::format("symbol tables: {}", room_text(account.symbol_bytes, limits.symbols_max_bytes,
                                                 "retention.symbols_max_bytes", 0)),
      fmt::format("other files: {}", bytes_text(account.other_bytes)),
      fmt::format("{} free on the disk, of which {} stay free by retention.min_free_bytes",
                  bytes_text(account.disk_free_bytes), bytes_text(limits.min_free_bytes))};
  notes.insert(notes.end(), of_all.begin(), of_all.end());
  return notes;
}

query::Table table_of(const store::StoreAccount& account, const store::RetentionLimits& limits) {
  query::Table table;
  table.columns = {{"block", ""},         {"state", ""},     {"from", ""},          {"to", ""},
                   {"profiles", "count"}, {"rows", "count"}, {"segments", "count"}, {"bytes", "bytes"}};
  for (const store::BlockAccount& block : account.blocks) {
    table.rows.push_back({fmt::format("{:06}", block.number), state_text(block),
                          time_or_nothing(block.state, block.state.from_ns),
                          time_or_nothing(block.state, block.state.to_ns), block.profiles, block.rows,
                          block.segments, block.bytes});
  }
  table.notes = notes_of(account, limits);
  return table;
}

}  // namespace

Status run_store_status(const StoreStatusOptions& options) {
  const auto account = store::account_store(options.data_dir, wall_now_ns());
  if (!account) {
    return propagate(account);
  }
  config::LoadInputs inputs;
  if (!options.config_path.empty()) {
    inputs.path = options.config_path;
  }
  const auto config = config::load_server_config(inputs);
  const auto limits = config ? server::retention_limits(*config, options.data_dir) : propagate(config);
  if (!limits) {
    return propagate(limits);
  }
  const query::Table table = table_of(*account, *limits);
  const std::string text = options.is_json  ? query::to_json(table)
                           : options.is_csv ? query::to_csv(table)
                                            : query::to_text(table, style_of_output());
  fmt::print("{}", text);
  return {};
}

}  // namespace plimsoll::cli
