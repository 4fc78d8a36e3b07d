#include "cli/store_rollup.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/time.h"
#include "query/table/table.h"
#include "store/ingest.h"
#include "store/rollup/roll_up.h"

namespace plimsoll::cli {
namespace {

query::Table rollup_table() {
  query::Table table;
  table.columns = {{"block", ""},     {"profiles", "count"},     {"hours", "count"}, {"rows_before", "count"},
                   {"rows", "count"}, {"bytes_before", "bytes"}, {"bytes", "bytes"}};
  return table;
}

void print_block(const store::RollUpReport& report) {
  fmt::print("block {:06}: {} profiles became {} of an hour, {} rows became {}, {} bytes became {}\n",
             report.block, report.profiles, report.origins, report.rows_before, report.rows,
             report.bytes_before, report.bytes);
}

}  // namespace

Status run_store_rollup(const StoreRollupOptions& options) {
  const auto before_ns = parse_time_ns(options.before, wall_now_ns());
  if (!before_ns) {
    return with_hint(
        with_field(fail(ErrorCode::kInvalid, "no such time: \"{}\"", options.before), "--before"),
        "give a time such as 2026-11-21T06:00:00Z, or an age such as 30d");
  }
  if (!std::filesystem::exists(options.data_dir + "/FORMAT")) {
    return with_field(fail(ErrorCode::kNotFound, "{} is not a Plimsoll data directory", options.data_dir),
                      "--data");
  }
  const auto ingest = store::Ingest::open(options.data_dir);
  if (!ingest) {
    return propagate(ingest, "opening the data directory {}", options.data_dir);
  }
  store::RollUp roll_up(**ingest, {.keep_replaced = std::chrono::seconds(0)});
  query::Table table = rollup_table();
  while (true) {
    const auto report = roll_up.run_once_before(*before_ns);
    if (!report) {
      return propagate(report);
    }
    if (report->block == 0) {
      break;
    }
    if (!options.is_json) {
      print_block(*report);
    }
    table.rows.push_back({fmt::format("{:06}", report->block), report->profiles, report->origins,
                          static_cast<int64_t>(report->rows_before), static_cast<int64_t>(report->rows),
                          report->bytes_before, report->bytes});
  }
  if (options.is_json) {
    fmt::print("{}", query::to_json(table));
  } else if (table.rows.empty()) {
    fmt::print("nothing to roll up: no sealed block with full rows ends before {}\n",
               format_time(*before_ns));
  }
  return {};
}

}  // namespace plimsoll::cli
