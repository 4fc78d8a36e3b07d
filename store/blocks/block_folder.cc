#include "store/blocks/block_folder.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <ranges>
#include <system_error>
#include <tuple>
#include <utility>

#include "base/durable_file.h"
#include "base/log.h"
#include "store/blocks/block_catalogue.h"
#include "store/blocks/block_damage.h"
#include "store/catalogue/block_table.h"
#include "store/catalogue/catalogue.h"
#include "store/identity/directory_identity.h"

namespace plimsoll::store {
namespace {

constexpr int64_t kFirst = 1;
constexpr std::string_view kTemporary = ".tmp";    // of a block that is being made
constexpr std::string_view kMoving = ".moving";    // of one that an older format is moved into
constexpr std::string_view kDropped = ".dropped";  // of one that is out of the row
constexpr std::string_view kBeside = ".rebuilt";   // of one that is made in place of another, or gave it up

std::string numbers_text(int64_t first, int64_t number) {
  return first == number ? fmt::format("{:06}", number) : fmt::format("{:06}-{:06}", first, number);
}

BlockFolder folder_of(const std::string& blocks_path, int64_t first, int64_t number, int64_t generation) {
  std::string path = fmt::format("{}/{}", blocks_path, numbers_text(first, number));
  if (generation != 0) {
    path += fmt::format(".{}", generation);
  }
  return {number, std::move(path), generation, first};
}

BlockFolder folder_of(const std::string& blocks_path, int64_t number) {
  return folder_of(blocks_path, number, number, 0);
}

std::string blocks_path_of(const BlockFolder& block) {
  return block.path.substr(0, block.path.rfind('/'));
}

// 0: it is no number.
int64_t number_of(std::string_view text) {
  int64_t number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  return parsed.ec == std::errc() && parsed.ptr == text.data() + text.size() ? std::max<int64_t>(number, 0)
                                                                             : 0;
}

// Which blocks the name of a folder begins with, whatever follows behind a dot; number 0: none.
struct Numbers {
  int64_t first = 0;
  int64_t number = 0;
};

Numbers numbers_in(std::string_view name) {
  const std::string_view text = name.substr(0, name.find('.'));
  const size_t dash = text.find('-');
  const int64_t number = number_of(dash == std::string_view::npos ? text : text.substr(dash + 1));
  const int64_t first = dash == std::string_view::npos ? number : number_of(text.substr(0, dash));
  return first > 0 && first <= number ? Numbers{first, number} : Numbers();
}

// By which of two that have the same profiles the later one counts. First numbers differ only where a person has put folders of several
// directories into one: then too there is one order.
auto order_of(const BlockFolder& block) {
  return std::tuple(block.number, block.generation, -block.first);
}

// All folders of blocks, those that were replaced too, in order.
Result<std::vector<BlockFolder>> all_folders(const std::string& blocks_path) {
  std::vector<BlockFolder> folders;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(blocks_path, error), end; !error && entry != end;
       entry.increment(error)) {
    if (BlockFolder block = block_at(entry->path().string()); block.number != 0) {
      folders.push_back(std::move(block));
    }
  }
  if (error) {
    return fail_errno(error.value(), "listing {}", blocks_path);
  }
  std::ranges::sort(folders, {}, order_of);
  return folders;
}

Status make_folder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  return error ? Status(fail_errno(error.value(), "creating {}", path)) : Status();
}

// Durably, over nothing.
Status rename_folder(const std::string& from, const std::string& to, const std::string& parent) {
  std::error_code error;
  std::filesystem::rename(from, to, error);
  return error ? Status(fail_errno(error.value(), "renaming {} to {}", from, to)) : sync_folder(parent);
}

Status remove_folder(const std::string& path) {
  std::error_code error;
  std::filesystem::remove_all(path, error);
  return error ? Status(fail_errno(error.value(), "removing {}", path)) : Status();
}

Result<bool> is_there(const std::string& path) {
  std::error_code error;
  const bool is_there = std::filesystem::exists(path, error);
  return error ? Result<bool>(fail_errno(error.value(), "looking for {}", path)) : is_there;
}

// Of blocks in order.
bool has_gap(const std::vector<BlockFolder>& blocks) {
  return std::ranges::adjacent_find(blocks, [](const BlockFolder& block, const BlockFolder& next) {
           return block.number != next.first - 1;
         }) != blocks.end();
}

