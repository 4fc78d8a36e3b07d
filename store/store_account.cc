#include "store/store_account.h"

#include "store/blocks/block_folder.h"
#include "store/catalogue/catalogue.h"
#include "store/data_directory.h"
#include "store/disk_usage.h"

namespace plimsoll::store {
namespace {

constexpr int64_t kHourNs = int64_t{3600} * 1'000'000'000;
constexpr int64_t kDayNs = 24 * kHourNs;
constexpr int64_t kGrowthNs = 7 * kDayNs;

Result<BlockAccount> account_block(const BlockFolder& folder) {
  auto catalogue = Catalogue::open(folder.catalogue_path(), sqlite::OpenMode::kRead);
  const auto state = catalogue ? read_block_state(catalogue->database()) : propagate(catalogue);
  if (!state) {
    return propagate(state, "looking at block {}", folder.number);
  }
  BlockAccount account{.number = folder.number, .state = *state};
  const Status counted = sqlite::for_each_row(
      catalogue->database().query(
          "SELECT (SELECT count(*) FROM origin), count(*), coalesce(sum(rows), 0) FROM segment"),
      [&](const sqlite::Statement& row) {
        account.profiles = row.integer(0);
        account.segments = row.integer(1);
        account.rows = row.integer(2);
      });
  const auto bytes = counted ? allocated_bytes(folder.path) : propagate(counted);
  if (!bytes) {
    return propagate(bytes, "looking at block {}", folder.number);
  }
  account.bytes = *bytes;
  return account;
}

// By day, of raw profiles and blocks together.
Result<int64_t> growth_of(sqlite::Database& archive, int64_t bytes, int64_t profiles, int64_t now_ns) {
  const auto first_ns = archive.integer(
      "SELECT coalesce(min(received_ns), 0) FROM ledger WHERE received_ns >= ?", 0, now_ns - kGrowthNs);
  const auto recent =
      archive.integer("SELECT count(*) FROM ledger WHERE received_ns >= ?", 0, now_ns - kGrowthNs);
  if (!first_ns || !recent) {
    return !first_ns ? propagate(first_ns) : propagate(recent);
  }
  const int64_t time_ns = now_ns - *first_ns;
  if (*recent == 0 || time_ns < kHourNs) {
    return 0;
  }
  const double per_day =
      static_cast<double>(*recent) * static_cast<double>(kDayNs) / static_cast<double>(time_ns);
  return static_cast<int64_t>(per_day * static_cast<double>(bytes) / static_cast<double>(profiles));
}

Status measure_others(const DataDirectory& directory, int64_t block_bytes, StoreAccount& account) {
  for (const char* suffix : {"", "-wal", "-shm"}) {
    const auto bytes = allocated_bytes(directory.archive_path() + suffix);
    if (!bytes) {
      return propagate(bytes);
    }
    account.archive_bytes += *bytes;
  }
  const auto symbols = allocated_bytes(directory.path() + "/symtab");
  const auto all = allocated_bytes(directory.path());
  const auto free = free_bytes(directory.path());
  for (const auto* bytes : {&symbols, &all, &free}) {
    if (!*bytes) {
      return propagate(*bytes);
    }
  }
  account.symbol_bytes = *symbols;
  account.other_bytes = *all - block_bytes - account.archive_bytes - *symbols;
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
  int64_t block_bytes = 0;
  for (const BlockFolder& folder : *folders) {
    const auto block = account_block(folder);
    if (!block) {
      return propagate(block);
    }
    block_bytes += block->bytes;
    account.blocks.push_back(*block);
  }
  auto archive = directory->open_archive();
  const auto profiles =
      archive ? archive->integer("SELECT coalesce(max(sequence), 0) FROM ledger", 0) : propagate(archive);
  if (!profiles) {
    return propagate(profiles, "counting raw profiles");
  }
  account.raw_profiles = *profiles;
  if (const Status measured = measure_others(*directory, block_bytes, account); !measured) {
    return propagate(measured);
  }
  const auto growth = growth_of(*archive, block_bytes + account.archive_bytes, *profiles, now_ns);
  if (!growth) {
    return propagate(growth, "measuring how the store grows");
  }
  account.bytes_a_day = *growth;
  return account;
}

}  // namespace plimsoll::store
