#include "store/retention/retention.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "base/log.h"
#include "store/blocks/block_damage.h"
#include "store/catalogue/catalogue.h"
#include "store/retention/oldest_files.h"

namespace plimsoll::store {
namespace {

// In one transaction, beside profiles that are being accepted: about 2 MB that are marked as free.
constexpr int64_t kProfilesAtOnce = 64;
constexpr int64_t kIdsAtOnce = 1024;
// Moving a page to a free place costs two writes: what comes next takes the place of what went, and only a disk that is too full is worth it.
constexpr int64_t kPagesAtOnce = 1024;

// Machines' clocks may be so far ahead (scheduler/plausibility.cc): a window that ends tomorrow grows old a day later.
constexpr int64_t kMaxClockErrorNs = RetentionLimits::kDayNs;

// Of the files in a folder; 0: there are none.
int64_t newest_change_ns(const std::string& folder) {
  int64_t newest_ns = 0;
  std::error_code error;
  for (std::filesystem::recursive_directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    struct stat found{};
    if (::lstat(entry->path().c_str(), &found) == 0 && S_ISREG(found.st_mode)) {
      newest_ns = std::max(newest_ns, int64_t{found.st_mtim.tv_sec} * 1'000'000'000 + found.st_mtim.tv_nsec);
    }
  }
  return newest_ns;
}

}  // namespace

Retention::Retention(Ingest& ingest, const RetentionLimits& limits, Environment environment)
    : ingest_(ingest), limits_(limits), environment_(std::move(environment)) {}

Result<RetentionReport> Retention::enforce(const std::stop_token& stop) {
  const auto now_ns = trusted_now_ns();
  if (!now_ns) {
    return propagate(now_ns);
  }
  now_ns_ = *now_ns;
  RetentionReport report;
  // Each by itself: what cannot be dropped does not keep the rest.
  Status done;
  for (const Status& step : {remove_dropped(ingest_.directory().blocks_path()), drop_blocks(stop, report),
                             drop_raw_profiles(stop, report), free_disk(stop, report),
                             forget_ids(stop, report), drop_symbol_tables(report)}) {
    done = done ? step : done;
  }
  return done ? Result<RetentionReport>(report) : propagate(done);
}

// A clock that is set ahead by a year must not cost a year of history: time has come as far as profiles have, and a day.
Result<int64_t> Retention::trusted_now_ns() {
  const auto newest_ns = ingest_.archive().newest_received_ns();
  if (!newest_ns) {
    return propagate(newest_ns);
  }
  const int64_t now_ns = environment_.now_ns();
  return *newest_ns == 0 ? now_ns : std::min(now_ns, *newest_ns + RetentionLimits::kDayNs);
}

Status Retention::drop_blocks(const std::stop_token& stop, RetentionReport& report) {
  while (!stop.stop_requested()) {
    auto oldest = oldest_block();
    if (!oldest) {
      return propagate(oldest);
    }
    const std::optional<OldestBlock> found = std::move(*oldest);
    if (!found.has_value()) {
      break;
    }
    const OldestBlock& block = *found;
    const bool is_old = block.to_ns < now_ns_ - limits_.rows_max_age_ns;
    if (!is_old && block.all_bytes <= limits_.rows_max_bytes) {
      break;
    }
    if (const Status dropped = drop(block, is_old ? "its age" : "the size of all rows", report); !dropped) {
      // Rolled up since it was listed: the other one is looked at.
      if (dropped.error().code == ErrorCode::kNotFound && ingest_.is_dropped(block.folder)) {
        continue;
      }
      return dropped;
    }
  }
  return {};
}

// Nothing where the newest is the only one.
Result<std::optional<Retention::OldestBlock>> Retention::oldest_block() {
  const auto folders = ingest_.blocks();
  if (!folders) {
    return propagate(folders);
  }
  known_.forget_before(folders->front().number);
  if (folders->size() == 1) {
    return std::nullopt;
  }
  OldestBlock oldest{.folder = folders->front()};
  const auto to_ns = end_of(oldest.folder);
  if (!to_ns) {
    return propagate(to_ns);
  }
  oldest.to_ns = *to_ns;
  for (const BlockFolder& folder : *folders) {
    const auto bytes = allocated_bytes(folder.path);
    if (!bytes) {
      return propagate(bytes);
    }
    oldest.bytes = folder.number == oldest.folder.number ? *bytes : oldest.bytes;
    oldest.all_bytes += *bytes;
  }
  return oldest;
}

Result<int64_t> Retention::end_of(const BlockFolder& folder) {
  const auto state = known_.state_of(folder);
  if (state) {
    // One of profiles that could not be built covers no time.
    return state->from_ns <= state->to_ns ? state->to_ns : state->first_built_ns;
  }
  // One that cannot be read goes by its files: it had nothing later.
  const bool is_damaged = state.error().code == ErrorCode::kCorrupt ||
                          state.error().code == ErrorCode::kNotFound || is_unreadable(folder);
  return is_damaged ? Result<int64_t>(newest_change_ns(folder.path)) : propagate(state);
}

Status Retention::drop(const OldestBlock& block, std::string_view why, RetentionReport& report) {
  if (const Status dropped = ingest_.drop_block(block.folder); !dropped) {
    return dropped;
  }
  log_info("block {} with rows up to {} was dropped for {}: {} bytes", block.folder.number,
           format_time(block.to_ns), why, block.bytes);
  ++report.blocks;
  report.bytes += block.bytes;
  return {};
}

Status Retention::drop_raw_profiles(const std::stop_token& stop, RetentionReport& report) {
  const int64_t old_before_ns = now_ns_ - limits_.raw_max_age_ns;
  while (!stop.stop_requested()) {
    const auto used = ingest_.archive().used_bytes();
    if (!used) {
      return propagate(used);
    }
    const bool is_large = *used > limits_.raw_max_bytes;
    const auto dropped = ingest_.archive().drop_profiles(
        ingest_.built_up_to(), is_large ? INT64_MAX : old_before_ns, kProfilesAtOnce);
    if (!dropped) {
      return propagate(dropped);
    }
    report.profiles += *dropped;
    if (*dropped == 0) {
      break;
    }
  }
  return {};
}

Status Retention::forget_ids(const std::stop_token& stop, RetentionReport& report) {
  const auto blocks = ingest_.blocks();
  auto first =
      blocks ? Catalogue::open(blocks->front().catalogue_path(), sqlite::OpenMode::kRead) : propagate(blocks);
  // Where it cannot be read, IDs of imported profiles stay.
  const int64_t dropped_up_to = first ? accepted_before(first->database()).value_or(0) : 0;
  const int64_t received_before_ns = now_ns_ - limits_.max_upload_age_ns - kMaxClockErrorNs;
  while (!stop.stop_requested()) {
    const auto forgotten = ingest_.archive().forget_ids(received_before_ns, dropped_up_to, kIdsAtOnce);
    if (!forgotten) {
      return propagate(forgotten);
    }
    report.ids += *forgotten;
    if (*forgotten == 0) {
      break;
    }
  }
  return {};
}

// As much as is missing by one measurement, and one block at most: files that a question has open, and some file systems, give room back later
// only, and what is dropped does not come again.
Status Retention::free_disk(const std::stop_token& stop, RetentionReport& report) {
  const int64_t wanted = limits_.wanted_free_bytes();
  const auto free = environment_.free_bytes(ingest_.directory().path());
  if (!free) {
    return propagate(free);
  }
  const int64_t enough = report.bytes + wanted - *free;
  const int64_t blocks = report.blocks;
  while (report.bytes < enough && report.blocks == blocks && !stop.stop_requested()) {
    const auto dropped = drop_oldest(report);
    if (!dropped || !*dropped) {
      return dropped ? Status() : propagate(dropped);
    }
  }
  return {};
}

// Raw profiles or a block, whichever is older. False: neither is left.
Result<bool> Retention::drop_oldest(RetentionReport& report) {
  Archive& archive = ingest_.archive();
  const auto given_back = archive.give_back(kPagesAtOnce);
  if (!given_back || *given_back > 0) {
    report.bytes += given_back.value_or(0);
    return given_back ? Result<bool>(true) : propagate(given_back);
  }
  auto oldest = oldest_block();
  const auto oldest_raw = oldest ? archive.oldest() : propagate(oldest);
  const auto can_give_back = oldest_raw ? archive.can_give_back() : propagate(oldest_raw);
  if (!can_give_back) {
    return propagate(can_give_back);
  }
  const std::optional<OldestBlock> block = std::move(*oldest);
  const std::optional<ReceivedProfile> raw = *oldest_raw;
  const int64_t block_to_ns = block.has_value() ? block->to_ns : INT64_MAX;
  const bool is_raw_older = raw.has_value() && raw->received_ns <= block_to_ns;
  if (is_raw_older && *can_give_back && raw->sequence <= ingest_.built_up_to()) {
    const auto dropped = archive.drop_profiles(ingest_.built_up_to(), INT64_MAX, kProfilesAtOnce);
    report.profiles += dropped.value_or(0);
    return dropped ? Result<bool>(*dropped > 0) : propagate(dropped);
  }
  if (!block.has_value()) {
    return false;
  }
  const Status dropped = drop(*block, "the disk that is nearly full", report);
  return dropped ? Result<bool>(true) : propagate(dropped);
}

Status Retention::drop_symbol_tables(RetentionReport& report) {
  const auto removed =
      remove_oldest_files(ingest_.directory().path() + "/symtab", ".symtab", limits_.symbols_max_bytes);
  if (!removed) {
    return propagate(removed);
  }
  report.symbol_tables += removed->files;
  report.bytes += removed->bytes;
  return {};
}

}  // namespace plimsoll::store