// In the row or out of it before any file goes: a block without some of its files is in no row.
Status drop_folder(const std::string& blocks_path, const BlockFolder& block) {
  const std::string dropped = fmt::format("{}{}", block.path, kDropped);
  const Status renamed = rename_folder(block.path, dropped, blocks_path);
  // Another thread that drops it was first.
  if (!renamed && renamed.error().code == ErrorCode::kNotFound) {
    return {};
  }
  return renamed ? remove_folder(dropped) : renamed;
}

Result<BlockFolder> make_block_after(const std::string& blocks_path, int64_t number,
                                     sqlite::Database* before) {
  return make_block_by(blocks_path, number, [&](const BlockFolder& made) {
    return make_catalogue(made.catalogue_path(), before);
  });
}

// Where both are there, an older program has begun again after the first was moved: both have rows.
Status expect_one_of(const std::string& from, const std::string& to) {
  const auto is_old = is_there(from);
  const auto is_new = is_there(to);
  if (!is_old || !is_new) {
    return !is_old ? propagate(is_old) : propagate(is_new);
  }
  return *is_old && *is_new
             ? Status(with_hint(fail(ErrorCode::kCorrupt, "both {} and {} are there", from, to),
                                "keep the one with more profiles, and move the other away"))
             : Status();
}

Status move_catalogue(const std::string& from, const std::string& to) {
  const auto is_left = is_there(from);
  if (!is_left) {
    return propagate(is_left);
  }
  std::error_code error;
  if (*is_left) {
    if (const Status complete = complete_catalogue(from); !complete) {
      return complete;
    }
    std::filesystem::rename(from, to, error);
    if (error) {
      return fail_errno(error.value(), "moving {} to {}", from, to);
    }
  }
  for (const std::string_view empty : {"-wal", "-shm"}) {
    std::filesystem::remove(fmt::format("{}{}", from, empty), error);
  }
  return {};
}

}  // namespace

std::string BlockFolder::numbers() const {
  return numbers_text(first, number);
}

BlockFolder block_at(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string name = path.substr(slash + 1);
  const size_t dot = name.find('.');
  const auto [first, number] = numbers_in(name);
  const int64_t generation = dot == std::string::npos ? 0 : number_of(std::string_view(name).substr(dot + 1));
  const BlockFolder block =
      folder_of(slash == std::string::npos ? "." : path.substr(0, slash), first, number, generation);
  return number != 0 && block.name() == name ? block : BlockFolder();
}

bool replaces(const BlockFolder& newer, const BlockFolder& older) {
  return newer.covers(older.number) && order_of(newer) > order_of(older);
}

BlockFolders part_folders(std::vector<BlockFolder> folders) {
  std::ranges::sort(folders, {}, order_of);
  BlockFolders parted;
  // Of all that come later in the order, and so have no lower numbers: one of them replaces what has this number or a higher one.
  int64_t first_of_later = INT64_MAX;
  for (BlockFolder& folder : folders | std::views::reverse) {
    const bool is_replaced = first_of_later <= folder.number;
    first_of_later = std::min(first_of_later, folder.first);
    (is_replaced ? parted.replaced : parted.current).push_back(std::move(folder));
  }
  std::ranges::reverse(parted.current);
  std::ranges::reverse(parted.replaced);
  return parted;
}

Result<std::vector<BlockFolder>> list_blocks(const std::string& blocks_path) {
  auto folders = all_folders(blocks_path);
  if (!folders) {
    return propagate(folders);
  }
  std::vector<BlockFolder> blocks = part_folders(std::move(*folders)).current;
  if (blocks.empty() || has_gap(blocks)) {
    return with_hint(blocks.empty() ? fail(ErrorCode::kCorrupt, "{} has no block", blocks_path)
                                    : fail(ErrorCode::kCorrupt, "{} lacks a block between {:06} and {:06}",
                                           blocks_path, blocks.front().first, blocks.back().number),
                     "restore what is missing from a backup");
  }
  return blocks;
}

BlockFolder beside(const BlockFolder& block) {
  BlockFolder made = folder_of(blocks_path_of(block), block.first, block.number, 0);
  made.path += kBeside;
  return made;
}

