#include "store/store_account.h"

#include <algorithm>

#include "store/archive/archive.h"
#include "store/blocks/block_damage.h"
#include "store/blocks/block_folder.h"
#include "store/catalogue/block_table.h"
#include "store/catalogue/catalogue.h"
#include "store/directory/data_directory.h"
#include "store/directory/disk_usage.h"

namespace plimsoll::store {
namespace {

constexpr int64_t kHourNs = int64_t{3600} * 1'000'000'000;
constexpr int64_t kDayNs = 24 * kHourNs;
constexpr int64_t kGrowthNs = 7 * kDayNs;

Result<BlockAccount> account_block(const BlockFolder& folder) {
  auto catalogue = Catalogue::open(folder.catalogue_path(), sqlite::OpenMode::kRead);
  const auto state = catalogue ? read_block_state(catalogue->database()) : propagate(catalogue);
  if (!state) {
    return propagate(state, "looking at block {}", folder.numbers());
  }
  BlockAccount account{.number = folder.number, .state = *state, .first = folder.first};
  const Status counted = sqlite::for_each_row(
      catalogue->database().query(
          "SELECT (SELECT count(*) FROM origin), count(*), coalesce(sum(rows), 0) FROM segment"),
      [&](const sqlite::Statement& row) {
        account.profiles = row.integer(0);
        account.segments = row.integer(1);
        account.rows = row.integer(2);
      });
  const auto rolled_up = counted ? is_rolled_up(catalogue->database()) : propagate(counted);
  if (rolled_up && *rolled_up) {
    account.is_rolled_up = true;
    account.profiles = catalogue->database().integer("SELECT profiles FROM roll_up", 0).value_or(0);
  }
  const auto bytes = rolled_up ? allocated_bytes(folder.path) : propagate(rolled_up);
  if (!bytes) {
    return propagate(bytes, "looking at block {}", folder.numbers());
  }
  account.bytes = *bytes;
  return account;
}

double mean(int64_t sum, int64_t count) {
  return count == 0 ? 0 : static_cast<double>(sum) / static_cast<double>(count);
}

// Since its folder was listed.
bool is_dropped(const DataDirectory& directory, const BlockFolder& folder) {
  const auto now = list_blocks(directory.blocks_path());
  return now && std::ranges::find(*now, folder) == now->end();
}

// Of raw profiles and blocks.
Status measure_growth(sqlite::Database& archive, int64_t now_ns, StoreAccount& account) {
  const auto first_ns = archive.integer(
      "SELECT coalesce(min(received_ns), 0) FROM ledger WHERE received_ns >= ?", 0, now_ns - kGrowthNs);
  const auto recent =
      archive.integer("SELECT count(*) FROM ledger WHERE received_ns >= ?", 0, now_ns - kGrowthNs);
  if (!first_ns || !recent) {
    return propagate(!first_ns ? first_ns : recent, "measuring how the store grows");
  }
  const int64_t time_ns = now_ns - *first_ns;
  if (*recent == 0 || time_ns < kHourNs) {
    return {};
  }
  const double per_day =
      static_cast<double>(*recent) * static_cast<double>(kDayNs) / static_cast<double>(time_ns);
  // What comes is full.
  int64_t in_blocks = 0;
  for (const BlockAccount& block : account.blocks) {
    in_blocks += block.is_rolled_up ? 0 : block.profiles;
  }
  account.archive_bytes_a_day =
      static_cast<int64_t>(per_day * mean(account.archive_bytes, account.raw_profiles));
  account.block_bytes_a_day = static_cast<int64_t>(per_day * mean(account.full_bytes, in_blocks));
  return {};
}

Status measure_others(const DataDirectory& directory, StoreAccount& account) {
  for (const char* suffix : {"", "-wal", "-shm"}) {
    const auto bytes = allocated_bytes(directory.archive_path() + suffix);
    if (!bytes) {
      return propagate(bytes);
    }
    account.archive_bytes += *bytes;
  }
  const auto symbols = allocated_bytes(directory.path() + "/symtab");
  const auto spans = allocated_bytes(directory.spans_path());
  const auto bursts = allocated_bytes(directory.bursts_path());
  const auto all = allocated_bytes(directory.path());
  const auto free = free_bytes(directory.path());
  for (const auto* bytes : {&symbols, &spans, &bursts, &all, &free}) {
    if (!*bytes) {
      return propagate(*bytes);
    }
  }
  account.symbol_bytes = *symbols;
  account.span_bytes = *spans;
  account.burst_bytes = *bursts;
  account.other_bytes = *all - account.block_bytes - account.archive_bytes - *symbols - *spans - *bursts;
  account.disk_free_bytes = *free;
  return {};
}

}  // namespace

Result<StoreAccount> account_store(const std::string& data_dir, int64_t now_ns) {
  const auto directory = DataDirectory::open_for_reading(data_dir);
  const auto folders = directory ? list_blocks(directory->blocks_path()) : propagate(directory);
  if (!folders) {
    return propagate(folders);
  }
  StoreAccount account;
  for (const BlockFolder& folder : *folders) {
    auto block = account_block(folder);
    if (!block && is_dropped(*directory, folder)) {
      continue;
    }
    if (!block && is_unreadable(folder)) {
      BlockAccount damaged{
          .number = folder.number, .state = {}, .damage = block.error().message, .first = folder.first};
      damaged.bytes = allocated_bytes(folder.path).value_or(0);
      block = std::move(damaged);
    }
    if (!block) {
      return propagate(block);
    }
    account.block_bytes += block->bytes;
    account.full_bytes += block->is_rolled_up ? 0 : block->bytes;
    account.blocks.push_back(*block);
  }
  auto archive = directory->open_archive();
  const auto accepted = archive ? last_accepted_sequence(*archive) : propagate(archive);
  // Those that were dropped are the oldest: their sequence has no gaps.
  const auto dropped =
      accepted ? archive->integer("SELECT coalesce(min(sequence) - 1, ?1) FROM raw_profile", 0, *accepted)
               : propagate(accepted);
  if (!dropped) {
    return propagate(dropped, "counting raw profiles");
  }
  account.accepted_profiles = *accepted;
  account.raw_profiles = *accepted - *dropped;
  if (const Status measured = measure_others(*directory, account); !measured) {
    return propagate(measured);
  }
  const Status grown = measure_growth(*archive, now_ns, account);
  return grown ? Result<StoreAccount>(std::move(account)) : propagate(grown);
}

}  // namespace plimsoll::store
