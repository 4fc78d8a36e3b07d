#include "store/blocks/block_folder.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <system_error>

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

BlockFolder folder_of(const std::string& blocks_path, int64_t number, int64_t generation = 0) {
  return {number,
          generation == 0 ? fmt::format("{}/{:06}", blocks_path, number)
                          : fmt::format("{}/{:06}.{}", blocks_path, number, generation),
          generation};
}

// 0: it is no number.
int64_t number_of(std::string_view text) {
  int64_t number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  return parsed.ec == std::errc() && parsed.ptr == text.data() + text.size() ? std::max<int64_t>(number, 0)
                                                                             : 0;
}

// All generations of all blocks, in order.
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
  std::ranges::sort(folders, {},
                    [](const BlockFolder& block) { return std::pair(block.number, block.generation); });
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

BlockFolder block_at(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string name = path.substr(slash + 1);
  const size_t dot = name.find('.');
  const int64_t number = number_of(std::string_view(name).substr(0, dot));
  const int64_t generation = dot == std::string::npos ? 0 : number_of(std::string_view(name).substr(dot + 1));
  const BlockFolder block =
      folder_of(slash == std::string::npos ? "." : path.substr(0, slash), number, generation);
  return number != 0 && block.name() == name ? block : BlockFolder();
}

Result<std::vector<BlockFolder>> list_blocks(const std::string& blocks_path) {
  auto folders = all_folders(blocks_path);
  if (!folders) {
    return propagate(folders);
  }
  std::vector<BlockFolder> blocks;
  for (BlockFolder& folder : *folders) {
    if (!blocks.empty() && blocks.back().number == folder.number) {
      blocks.pop_back();
    }
    blocks.push_back(std::move(folder));
  }
  const bool has_gap = !blocks.empty() && blocks.back().number - blocks.front().number + 1 !=
                                              static_cast<int64_t>(blocks.size());
  if (blocks.empty() || has_gap) {
    return with_hint(blocks.empty() ? fail(ErrorCode::kCorrupt, "{} has no block", blocks_path)
                                    : fail(ErrorCode::kCorrupt, "{} lacks a block between {:06} and {:06}",
                                           blocks_path, blocks.front().number, blocks.back().number),
                     "restore what is missing from a backup");
  }
  return blocks;
}

BlockFolder beside(const BlockFolder& block) {
  const std::string blocks_path = block.path.substr(0, block.path.rfind('/'));
  return {block.number, fmt::format("{}{}", folder_of(blocks_path, block.number).path, kBeside)};
}

BlockFolder replacement_of(const BlockFolder& block) {
  const std::string blocks_path = block.path.substr(0, block.path.rfind('/'));
  BlockFolder next = folder_of(blocks_path, block.number, block.generation + 1);
  next.path += kTemporary;
  return next;
}

Result<BlockFolder> publish_replacement(const std::string& blocks_path, const BlockFolder& block) {
  const BlockFolder made = replacement_of(block);
  const BlockFolder published = folder_of(blocks_path, block.number, made.generation);
  const Status renamed = rename_folder(made.path, published.path, blocks_path);
  return renamed ? Result<BlockFolder>(published) : propagate(renamed, "replacing block {}", block.number);
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
    const int64_t number = number_of(std::string_view(name).substr(0, name.find('.')));
    if (number == 0) {
      continue;
    }
    if (entry->path().extension() == kTemporary) {
      unfinished.push_back(path);
    } else if (entry->path().extension() == kBeside) {
      const bool is_in_row = std::ranges::find(blocks, number, &BlockFolder::number) != blocks.end();
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

}  // namespace

Result<bool> is_replaced(const BlockFolder& block) {
  const std::string blocks_path = block.path.substr(0, block.path.rfind('/'));
  return is_there(folder_of(blocks_path, block.number, block.generation + 1).path);
}

Status remove_replaced(const std::string& blocks_path) {
  const auto folders = all_folders(blocks_path);
  if (!folders) {
    return propagate(folders);
  }
  Status removed = remove_unfinished(blocks_path, *folders);
  // From the last one of each number down.
  for (size_t end = folders->size(); end > 0 && removed;) {
    size_t newest = end - 1;
    const int64_t number = (*folders)[newest].number;
    size_t first = newest;
    while (first > 0 && (*folders)[first - 1].number == number) {
      --first;
    }
    while (newest > first && removed && !is_sealed_and_readable((*folders)[newest])) {
      if (!is_sealed_and_readable((*folders)[newest - 1])) {
        log_error("{} cannot be read; {}, which it took the place of, is kept", (*folders)[newest].path,
                  (*folders)[newest - 1].path);
        break;
      }
      removed = set_aside(blocks_path, (*folders)[newest]);
      --newest;
    }
    const bool is_sound = newest > first && is_sealed_and_readable((*folders)[newest]);
    for (size_t i = first; i < newest && removed && is_sound; ++i) {
      removed = drop_folder(blocks_path, (*folders)[i]);
    }
    end = first;
  }
  return removed;
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
  Status dropped = folders ? Status() : propagate(folders);
  if (folders) {
    for (const BlockFolder& folder : *folders) {
      if (dropped && folder.number == block.number && folder.generation < block.generation) {
        dropped = drop_folder(blocks_path, folder);
      }
    }
  }
  dropped = dropped ? drop_folder(blocks_path, block) : dropped;
  // Behind a later generation it is of that one.
  const bool is_last = folders && std::ranges::none_of(*folders, [&](const BlockFolder& folder) {
                         return folder.number == block.number && folder.generation > block.generation;
                       });
  if (dropped && is_last && has_replacement(block).value_or(false)) {
    log_warning("{} is removed: its block was dropped", beside(block).path);
    dropped = drop_folder(blocks_path, beside(block));
  }
  return dropped ? dropped : propagate(dropped, "dropping block {}", block.number);
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

Result<BlockFolder> make_replacement(const std::string& blocks_path, int64_t number,
                                     sqlite::Database* events_from, int64_t accepted_before,
                                     std::string_view directory_id) {
  BlockFolder made = beside(folder_of(blocks_path, number));
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
  const BlockFolder temporary{number, fmt::format("{}{}", made.path, kTemporary)};
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
  return done ? Result<BlockFolder>(made) : propagate(done, "making block {} again", number);
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