BlockFolder replacement_of(std::span<const BlockFolder> blocks) {
  const BlockFolder& last = blocks.back();
  BlockFolder next = folder_of(blocks_path_of(last), blocks.front().first, last.number, last.generation + 1);
  next.path += kTemporary;
  return next;
}

BlockFolder replacement_of(const BlockFolder& block) {
  return replacement_of(std::span(&block, 1));
}

Result<BlockFolder> publish_replacement(const std::string& blocks_path, std::span<const BlockFolder> blocks) {
  const BlockFolder made = replacement_of(blocks);
  const BlockFolder published = folder_of(blocks_path, made.first, made.number, made.generation);
  const Status renamed = rename_folder(made.path, published.path, blocks_path);
  return renamed ? Result<BlockFolder>(published) : propagate(renamed, "replacing block {}", made.numbers());
}

namespace {

// So that what it took the place of is the block again.
Status set_aside(const std::string& blocks_path, const BlockFolder& block) {
  const std::string parent = std::filesystem::path(blocks_path).parent_path().string() + "/quarantine";
  std::string kept_at = fmt::format("{}/block-{}", parent, block.name());
  std::error_code error;
  for (int i = 1; std::filesystem::exists(kept_at, error); ++i) {
    kept_at = fmt::format("{}/block-{}-{}", parent, block.name(), i);
  }
  log_error("{} cannot be read: it is kept in {}, and what it took the place of is used", block.path,
            kept_at);
  Status moved = make_folder(parent);
  moved = moved ? rename_folder(block.path, kept_at, parent) : moved;
  return moved ? sync_folder(blocks_path) : moved;
}

bool is_sealed_and_readable(const BlockFolder& block) {
  const auto why = why_unreadable(block);
  auto catalogue = why && !*why ? Catalogue::open(block.catalogue_path(), sqlite::OpenMode::kRead)
                                : Result<Catalogue>(fail(ErrorCode::kCorrupt, "unreadable"));
  const auto state = catalogue ? read_block_state(catalogue->database()) : propagate(catalogue);
  return state && state->is_sealed;
}

// What a crash has left of blocks that were being made, and beside blocks that are in the row no more.
Status remove_unfinished(const std::string& blocks_path, const std::vector<BlockFolder>& blocks) {
  std::vector<std::string> unfinished;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(blocks_path, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string path = entry->path().string();
    const std::string name = entry->path().filename().string();
    if (numbers_in(name).number == 0) {
      continue;
    }
    if (entry->path().extension() == kTemporary) {
      unfinished.push_back(path);
    } else if (entry->path().extension() == kBeside) {
      const bool is_in_row =
          std::ranges::any_of(blocks, [&](const BlockFolder& block) { return beside(block).name() == name; });
      log_warning("{} {}", path,
                  is_in_row ? "is left of an interrupted repair: run \"plimsoll store repair\" again"
                            : "is removed: its block was dropped");
      if (!is_in_row) {
        unfinished.push_back(path);
      }
    }
  }
  Status removed = error ? Status(fail_errno(error.value(), "listing {}", blocks_path)) : Status();
  for (const std::string& path : unfinished) {
    removed = removed ? remove_folder(path) : removed;
  }
  return removed;
}

std::vector<BlockFolder> replaced_by(const BlockFolder& newer, const std::vector<BlockFolder>& folders) {
  std::vector<BlockFolder> older;
  std::ranges::copy_if(folders, std::back_inserter(older),
                       [&](const BlockFolder& folder) { return replaces(newer, folder); });
  return older;
}

// Whether these have all that `block` took the place of, without it.
bool have_all_of(const std::vector<BlockFolder>& older, const BlockFolder& block) {
  return !older.empty() && older.front().first == block.first && older.back().number == block.number &&
         !has_gap(older) && std::ranges::all_of(older, is_sealed_and_readable);
}

// Of a row of folders. While a block that can be read stands, what it took the place of does not come back, in whatever order it goes.
Status settle_replaced(const std::string& blocks_path, const BlockFolders& folders) {
  Status settled;
  for (const BlockFolder& block : folders.current) {
    const std::vector<BlockFolder> older = replaced_by(block, folders.replaced);
    if (older.empty() || !settled) {
      continue;
    }
    if (is_sealed_and_readable(block)) {
      for (const BlockFolder& folder : older) {
        settled = settled ? drop_folder(blocks_path, folder) : settled;
      }
      continue;
    }
    const BlockFolders without = part_folders(older);
    if (have_all_of(without.current, block)) {
      settled = set_aside(blocks_path, block);
      settled = settled ? settle_replaced(blocks_path, without) : settled;
    } else {
      log_error("{} cannot be read, nor all that it took the place of: it is kept, and so is what is left",
                block.path);
    }
  }
  return settled;
}

}  // namespace

