#include "store/care/backup.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <vector>

#include "base/durable_file.h"
#include "base/file.h"
#include "base/lock_file.h"
#include "base/log.h"
#include "store/blocks/block_folder.h"
#include "store/care/burst_copy.h"
#include "store/care/copy_file.h"
#include "store/care/span_copy.h"
#include "store/catalogue/catalogue.h"
#include "store/catalogue/segment_table.h"
#include "store/directory/data_directory.h"
#include "store/directory/disk_usage.h"
#include "store/identity/directory_identity.h"
#include "store/identity/listed_database.h"

namespace plimsoll::store {
namespace {

// A file in a copy that is being made, with the name that it gets.
constexpr std::string_view kUnfinished = "unfinished";
constexpr uint64_t kMaxNameBytes = 4096;

constexpr int kMaxCopies = 20;

Status make_folder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  return error ? Status(fail_errno(error.value(), "creating {}", path)) : Status();
}

// Of a folder and all below it, the innermost first.
Status sync_folders(const std::string& path) {
  std::error_code error;
  for (std::filesystem::directory_iterator entry(path, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->is_directory()) {
      if (const Status synced = sync_folders(entry->path().string()); !synced) {
        return synced;
      }
    }
  }
  return error ? Status(fail_errno(error.value(), "listing {}", path)) : sync_folder(path);
}

bool is_there(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

// A block of a copy, while others are dropped.
enum class Copied { kWhole, kDropped };

class Copier {
 public:
  Copier(std::string from, std::string to, const ShowProgress& show)
      : from_(std::move(from)), to_(std::move(to)), show_(show) {
    progress_.activity = "copying";
    progress_.bytes_of_all = static_cast<uint64_t>(allocated_bytes(from_).value_or(0));
  }

  // The archive comes after the blocks, and the accounts after all: what has become rows is in the archive, and a machine is not revoked
  // later than in the copy.
  Status run() {
    const auto directory = DataDirectory::open_for_reading(from_);
    const auto identity = directory ? read_identity(from_) : propagate(directory);
    if (!identity) {
      return propagate(identity);
    }
    if (identity->is_there() && !identity->is_complete()) {
      return with_hint(fail(ErrorCode::kUnavailable, "{} is being made or converted", from_),
                       "try again later");
    }
    Status copied = copy_blocks();
    const std::vector<std::string> databases{"archive.db", "live.db", "draws.db", "access.db"};
    for (const std::string& name : databases) {
      const bool is_listed = identity->lists(name);
      if (is_listed || (!identity->is_there() && is_there(from_ + "/" + name))) {
        copied = copied ? copy_database(name) : copied;
      }
    }
    copied = copied ? copy_symbol_tables() : copied;
    if (copied) {
      start("spans");
      copied = copy_spans(from_, to_, [&](uint64_t bytes) { add_bytes(bytes); });
    }
    if (copied) {
      start("bursts");
      copied = copy_bursts(from_, to_, [&](uint64_t bytes) { add_bytes(bytes); });
    }
    // The list is that of before: what a server has made meanwhile is not in the copy.
    copied = copied && identity->is_there() ? write_identity(to_, *identity) : copied;
    const auto format = copied ? read_file(from_ + "/FORMAT", 64) : propagate(copied);
    return format ? write_file_durably(to_ + "/FORMAT", as_bytes(*format)) : propagate(format);
  }

 private:
  void add_bytes(uint64_t bytes) {
    progress_.bytes_done += bytes;
    if (show_) {
      show_(progress_);
    }
  }

  void start(const std::string& name) {
    progress_.file = name;
    add_bytes(0);
  }

  // What is sealed meanwhile goes on in a block that is not copied: its profiles are in the archive, and become rows again.
  Status copy_blocks() {
    const auto blocks = list_blocks(from_ + "/blocks");
    if (!blocks) {
      return propagate(blocks);
    }
    for (const BlockFolder& block : *blocks) {
      const auto copied = copy_newest_generation(block);
      if (!copied) {
        return propagate(copied, "copying {}", block.path);
      }
      if (*copied == Copied::kDropped) {
        // The oldest blocks go first: those before it are gone too, and blocks have no gaps.
        std::error_code error;
        std::filesystem::remove_all(to_ + "/blocks", error);
        if (error) {
          return fail_errno(error.value(), "removing {}/blocks", to_);
        }
      }
    }
    return is_there(to_ + "/blocks")
               ? Status()
               : fail(ErrorCode::kUnavailable, "all blocks of {} were dropped meanwhile", from_);
  }

  // A block that is rolled up meanwhile is copied as what it became.
  Result<Copied> copy_newest_generation(BlockFolder block) {
    while (true) {
      const std::string to = fmt::format("{}/blocks/{}", to_, block.name());
      const auto copied = copy_block(block, to);
      const auto blocks = copied && *copied == Copied::kDropped ? list_blocks(from_ + "/blocks")
                                                                : Result<std::vector<BlockFolder>>();
      if (!copied || !blocks) {
        return copied ? propagate(blocks) : copied;
      }
      const auto now = std::ranges::find(*blocks, block.number, &BlockFolder::number);
      if (now == blocks->end() || *now == block) {
        return copied;
      }
      std::error_code error;
      std::filesystem::remove_all(to, error);
      block = *now;
    }
  }

  Result<Copied> copy_block(const BlockFolder& block, const std::string& to) {
    for (int attempt = 1;; ++attempt) {
      Status copied = make_folder(to + "/segments");
      copied = copied ? copy_block_once(block, to) : copied;
      if (copied) {
        return Copied::kWhole;
      }
      if (!is_there(block.path)) {
        return Copied::kDropped;
      }
      if (attempt == kMaxCopies || copied.error().code != ErrorCode::kNotFound) {
        return propagate(copied);
      }
      // Segments have been merged since the list was read.
      std::error_code error;
      std::filesystem::remove_all(to, error);
    }
  }

  // As of one moment: the files are opened before the catalogue is copied, and stay while they are open.
  Status copy_block_once(const BlockFolder& block, const std::string& to) {
    start(fmt::format("blocks/{}/catalogue.db", block.name()));
    auto catalogue = Catalogue::open(block.catalogue_path(), sqlite::OpenMode::kRead);
    if (!catalogue) {
      return propagate(catalogue);
    }
    struct Open {
      std::string name;
      UniqueFd file;
    };
    std::vector<Open> segments;
    {
      const auto transaction = sqlite::Transaction::begin_read(catalogue->database());
      const auto visible = transaction ? visible_segments(catalogue->database()) : propagate(transaction);
      if (!visible) {
        return propagate(visible);
      }
      for (const SegmentEntry& segment : *visible) {
        const std::string path = block.segments_path() + "/" + segment.file;
        UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
        if (!file.valid()) {
          return fail_errno(errno, "opening {}", path);
        }
        segments.push_back({segment.file, std::move(file)});
      }
      const Status copied =
          catalogue->database().copy_to(to + "/catalogue.db", [&](uint64_t bytes) { add_bytes(bytes); });
      if (!copied) {
        return copied;
      }
    }
    for (const Open& segment : segments) {
      start(fmt::format("blocks/{}/segments/{}", block.name(), segment.name));
      const Status copied =
          copy_file(segment.file, block.segments_path() + "/" + segment.name,
                    to + "/segments/" + segment.name, [&](uint64_t bytes) { add_bytes(bytes); });
      if (!copied) {
        return copied;
      }
    }
    return {};
  }

  Status copy_database(const std::string& name) {
    start(name);
    auto database = sqlite::Database::open(from_ + "/" + name, sqlite::OpenMode::kRead);
    if (!is_there(from_ + "/" + name)) {
      return missing_database(from_, name);
    }
    const auto transaction = database ? sqlite::Transaction::begin_read(*database) : propagate(database);
    return transaction ? database->copy_to(to_ + "/" + name, [&](uint64_t bytes) { add_bytes(bytes); })
                       : propagate(transaction);
  }

  // Each is derived, and immutable. One that is replaced or set aside meanwhile is made again.
  Status copy_symbol_tables() {
    const std::string folder = from_ + "/symtab";
    std::error_code error;
    if (!is_there(folder)) {
      return {};
    }
    for (std::filesystem::recursive_directory_iterator entry(folder, error), end; !error && entry != end;
         entry.increment(error)) {
      if (entry->path().extension() != ".symtab") {
        continue;
      }
      const UniqueFd file(::open(entry->path().c_str(), O_RDONLY | O_CLOEXEC));
      if (!file.valid() && errno == ENOENT) {
        continue;
      }
      const std::string name = "symtab/" + entry->path().lexically_relative(folder).string();
      start(name);
      Status copied = file.valid()
                          ? make_folder(std::filesystem::path(to_ + "/" + name).parent_path().string())
                          : fail_errno(errno, "opening {}", entry->path().string());
      copied = copied ? copy_file(file, entry->path().string(), to_ + "/" + name,
                                  [&](uint64_t bytes) { add_bytes(bytes); })
                      : copied;
      if (!copied) {
        return copied;
      }
    }
    return error ? Status(fail_errno(error.value(), "listing {}", folder)) : Status();
  }

  std::string from_;
  std::string to_;
  const ShowProgress& show_;
  CareProgress progress_;
};

// Whether another file system is mounted there: nothing can be renamed to it.
bool is_mount_point(const std::string& path) {
  struct stat folder{};
  struct stat parent{};
  return ::stat(path.c_str(), &folder) == 0 && ::stat((path + "/..").c_str(), &parent) == 0 &&
         folder.st_dev != parent.st_dev;
}

Status expect_nothing_at(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    return error ? Status(fail_errno(error.value(), "looking for {}", path)) : Status();
  }
  const bool is_empty = std::filesystem::is_directory(path, error) && std::filesystem::is_empty(path, error);
  if (!is_empty || error) {
    return with_hint(fail(ErrorCode::kConflict, "{} exists, and is no empty folder", path),
                     "give a new name, or move it away");
  }
  return is_mount_point(path) ? Status(with_hint(fail(ErrorCode::kInvalid, "{} is a mount point", path),
                                                 "give the name of a new folder in it"))
                              : Status();
}

std::string without_slashes(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) {
    path.pop_back();
  }
  return path;
}

