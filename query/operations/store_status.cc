#include "query/operations/store_status.h"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"

namespace plimsoll::query {
namespace {

constexpr int64_t kNsPerDay = 24 * kNsPerHour;
constexpr double kManyYearsInDays = 3650;

Value time_or_nothing(const store::BlockState& state, int64_t time_ns) {
  return state.from_ns > state.to_ns ? Value() : Value(format_time(time_ns));
}

std::string size_text(int64_t bytes) {
  return readable(static_cast<double>(bytes), "bytes");
}

double days_of_room(int64_t max_bytes, int64_t bytes_a_day) {
  return static_cast<double>(max_bytes) / static_cast<double>(bytes_a_day);
}

int64_t days_in_ns(double days) {
  return static_cast<int64_t>(days * static_cast<double>(kNsPerDay));
}

// "1.2 GB of at most 30 GB by retention.raw_max_bytes; 0.4 GB more a day, room for 75d".
std::string room_text(int64_t bytes, int64_t max_bytes, std::string_view key, int64_t bytes_a_day) {
  std::string text = fmt::format("{} of at most {} by {}", size_text(bytes), size_text(max_bytes), key);
  if (bytes_a_day == 0) {
    return text;
  }
  const double days = days_of_room(max_bytes, bytes_a_day);
  return fmt::format("{}; {} more a day, room for {}", text, size_text(bytes_a_day),
                     days > kManyYearsInDays ? "many years" : format_duration(days_in_ns(days)));
}

std::string full_text(const store::StoreAccount& account, const store::RetentionLimits& limits) {
  if (limits.full_max_age_ns == 0) {
    return fmt::format("full rows: {}, never rolled up (retention.full_max_age is 0)",
                       size_text(account.full_bytes));
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

// "000007"; of one that was merged "000001-000008".
std::string numbers_text(const store::BlockAccount& block) {
  return block.first == block.number ? fmt::format("{:06}", block.number)
                                     : fmt::format("{:06}-{:06}", block.first, block.number);
}

std::vector<std::string> damage_of(const store::StoreAccount& account) {
  std::vector<std::string> notes;
  for (const store::BlockAccount& block : account.blocks) {
    if (!block.damage.empty()) {
      notes.push_back(
          fmt::format("block {} is left out of results: {}; rebuild it: plimsoll store repair --rebuild",
                      numbers_text(block), block.damage));
    }
  }
  return notes;
}

Table by_block(const store::StoreAccount& account, const store::RetentionLimits& limits) {
  Table table;
  table.columns = {{"block", ""},         {"state", ""},     {"from", ""},          {"to", ""},
                   {"profiles", "count"}, {"rows", "count"}, {"segments", "count"}, {"bytes", "bytes"}};
  for (const store::BlockAccount& block : account.blocks) {
    table.rows.push_back({numbers_text(block), state_text(block),
                          time_or_nothing(block.state, block.state.from_ns),
                          time_or_nothing(block.state, block.state.to_ns), block.profiles, block.rows,
                          block.segments, block.bytes});
  }
  table.notes = damage_of(account);
  const std::vector<std::string> of_all{
      fmt::format("blocks: {}", room_text(account.block_bytes, limits.rows_max_bytes,
                                          "retention.rows_max_bytes", account.block_bytes_a_day)),
      full_text(account, limits),
      fmt::format("raw profiles: {} of {} accepted, {}", account.raw_profiles, account.accepted_profiles,
                  room_text(account.archive_bytes, limits.raw_max_bytes, "retention.raw_max_bytes",
                            account.archive_bytes_a_day)),
      fmt::format("symbol tables: {}", room_text(account.symbol_bytes, limits.symbols_max_bytes,
                                                 "retention.symbols_max_bytes", 0)),
      fmt::format("request traces: {}",
                  room_text(account.span_bytes, limits.traces_max_bytes, "retention.traces_max_bytes", 0)),
      fmt::format("bursts: {}",
                  room_text(account.burst_bytes, limits.bursts_max_bytes, "retention.bursts_max_bytes", 0)),
      fmt::format("other files: {}", size_text(account.other_bytes)),
      fmt::format("{} free on the disk, of which {} stay free by retention.min_free_bytes",
                  size_text(account.disk_free_bytes), size_text(limits.min_free_bytes))};
  table.notes.insert(table.notes.end(), of_all.begin(), of_all.end());
  return table;
}

struct LimitedPart {
  std::string name;
  int64_t bytes = 0;
  int64_t max_bytes = 0;
  int64_t bytes_a_day = 0;
  int64_t max_age_ns = 0;  // 0: by size alone
  std::string key = {};
  std::string at_limit = {};
};

std::vector<LimitedPart> limited_parts(const store::StoreAccount& account,
                                       const store::RetentionLimits& limits) {
  const int64_t used_bytes = account.block_bytes + account.archive_bytes + account.symbol_bytes +
                             account.span_bytes + account.burst_bytes + account.other_bytes;
  return {{"rows", account.block_bytes, limits.rows_max_bytes, account.block_bytes_a_day,
           limits.rows_max_age_ns, "retention.rows_max_bytes", "the oldest block is dropped"},
          // Nothing is rolled up by size where nothing is by age.
          {"full rows", account.full_bytes, limits.full_max_age_ns == 0 ? 0 : limits.full_max_bytes,
           account.block_bytes_a_day, limits.full_max_age_ns, "retention.full_max_bytes",
           limits.full_max_age_ns == 0 ? "never rolled up (retention.full_max_age is 0)"
                                       : "the oldest block is rolled up: no threads and instances"},
          {"raw profiles", account.archive_bytes, limits.raw_max_bytes, account.archive_bytes_a_day,
           limits.raw_max_age_ns, "retention.raw_max_bytes",
           "the oldest are dropped; their rows stay, and cannot be rebuilt"},
          {"symbol tables", account.symbol_bytes, limits.symbols_max_bytes, 0, 0,
           "retention.symbols_max_bytes", "those not used for the longest time are dropped"},
          {"request traces", account.span_bytes, limits.traces_max_bytes, 0, limits.traces_max_age_ns,
           "retention.traces_max_bytes", "the oldest block is dropped"},
          {"bursts", account.burst_bytes, limits.bursts_max_bytes, 0, limits.bursts_max_age_ns,
           "retention.bursts_max_bytes", "the oldest recording is dropped"},
          {"disk", used_bytes, used_bytes + account.disk_free_bytes - limits.min_free_bytes,
           account.block_bytes_a_day + account.archive_bytes_a_day, 0, "retention.min_free_bytes",
           "the oldest block is dropped, and uploads wait"}};
}

Table by_limit(const store::StoreAccount& account, const store::RetentionLimits& limits) {
  Table table;
  table.columns = {{"part", ""},
                   {"bytes", "bytes"},
                   {"max_bytes", "bytes"},
                   {"used_share", "share"},
                   {"bytes_a_day", "bytes"},
                   {"room", "days"},
                   {"max_age", "days"},
                   {"key", ""},
                   {"at_limit", ""}};
  for (const LimitedPart& part : limited_parts(account, limits)) {
    const bool has_limit = part.max_bytes > 0;
    const bool grows = part.bytes_a_day > 0 && has_limit;
    const double days = grows ? days_of_room(part.max_bytes, part.bytes_a_day) : 0;
    table.rows.push_back(
        {part.name, part.bytes, has_limit ? Value(part.max_bytes) : Value(),
         has_limit ? Value(static_cast<double>(part.bytes) / static_cast<double>(part.max_bytes)) : Value(),
         part.bytes_a_day > 0 ? Value(part.bytes_a_day) : Value(), grows ? Value(days) : Value(),
         part.max_age_ns > 0 ? Value(static_cast<double>(part.max_age_ns) / static_cast<double>(kNsPerDay))
                             : Value(),
         part.key, part.at_limit});
  }
  table.notes = damage_of(account);
  return table;
}

}  // namespace

Result<StoreStatusRequest> parse_store_status(const Parameters& parameters, int64_t /*now_ns*/) {
  StoreStatusRequest request;
  const Parameter by{"by", [&request](const std::string& text) -> Status {
                       request.by_limit = text == "limit";
                       return text == "block" || request.by_limit
                                  ? Status()
                                  : invalid_parameter("by", text, "block or limit");
                     }};
  const Status read = read_parameters(parameters, std::span(&by, 1));
  return read ? Result<StoreStatusRequest>(request) : propagate(read);
}

Table store_status(const StoreStatusRequest& request, const store::StoreAccount& account,
                   const store::RetentionLimits& limits) {
  return request.by_limit ? by_limit(account, limits) : by_block(account, limits);
}

}  // namespace plimsoll::query