Result<bool> is_replaced(const BlockFolder& block) {
  const auto folders = all_folders(blocks_path_of(block));
  if (!folders) {
    return propagate(folders);
  }
  return std::ranges::any_of(*folders, [&](const BlockFolder& folder) { return replaces(folder, block); });
}

Status remove_replaced(const std::string& blocks_path) {
  auto folders = all_folders(blocks_path);
  if (!folders) {
    return propagate(folders);
  }
  const Status removed = remove_unfinished(blocks_path, *folders);
  return removed ? settle_replaced(blocks_path, part_folders(std::move(*folders))) : removed;
}

Result<BlockFolder> make_block_by(const std::string& blocks_path, int64_t number,
                                  const std::function<Status(const BlockFolder& made)>& fill) {
  const BlockFolder block = folder_of(blocks_path, number);
  const BlockFolder temporary{number, fmt::format("{}{}", block.path, kTemporary)};
  const auto is_made = is_there(block.catalogue_path());
  if (!is_made || *is_made) {
    const Status synced = is_made ? sync_folder(blocks_path) : propagate(is_made);
    return synced ? Result<BlockFolder>(block) : propagate(synced);
  }
  Status made = remove_folder(temporary.path);
  made = made ? make_folder(temporary.segments_path()) : made;
  made = made ? fill(temporary) : made;
  made = made ? sync_folder(temporary.path) : made;
  made = made ? rename_folder(temporary.path, block.path, blocks_path) : made;
  return made ? Result<BlockFolder>(block) : propagate(made, "making block {}", number);
}

Result<BlockFolder> make_block(const std::string& blocks_path, int64_t number, sqlite::Database& before) {
  return make_block_after(blocks_path, number, &before);
}

Status drop_block(const std::string& blocks_path, const BlockFolder& block) {
  const auto folders = all_folders(blocks_path);
  if (!folders) {
    return propagate(folders, "dropping block {}", block.numbers());
  }
  std::vector<BlockFolder> going = replaced_by(block, *folders);
  going.push_back(block);
  Status dropped;
  for (const BlockFolder& folder : going) {
    dropped = dropped ? drop_folder(blocks_path, folder) : dropped;
  }
  // Behind one that took its place it is of that one.
  const bool counts =
      std::ranges::none_of(*folders, [&](const BlockFolder& folder) { return replaces(folder, block); });
  for (const BlockFolder& folder : going) {
    if (dropped && counts && has_replacement(folder).value_or(false)) {
      log_warning("{} is removed: its block was dropped", beside(folder).path);
      dropped = drop_folder(blocks_path, beside(folder));
    }
  }
  return dropped ? dropped : propagate(dropped, "dropping block {}", block.numbers());
}

Status remove_dropped(const std::string& blocks_path) {
  std::vector<std::string> dropped;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(blocks_path, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->path().extension() == kDropped) {
      dropped.push_back(entry->path().string());
    }
  }
  Status removed = error ? Status(fail_errno(error.value(), "listing {}", blocks_path)) : Status();
  for (const std::string& path : dropped) {
    removed = removed ? remove_folder(path) : removed;
  }
  return removed;
}

