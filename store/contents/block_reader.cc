#include "store/contents/block_reader.h"

#include <filesystem>

#include "base/log.h"
#include "base/run_both.h"
#include "store/blocks/block_damage.h"
#include "store/catalogue/file_version.h"
#include "store/catalogue/segment_table.h"
#include "store/dictionaries/dictionary_reader.h"
#include "store/frames/binding_reader.h"
#include "store/packed/block_packs.h"

namespace plimsoll::store {
namespace {

// Every attempt reads a newer list, so that only a reader that is overtaken by so many merges in a row gives up. Replaced files stay for some
// seconds: what is not there in any of them was not merged.
constexpr int kMaxAttempts = 20;

// A block that was sealed lately is named, slice by slice: what follows it need not read all of it again each time. Of the many others of a
// long history each question keeps what it needs.
constexpr std::chrono::minutes kKeepEntries{1};

}  // namespace

std::string BlockReader::name() const {
  return fmt::format("block {}", folder_.number);
}

std::optional<DamagedPart> BlockReader::damage() const {
  const std::lock_guard lock(state_mutex_);
  return damage_;
}

// Whether it is the catalogue that is at fault, and not the moment.
void BlockReader::note_damage(const Error& error) {
  std::error_code ignored;
  const bool is_dropped = !std::filesystem::exists(folder_.path, ignored);
  if (error.code != ErrorCode::kCorrupt && (is_dropped || !store::is_unreadable(folder_))) {
    return;
  }
  damage_ = DamagedPart{.path = folder_.path, .why = error.message};
  if (sealed_) {
    damage_->from_ns = sealed_->from_ns;
    damage_->to_ns = sealed_->to_ns;
  }
}

Result<BlockState> BlockReader::state() {
  const std::lock_guard lock(state_mutex_);
  auto state = state_locked();
  if (!state) {
    note_damage(state.error());
  }
  return state;
}

Result<BlockState> BlockReader::state_locked() {
  if (sealed_) {
    return *sealed_;
  }
  if (!for_state_) {
    auto catalogue = Catalogue::open(folder_.catalogue_path(), sqlite::OpenMode::kRead);
    if (!catalogue) {
      return propagate(catalogue, "opening block {}", folder_.number);
    }
    for_state_ = std::move(*catalogue);
  }
  const auto state = read_block_state(for_state_->database());
  if (state && state->is_sealed) {
    sealed_ = *state;
    for_state_ = std::nullopt;
  }
  return state;
}

Result<int64_t> BlockReader::version() {
  const std::lock_guard lock(mutex_);
  return version_locked();
}

Result<int64_t> BlockReader::version_locked() {
  const auto state = this->state();
  if (!state) {
    return propagate(state);
  }
  if (state->is_sealed) {
    return file_version(folder_.catalogue_path());
  }
  const Status opened = open();
  // Changes whenever another connection has committed; only comparable on the same connection.
  return opened ? catalogue_->database().integer("PRAGMA data_version", 0) : propagate(opened);
}

Status BlockReader::open() {
  if (catalogue_) {
    return {};
  }
  auto catalogue = Catalogue::open(folder_.catalogue_path(), sqlite::OpenMode::kRead);
  if (!catalogue) {
    return propagate(catalogue);
  }
  catalogue_ = std::make_unique<Catalogue>(std::move(*catalogue));
  return {};
}

void BlockReader::forget_old_entries() {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (lock && !catalogue_ && forget_unless_extended()) {
    segments_ = {};
  }
}

bool BlockReader::forget_unless_extended() {
  if (entries_extended_ && Clock::now() - *entries_extended_ <= kKeepEntries) {
    return false;
  }
  entries_ = nullptr;
  return true;
}

Result<PartContents> BlockReader::read(const EntriesMark& known) {
  const std::lock_guard lock(mutex_);
  const auto state = this->state();
  if (!state) {
    return propagate(state);
  }
  for (int attempt = 1;; ++attempt) {
    // Files of a block that was dropped are gone all at once, and the block with them.
    std::error_code ignored;
    are_gone_for_good_ = attempt == kMaxAttempts && std::filesystem::exists(folder_.path, ignored);
    auto contents = read_once(known);
    if (contents || attempt == kMaxAttempts || contents.error().code != ErrorCode::kNotFound) {
      if (state->is_sealed) {
        catalogue_ = nullptr;
        forget_unless_extended();
      }
      if (!contents) {
        const std::lock_guard state_lock(state_mutex_);
        note_damage(contents.error());
      }
      return contents;
    }
  }
}

// One attempt. kNotFound: since the list of segments was read, some of them may have been merged and removed.
Result<PartContents> BlockReader::read_once(const EntriesMark& known) {
  PartContents contents;
  const auto at_version = version_locked();
  const Status opened = open();
  if (!at_version || !opened) {
    return !at_version ? propagate(at_version) : propagate(opened);
  }
  const auto transaction = sqlite::Transaction::begin_read(catalogue_->database());
  if (!transaction) {
    return propagate(transaction);
  }
  contents.version = *at_version;
  // First the files: what is open stays readable however long the rest takes.
  auto rows = open_rows();
  if (!rows) {
    return propagate(rows);
  }
  contents.rows = std::move(*rows);
  const auto newest = newest_entries();
  if (!newest) {
    return propagate(newest);
  }
  contents.mark = *newest;
  if (*newest != known) {
    if (const Status read = read_entries(*newest); !read) {
      entries_ = nullptr;  // some of it may be newer than the rest
      return propagate(read);
    }
    contents.entries = entries_;
  }
  contents.reading = reading_;
  return contents;
}

Result<std::shared_ptr<const LocalRows>> BlockReader::open_rows() {
  const auto segments = visible_segments(catalogue_->database());
  if (!segments) {
    return propagate(segments);
  }
  std::vector<VisibleSegment> files;
  std::vector<std::string> paths;
  for (const SegmentEntry& segment : *segments) {
    paths.push_back(folder_.segments_path() + "/" + segment.file);
    files.push_back({paths.back(), segment.rows, segment.from_ns, segment.to_ns});
  }
  if (before_opening_) {
    before_opening_(paths);
  }
  auto rows = LocalRows::open_sound(files, segments_, are_gone_for_good_);
  if (!rows) {
    return propagate(rows);
  }
  segments_ = rows->segments();
  return std::make_shared<const LocalRows>(std::move(*rows));
}

// Entries come with origins; what they are called, with changes of bindings.
Result<EntriesMark> BlockReader::newest_entries() {
  const auto origin = catalogue_->database().integer("SELECT coalesce(max(id), 0) FROM origin", 0);
  const auto change = last_binding_change(catalogue_->database());
  if (!origin || !change) {
    return !origin ? propagate(origin) : propagate(change);
  }
  return EntriesMark{*origin, *change};
}

Status BlockReader::read_entries(const EntriesMark& newest) {
  Status read;
  if (entries_ == nullptr) {
    read = read_all_entries();
  } else if (newest != mark_) {
    auto extended = std::make_shared<PartEntries>(*entries_);
    read = extend(extended->dictionaries, catalogue_->database());
    read = read ? BindingReader::extend(extended->bindings, catalogue_->database()) : read;
    entries_ = std::move(extended);
    entries_extended_ = Clock::now();
  }
  mark_ = newest;
  return read;
}

Status BlockReader::read_all_entries() {
  auto packed = read_packed_entries();
  auto read = packed ? std::move(packed) : read_catalogue_entries();
  if (!read) {
    return propagate(read);
  }
  entries_ = std::move(*read);
  ++reading_;
  return {};
}

// kNotFound where the block has no packed entries, or none that can be used.
Result<std::shared_ptr<const PartEntries>> BlockReader::read_packed_entries() {
  const auto state = this->state();
  const auto pack =
      state && state->is_sealed ? store::usable_pack(folder_, catalogue_->database()) : std::nullopt;
  if (!pack) {
    return fail(ErrorCode::kNotFound, "block {} has no packed entries", folder_.number);
  }
  auto all = std::make_shared<PartEntries>();
  store::Dictionaries stacks;
  store::PackedFrames frames;
  Status locations_read;
  Status others_read;
  run_both(
      [&] {
        locations_read = pack->read_locations(all->dictionaries);
        locations_read = locations_read ? extend_without_stacks(all->dictionaries, catalogue_->database())
                                        : locations_read;
      },
      [&] {
        others_read = pack->read_stacks(stacks);
        others_read = others_read ? pack->read_frames(frames) : others_read;
      });
  auto bindings = locations_read && others_read ? BindingReader::load(catalogue_->database(), &frames)
                  : !locations_read             ? propagate(locations_read)
                                                : propagate(others_read);
  if (!bindings) {
    log_warning("block {}: {}; the catalogue is read instead", folder_.number, bindings.error().text());
    return propagate(bindings);
  }
  all->dictionaries.stacks = std::move(stacks.stacks);
  all->bindings = std::move(*bindings);
  return all;
}

// The stacks are often the larger half.
Result<std::shared_ptr<const PartEntries>> BlockReader::read_catalogue_entries() {
  auto all = std::make_shared<PartEntries>();
  const auto last_stack = store::last_stack(catalogue_->database());
  auto beside = Catalogue::open(folder_.catalogue_path(), sqlite::OpenMode::kRead);
  if (!last_stack || !beside) {
    return !last_stack ? propagate(last_stack) : propagate(beside);
  }
  Dictionaries stacks;
  Status others_read;
  Status stacks_read;
  Result<Bindings> bindings;
  run_both(
      [&] {
        others_read = extend_without_stacks(all->dictionaries, catalogue_->database());
        bindings = BindingReader::load(catalogue_->database());
      },
      [&] { stacks_read = extend_stacks(stacks, beside->database(), *last_stack); });
  for (const Status& status : {others_read, stacks_read, bindings ? Status() : propagate(bindings)}) {
    if (!status) {
      return propagate(status);
    }
  }
  all->dictionaries.stacks = std::move(stacks.stacks);
  all->bindings = std::move(*bindings);
  return all;
}

}  // namespace plimsoll::store