// It would be copied, or counted as a part of it.
Status expect_outside(const std::string& path, const std::string& folder) {
  std::error_code error;
  const auto outer = std::filesystem::weakly_canonical(folder, error);
  const auto inner = std::filesystem::weakly_canonical(path, error);
  const std::string relative = inner.lexically_relative(outer).string();
  const bool is_inside = !error && !relative.empty() && !relative.starts_with("..");
  return is_inside ? Status(with_hint(fail(ErrorCode::kInvalid, "{} is inside of {}", path, folder),
                                      "give a name outside of the data directory"))
                   : Status();
}

// Neither is removed with the other.
Status expect_apart(const std::string& temporary, const std::string& from) {
  const Status is_outside = expect_outside(temporary, from);
  return is_outside ? expect_outside(from, temporary) : is_outside;
}

std::string last_name_of(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

// Whether nothing is there but the lock, or what write_file_durably() leaves of the mark when its process ends.
bool has_no_content(const std::string& path) {
  std::error_code error;
  for (std::filesystem::directory_iterator entry(path, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name != "lock" && !name.starts_with(fmt::format("{}.", kUnfinished))) {
      return false;
    }
  }
  return !error;
}

Status remove_content(const std::string& path) {
  std::error_code error;
  std::filesystem::directory_iterator entry(path, error);
  while (!error && entry != std::filesystem::directory_iterator()) {
    if (entry->path().filename() != "lock" && entry->path().filename() != kUnfinished) {
      std::filesystem::remove_all(entry->path(), error);
    }
    // increment() would clear the error.
    if (!error) {
      entry.increment(error);
    }
  }
  return error ? Status(fail_errno(error.value(), "removing what is left in {}", path)) : Status();
}

// The mark goes last: without it the next attempt would take what is left for something else.
void remove_copy(const std::string& path) {
  if (const Status removed = remove_content(path); !removed) {
    log_warning("{}", removed.error().text());
    return;
  }
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
}

// The mark stays until the copy has its name, and says which: a finished copy whose name ends with .tmp is none of another's. Those of an
// older version are empty.
bool is_unfinished_copy(const std::string& path, const std::string& to) {
  const auto name = read_file(fmt::format("{}/{}", path, kUnfinished), kMaxNameBytes);
  return name && (name->empty() || *name == last_name_of(to));
}

// What an attempt before this one has left goes; one that is under way keeps its lock. A folder of anything else stays as it is.
Result<UniqueFd> make_temporary(const std::string& path, const std::string& to) {
  if (const Status made = make_folder(path); !made) {
    return propagate(made);
  }
  if (!has_no_content(path) && !is_unfinished_copy(path, to)) {
    return with_hint(fail(ErrorCode::kConflict, "{} exists, and was not left by an unfinished copy", path),
                     "move it away, or give another name");
  }
  const std::string name = last_name_of(to);
  if (const Status marked = write_file_durably(fmt::format("{}/{}", path, kUnfinished), as_bytes(name));
      !marked) {
    return propagate(marked);
  }
  if (::chmod(path.c_str(), 0700) != 0) {
    return fail_errno(errno, "changing the mode of {}", path);
  }
  auto lock = take_lock_file(path + "/lock", path + " is being written by", "wait until that process ends");
  const Status removed = lock ? remove_content(path) : propagate(lock);
  return removed ? std::move(lock) : propagate(removed);
}

Result<CheckReport> check_copy(const std::string& path, const std::string& from, const ShowProgress& show) {
  auto report = check_store(path, show);
  if (!report || !report->is_damaged) {
    return report;
  }
  for (const Finding& finding : report->findings) {
    // Nothing repairs spans and bursts, and they go soon: a directory must not be without a backup for as long.
    const bool goes_soon = finding.file.starts_with("spans/") || finding.file.starts_with("bursts/");
    if (finding.is_damage && !goes_soon) {
      return with_hint(fail(ErrorCode::kCorrupt, "{} is damaged: {}: {}", from, finding.file, finding.what),
                       fmt::format("\"plimsoll store check --data {}\" lists all that is damaged", from));
    }
  }
  return report;
}

Status rename_durably(const std::string& from, const std::string& to) {
  std::error_code error;
  std::filesystem::rename(from, to, error);
  const std::filesystem::path parent = std::filesystem::path(to).parent_path();
  if (error) {
    return fail_errno(error.value(), "renaming {} to {}", from, to);
  }
  Status synced = sync_folder(parent.empty() ? "." : parent.string());
  if (!synced) {
    // So that the caller removes it, and the next attempt finds nothing there.
    std::filesystem::rename(to, from, error);
  }
  return synced;
}

// A check of the copy is one of what it was copied from, and of the copying.
Result<CheckReport> copy_store(const std::string& from, const std::string& output, const ShowProgress& show) {
  const std::string to = without_slashes(output);
  const std::string temporary = to + ".tmp";
  if (const Status is_free = expect_nothing_at(to); !is_free) {
    return propagate(is_free);
  }
  if (const Status is_outside = expect_outside(to, from); !is_outside) {
    return propagate(is_outside);
  }
  if (const Status is_apart = expect_apart(temporary, from); !is_apart) {
    return propagate(is_apart);
  }
  const auto lock = make_temporary(temporary, to);
  if (!lock) {
    return propagate(lock);
  }
  Status made = Copier(without_slashes(from), temporary, show).run();
  auto report = made ? check_copy(temporary, from, show) : propagate(made);
  // Those of databases that the check has opened.
  made = report ? sync_folders(temporary) : propagate(report);
  made = made ? rename_durably(temporary, to) : made;
  if (!made) {
    remove_copy(temporary);
    return propagate(made);
  }
  std::error_code remove_error;
  std::filesystem::remove(fmt::format("{}/{}", to, kUnfinished), remove_error);
  if (remove_error) {
    log_warning("removing {}/{}, which is of no use any more: {}", to, kUnfinished, remove_error.message());
  }
  return report;
}

}  // namespace

Result<CheckReport> back_up(const std::string& data_dir, const std::string& output,
                            const ShowProgress& show) {
  auto copied = copy_store(data_dir, output, show);
  return copied ? std::move(copied) : propagate(copied, "backing up {}", data_dir);
}

Result<CheckReport> restore(const std::string& backup, const std::string& data_dir,
                            const ShowProgress& show) {
  auto copied = copy_store(backup, data_dir, show);
  return copied ? std::move(copied) : propagate(copied, "restoring {} from {}", data_dir, backup);
}

}  // namespace plimsoll::store
