// How much history a store keeps.
#pragma once

#include <cstdint>

namespace plimsoll::store {

// Sizes of 0 stand for shares of the disk (on_disk_of()).
struct RetentionLimits {
  static constexpr int64_t kHourNs = int64_t{3600} * 1'000'000'000;
  static constexpr int64_t kDayNs = 24 * kHourNs;

  // Raw profiles: what rows can be built from again.
  int64_t raw_max_age_ns = 30 * kDayNs;  // since they were received
  int64_t raw_max_bytes = 0;
  // Rows, with their dictionaries and names. They go by whole blocks.
  int64_t rows_max_age_ns = 400 * kDayNs;  // of the latest window of a block
  int64_t rows_max_bytes = 0;
  // Those with threads and instances; older ones, or more of them, are rolled up (store/rollup). An age of 0: never.
  int64_t full_max_age_ns = 30 * kDayNs;
  int64_t full_max_bytes = 0;
  int64_t symbols_max_bytes = 0;
  // Spans of request traces. They go by whole blocks.
  int64_t traces_max_age_ns = 7 * kDayNs;  // since they were received
  int64_t traces_max_bytes = 0;
  // Recordings of bursts.
  int64_t bursts_max_age_ns = 7 * kDayNs;  // since they were received
  int64_t bursts_max_bytes = 0;
  // So much of the disk stays free, whoever takes the rest.
  int64_t min_free_bytes = 0;
  // Of profiles that daemons send: for so long, and a day for wrong clocks, the server remembers which it has.
  int64_t max_upload_age_ns = 7 * kDayNs;

  // Of a file system of that size: 15 % for raw profiles, 45 % for rows, 35 % for full ones among them, 5 % for symbol tables, 15 % for traces, 5 % for bursts, and 10 %, but no more than
  // 10 GiB, that stay free.
  RetentionLimits on_disk_of(int64_t disk_bytes) const;

  // What dropping aims at: a tenth over the minimum, so that senders are sent away only where nothing is left to drop.
  int64_t wanted_free_bytes() const;
};

// The largest block that is kept within the limits: at least eight of them have room, so that what is dropped at once is not much of all.
uint64_t max_block_bytes(const RetentionLimits& limits, uint64_t configured);

}  // namespace plimsoll::store
