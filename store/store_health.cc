#include "store/store_health.h"

#include <algorithm>
#include <filesystem>

#include "proto/profile.pb.h"
#include "store/blocks/block_damage.h"
#include "store/catalogue/block_table.h"
#include "store/catalogue/file_version.h"
#include "store/directory/disk_usage.h"

namespace plimsoll::store {
namespace {

// Each is a look-up in the index of one kind; `frame` is sought by its key.
constexpr std::string_view kLocationsSql =
    "SELECT count(*), count(*) - count(frame.location) FROM location "
    "LEFT JOIN frame ON frame.location = location.id AND frame.depth = 0 WHERE kind IN (?, ?, ?, ?)";

constexpr std::string_view kBinarySymbolsSql =
    "SELECT coalesce(sum(quality > 0), 0), coalesce(sum(quality = 0 AND generation = 0), 0), "
    "coalesce(sum(quality = 0 AND generation > 0), 0) FROM binary "
    "WHERE EXISTS (SELECT 1 FROM location WHERE kind IN (?, ?, ?, ?) AND owner = binary.id)";

// A block that has just begun has few.
constexpr int kBlocksOfSymbols = 2;

}  // namespace

Result<StoreHealthMeter> StoreHealthMeter::open(const std::string& data_dir) {
  auto directory = DataDirectory::open_for_reading(data_dir);
  if (!directory) {
    return propagate(directory);
  }
  auto archive = directory->open_archive();
  if (!archive) {
    return propagate(archive);
  }
  return StoreHealthMeter(std::move(*directory), std::move(*archive));
}

Result<StoreHealth> StoreHealthMeter::measure() {
  StoreHealth health;
  const auto blocks = list_blocks(directory_.blocks_path());
  if (!blocks) {
    return propagate(blocks);
  }
  std::erase_if(blocks_, [&](const auto& block) {
    return std::ranges::none_of(*blocks, [&](const BlockFolder& folder) {
      return block.first == std::pair(folder.number, folder.generation);
    });
  });
  int64_t last_built = 0;
  int of_symbols = 0;  // blocks whose symbols are counted in
  for (auto folder = blocks->rbegin(); folder != blocks->rend(); ++folder) {
    Block& block = blocks_[{folder->number, folder->generation}];
    const Status measured = measure_block(*folder, folder == blocks->rbegin(), block);
    const bool is_newest = folder == blocks->rbegin();
    std::error_code ignored;
    if (!measured && !is_newest && std::filesystem::exists(folder->path, ignored) && is_unreadable(*folder)) {
      ++health.blocks_unreadable;
      health.why_unreadable = measured.error().message;
      continue;
    }
    if (!measured && measured.error().code == ErrorCode::kNotFound && !is_newest) {
      continue;  // dropped meanwhile
    }
    if (!measured) {
      return propagate(measured, "measuring block {}", folder->number);
    }
    health.profiles_set_aside += block.counted.profiles_set_aside;
    last_built = std::max(last_built, block.last_built);
    if (block.has_profiles && of_symbols < kBlocksOfSymbols) {
      ++of_symbols;
      health.locations += block.counted.locations;
      health.locations_without_symbols += block.counted.locations_without_symbols;
      health.binaries_found += block.counted.binaries_found;
      health.binaries_pending += block.counted.binaries_pending;
      health.binaries_missing += block.counted.binaries_missing;
    }
  }
  // The blocks first: profiles accepted between the two reads count as pending. The other order could give a negative number.
  const auto accepted = last_accepted_sequence(archive_);
  if (!accepted) {
    return propagate(accepted);
  }
  health.profiles_accepted = *accepted;
  health.profiles_pending = *accepted - last_built;
  const Status measured = measure_disk(health);
  return measured ? Result<StoreHealth>(health) : propagate(measured);
}

Status StoreHealthMeter::measure_block(const BlockFolder& folder, bool is_newest, Block& block) {
  if (!block.catalogue) {
    const auto version = file_version(folder.catalogue_path());
    if (!version || (!is_newest && block.version == *version)) {
      return version ? Status() : propagate(version);
    }
    auto catalogue = Catalogue::open(folder.catalogue_path(), sqlite::OpenMode::kRead);
    if (!catalogue) {
      return propagate(catalogue);
    }
    block.catalogue = std::move(*catalogue);
    block.version = std::nullopt;
  }
  sqlite::Database& catalogue = block.catalogue->database();
  const auto version =
      is_newest ? catalogue.integer("PRAGMA data_version", 0) : file_version(folder.catalogue_path());
  if (!version) {
    return propagate(version, "reading the version of a catalogue");
  }
  if (block.version != *version) {
    if (auto counted = count(catalogue, block); !counted) {
      return counted;
    }
    block.version = *version;
  }
  if (!is_newest) {
    block.catalogue = std::nullopt;
  }
  return {};
}

Status StoreHealthMeter::count(sqlite::Database& catalogue, Block& block) {
  const auto last_built = last_built_sequence(catalogue);
  const auto set_aside = catalogue.integer("SELECT count(*) FROM unbuildable", 0);
  const auto state = read_block_state(catalogue);
  if (!last_built || !set_aside || !state) {
    return !last_built ? propagate(last_built) : !set_aside ? propagate(set_aside) : propagate(state);
  }
  block.last_built = *last_built;
  block.counted.profiles_set_aside = *set_aside;
  block.has_profiles = state->from_ns <= state->to_ns;
  const Status counted = count_symbols(catalogue, block.counted);
  return counted ? counted : propagate(counted, "counting addresses without symbols");
}

Status StoreHealthMeter::count_symbols(sqlite::Database& catalogue, StoreHealth& counted) {
  const Status locations = sqlite::for_each_row(
      catalogue.query(kLocationsSql, wire::ELF, wire::ELF_FILE_OFFSET, wire::KERNEL, wire::MODULE),
      [&](const sqlite::Statement& row) {
        counted.locations = row.integer(0);
        counted.locations_without_symbols = row.integer(1);
      });
  if (!locations) {
    return locations;
  }
  return sqlite::for_each_row(
      catalogue.query(kBinarySymbolsSql, wire::ELF, wire::ELF_FILE_OFFSET, wire::KERNEL, wire::MODULE),
      [&](const sqlite::Statement& row) {
        counted.binaries_found = row.integer(0);
        counted.binaries_pending = row.integer(1);
        counted.binaries_missing = row.integer(2);
      });
}

Status StoreHealthMeter::measure_disk(StoreHealth& health) const {
  const auto free = free_bytes(directory_.path());
  const auto used = free ? allocated_bytes(directory_.path()) : propagate(free);
  if (!used) {
    return propagate(used);
  }
  health.disk_free_bytes = *free;
  health.disk_bytes = *used;
  return {};
}

}  // namespace plimsoll::store