Result<BlockFolder> make_replacement(const std::string& blocks_path, const BlockFolder& block,
                                     sqlite::Database* events_from, int64_t accepted_before,
                                     std::string_view directory_id) {
  BlockFolder made = beside(block);
  const auto is_left = is_there(made.path);
  if (!is_left) {
    return propagate(is_left);
  }
  if (*is_left) {
    auto left = Catalogue::open(made.catalogue_path(), sqlite::OpenMode::kRead);
    const auto state = left ? read_block_state(left->database()) : propagate(left);
    const auto begins = state ? store::accepted_before(left->database()) : propagate(state);
    // It may be the block that another took the place of, and the only one that has its rows.
    if (!begins || state->is_sealed) {
      return fail(ErrorCode::kConflict, "{} is not a block that is being made", made.path);
    }
    if (*begins == accepted_before) {
      return made;
    }
  }
  const BlockFolder temporary{
      .number = made.number, .path = fmt::format("{}{}", made.path, kTemporary), .first = made.first};
  Status done = remove_folder(made.path);
  done = done ? remove_folder(temporary.path) : done;
  done = done ? make_folder(temporary.segments_path()) : done;
  done = done ? make_catalogue(temporary.catalogue_path(), events_from) : done;
  if (done) {
    auto catalogue = Catalogue::open(temporary.catalogue_path(), sqlite::OpenMode::kReadWrite);
    done = catalogue ? write_accepted_before(catalogue->database(), accepted_before) : propagate(catalogue);
    done = done ? give_directory_id(catalogue->database(), directory_id) : done;
  }
  done = done ? sync_folder(temporary.path) : done;
  done = done ? rename_folder(temporary.path, made.path, blocks_path) : done;
  return done ? Result<BlockFolder>(made) : propagate(done, "making block {} again", block.numbers());
}

Result<bool> has_replacement(const BlockFolder& block) {
  return is_there(beside(block).path);
}

Status take_place(const std::string& blocks_path, const BlockFolder& block) {
  const std::string made = beside(block).path;
  Status synced = sync_folder(made + "/segments");
  synced = synced ? sync_folder(made) : synced;
  if (!synced) {
    return synced;
  }
  if (::renameat2(AT_FDCWD, made.c_str(), AT_FDCWD, block.path.c_str(), RENAME_EXCHANGE) != 0) {
    const int error = errno;
    return error == EINVAL || error == ENOSYS
               ? Status(with_hint(fail(ErrorCode::kUnsupported,
                                       "the file system of {} cannot exchange two folders", blocks_path),
                                  "move the data directory to ext4, XFS or Btrfs"))
               : fail_errno(error, "exchanging {} and {}", made, block.path);
  }
  return sync_folder(blocks_path);
}

Status remove_replaced(const std::string& blocks_path, const BlockFolder& block, const std::string& keep_at) {
  const BlockFolder replaced = beside(block);
  if (!keep_at.empty()) {
    const std::string parent = std::filesystem::path(keep_at).parent_path().string();
    Status moved = make_folder(parent);
    moved = moved ? rename_folder(replaced.path, keep_at, parent) : moved;
    return moved ? sync_folder(blocks_path) : moved;
  }
  return drop_folder(blocks_path, replaced);
}

Result<BlockFolder> make_first_block(const std::string& blocks_path) {
  return make_block_after(blocks_path, kFirst, nullptr);
}

Status move_into_first_block(const std::string& data_dir, const std::string& blocks_path) {
  const BlockFolder block = folder_of(blocks_path, kFirst);
  const BlockFolder moving{kFirst, fmt::format("{}{}", block.path, kMoving)};
  const std::string old_catalogue = data_dir + "/catalogue.db";
  const std::string old_segments = data_dir + "/segments";
  for (const BlockFolder& made : {block, moving}) {
    for (const Status& checked : {expect_one_of(old_catalogue, made.catalogue_path()),
                                  expect_one_of(old_segments, made.segments_path())}) {
      if (!checked) {
        return checked;
      }
    }
  }
  const auto is_moved = is_there(block.path);
  const auto has_segments = is_there(old_segments);
  if (!is_moved || !has_segments || *is_moved) {
    return !is_moved ? propagate(is_moved) : !has_segments ? propagate(has_segments) : Status();
  }
  Status moved = make_folder(moving.path);
  moved = moved ? move_catalogue(old_catalogue, moving.catalogue_path()) : moved;
  if (moved && *has_segments) {
    moved = rename_folder(old_segments, moving.segments_path(), data_dir);
  }
  // Of a format without rows that are of use today there is neither.
  moved = moved ? make_folder(moving.segments_path()) : moved;
  moved = moved ? make_catalogue(moving.catalogue_path(), nullptr) : moved;
  moved = moved ? sync_folder(moving.path) : moved;
  moved = moved ? rename_folder(moving.path, block.path, blocks_path) : moved;
  return moved ? moved : propagate(moved, "moving rows into {}", block.path);
}

}  // namespace plimsoll::store
