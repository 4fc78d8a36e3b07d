#include "store/packed/block_packs.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/durable_file.h"
#include "base/log.h"
#include "store/catalogue/block_table.h"
#include "store/catalogue/catalogue.h"
#include "store/catalogue/file_version.h"
#include "store/dictionaries/dictionary_reader.h"
#include "store/frames/binding_reader.h"

namespace plimsoll::store {
namespace {

// In a row, without one of them that is found as it should be.
constexpr int kMaxWrites = 3;

constexpr std::string_view kName = "entries.packed";

// Fewer changes than this, or than this part of the frames, are read from the catalogue each time.
constexpr int64_t kFewChanges = 10'000;
constexpr int64_t kSmallPart = 8;

Result<EntryCounts> counts_of(sqlite::Database& catalogue) {
  const auto locations = catalogue.integer("SELECT max(id) FROM location", 0);
  const auto stacks = catalogue.integer("SELECT max(id) FROM stack", 0);
  const auto last_change = last_binding_change(catalogue);
  if (!locations || !stacks || !last_change) {
    return !locations ? propagate(locations) : !stacks ? propagate(stacks) : propagate(last_change);
  }
  return EntryCounts{.locations = static_cast<uint32_t>(*locations),
                     .stacks = static_cast<uint32_t>(*stacks),
                     .last_change = *last_change};
}

bool is_of(const EntryCounts& packed, const EntryCounts& catalogue) {
  return packed.locations == catalogue.locations && packed.stacks == catalogue.stacks &&
         packed.last_change <= catalogue.last_change;
}

Status check_all(const EntryPack& pack) {
  Dictionaries dictionaries;
  PackedFrames frames;
  Status read = pack.read_locations(dictionaries);
  read = read ? pack.read_stacks(dictionaries) : read;
  return read ? pack.read_frames(frames) : read;
}

void remove_unfinished(const BlockFolder& block) {
  std::error_code error;
  for (std::filesystem::directory_iterator entry(block.path, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.starts_with(kName) && name.ends_with(".tmp")) {
      std::error_code ignored;
      std::filesystem::remove(entry->path(), ignored);
    }
  }
}

}  // namespace

std::string entry_pack_path(const BlockFolder& block) {
  return fmt::format("{}/{}", block.path, kName);
}

std::optional<EntryPack> usable_pack(const BlockFolder& block, sqlite::Database& catalogue) {
  auto pack = EntryPack::open(entry_pack_path(block));
  if (!pack) {
    if (pack.error().code != ErrorCode::kNotFound) {
      log_warning("{}; the catalogue is read instead", pack.error().text());
    }
    return std::nullopt;
  }
  const auto counts = counts_of(catalogue);
  return counts && is_of(pack->counts(), *counts) ? std::optional(std::move(*pack)) : std::nullopt;
}

Status pack_block(const BlockFolder& block) {
  auto catalogue = Catalogue::open(block.catalogue_path(), sqlite::OpenMode::kRead);
  const auto transaction =
      catalogue ? sqlite::Transaction::begin_read(catalogue->database()) : propagate(catalogue);
  if (!transaction) {
    return propagate(transaction);
  }
  const auto dictionaries = load_dictionaries(catalogue->database());
  const auto bindings = dictionaries ? BindingReader::load(catalogue->database()) : propagate(dictionaries);
  if (!bindings) {
    return propagate(bindings);
  }
  remove_unfinished(block);
  return write_file_durably(entry_pack_path(block), as_bytes(pack_entries(*dictionaries, *bindings)));
}

Result<bool> BlockPacker::is_due(const BlockFolder& block) {
  const std::pair key(block.number, block.generation);
  const auto version = file_version(block.catalogue_path());
  if (!version) {
    return propagate(version);
  }
  const auto known = checked_.find(key);
  if (known != checked_.end() && known->second == *version) {
    return false;
  }
  auto catalogue = Catalogue::open(block.catalogue_path(), sqlite::OpenMode::kRead);
  const auto state = catalogue ? read_block_state(catalogue->database()) : propagate(catalogue);
  const auto counts = state ? counts_of(catalogue->database()) : propagate(state);
  if (!counts) {
    return propagate(counts);
  }
  if (!state->is_sealed) {
    return false;
  }
  const auto pack = EntryPack::open(entry_pack_path(block));
  const bool is_current = pack && is_of(pack->counts(), *counts) &&
                          counts->last_change - pack->counts().last_change <=
                              std::max<int64_t>(kFewChanges, pack->counts().frames / kSmallPart) &&
                          (known != checked_.end() || check_all(*pack));
  if (is_current) {
    checked_[key] = *version;
    written_.erase(key);
  }
  return !is_current;
}

Result<int64_t> BlockPacker::run_once(std::span<const BlockFolder> blocks) {
  Status failed;
  for (const BlockFolder& block : blocks) {
    const std::pair key(block.number, block.generation);
    if (unfit_.contains(key)) {
      continue;
    }
    const auto is_due = this->is_due(block);
    Status packed = is_due ? Status() : propagate(is_due);
    if (is_due && *is_due && written_[key]++ == kMaxWrites) {
      packed =
          fail(ErrorCode::kCorrupt, "{} is damaged each time that it is written", entry_pack_path(block));
    } else if (is_due && *is_due) {
      packed = pack_block(block);
      if (packed) {
        // It is read once more, as a check of what was written.
        checked_.erase(key);
        return block.number;
      }
    }
    std::error_code ignored;
    if (packed || !std::filesystem::exists(block.path, ignored)) {
      continue;
    }
    failed = propagate(packed, "packing the entries of block {}", block.number);
    // A full disk may have room later; a damaged catalogue stays so.
    if (is_damage(packed.error())) {
      unfit_.insert(key);
    }
  }
  return failed ? Result<int64_t>(0) : propagate(failed);
}

}  // namespace plimsoll::store
