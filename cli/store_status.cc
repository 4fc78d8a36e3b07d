#include "cli/store_status.h"

#include <fmt/format.h>

#include "base/time.h"
#include "cli/views/terminal.h"
#include "query/table/table.h"
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

std::string growth_text(const store::StoreAccount& account) {
  if (account.bytes_a_day == 0) {
    return "it has been growing for less than an hour";
  }
  const double days = static_cast<double>(account.disk_free_bytes) / static_cast<double>(account.bytes_a_day);
  const bool is_long = days > 3650;
  return fmt::format("it grows by {} a day; {}", bytes_text(account.bytes_a_day),
                     is_long ? "the disk has room for years"
                             : fmt::format("the disk is full in {}",
                                           format_duration(static_cast<int64_t>(days + 1) * kNsPerDay)));
}

query::Table table_of(const store::StoreAccount& account) {
  query::Table table;
  table.columns = {{"block", ""},         {"state", ""},     {"from", ""},          {"to", ""},
                   {"profiles", "count"}, {"rows", "count"}, {"segments", "count"}, {"bytes", "bytes"}};
  for (const store::BlockAccount& block : account.blocks) {
    table.rows.push_back({fmt::format("{:06}", block.number),
                          block.state.is_sealed ? std::string("sealed") : std::string("open"),
                          time_or_nothing(block.state, block.state.from_ns),
                          time_or_nothing(block.state, block.state.to_ns), block.profiles, block.rows,
                          block.segments, block.bytes});
  }
  table.notes = {
      fmt::format("beside blocks: {} of {} raw profiles, {} of symbol tables, {} of other files",
                  bytes_text(account.archive_bytes), account.raw_profiles, bytes_text(account.symbol_bytes),
                  bytes_text(account.other_bytes)),
      fmt::format("{} free on the disk; {}", bytes_text(account.disk_free_bytes), growth_text(account))};
  return table;
}

}  // namespace

Status run_store_status(const StoreStatusOptions& options) {
  const auto account = store::account_store(options.data_dir, wall_now_ns());
  if (!account) {
    return propagate(account);
  }
  const query::Table table = table_of(*account);
  const std::string text = options.is_json  ? query::to_json(table)
                           : options.is_csv ? query::to_csv(table)
                                            : query::to_text(table, style_of_output());
  fmt::print("{}", text);
  return {};
}

}  // namespace plimsoll::cli
