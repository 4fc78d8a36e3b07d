#include "store/care/backup.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <system_error>
#include <vector>

#include "base/durable_file.h"
#include "base/file.h"
#include "store/blocks/block_folder.h"
#include "store/care/burst_copy.h"
#include "store/care/copy_file.h"
#include "store/care/new_directory.h"
#include "store/care/span_copy.h"
#include "store/catalogue/catalogue.h"
#include "store/catalogue/segment_table.h"
#include "store/directory/data_directory.h"
#include "store/directory/disk_usage.h"
#include "store/identity/directory_identity.h"
#include "store/identity/listed_database.h"

namespace plimsoll::store {
namespace {

constexpr int kMaxCopies = 20;

// A block of a copy, while others are dropped or replaced.
enum class Copied { kWhole, kGone };

// What the copy is for.
enum class CopyPurpose { kBackup, kRestore };

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
    std::vector<BlockFolder> all;  // that the copy has, in order
    for (const BlockFolder& block : *blocks) {
      // In one that took its place and that of others.
      if (!all.empty() && block.number <= all.back().number) {
        continue;
      }
      const auto copied = copy_or_successor(block);
      if (!copied) {
        return propagate(copied, "copying {}", block.path);
      }
      const std::optional<BlockFolder>& made = *copied;
      // Where it was dropped, those before it are gone too: the oldest blocks go first, and blocks have no gaps.
      while (!all.empty() && (!made.has_value() || made->covers(all.back().number))) {
        if (const Status removed = remove_copied(all.back()); !removed) {
          return removed;
        }
        all.pop_back();
      }
      if (made.has_value()) {
        all.push_back(*made);
      }
    }
    return !all.empty() ? Status()
                        : fail(ErrorCode::kUnavailable, "all blocks of {} were dropped meanwhile", from_);
  }

  Status remove_copied(const BlockFolder& block) const {
    const std::string path = fmt::format("{}/blocks/{}", to_, block.name());
    std::error_code error;
    std::filesystem::remove_all(path, error);
    return error ? Status(fail_errno(error.value(), "removing {}", path)) : Status();
  }

  // A block that is rolled up or merged meanwhile is copied as what it became: then the result has other blocks too. Nothing: it was dropped.
  Result<std::optional<BlockFolder>> copy_or_successor(BlockFolder block) {
    while (true) {
      const auto copied = copy_block(block, fmt::format("{}/blocks/{}", to_, block.name()));
      if (!copied || *copied == Copied::kWhole) {
        return copied ? Result<std::optional<BlockFolder>>(block) : propagate(copied);
      }
      const Status removed = remove_copied(block);
      const auto blocks = removed ? list_blocks(from_ + "/blocks") : propagate(removed);
      if (!blocks) {
        return propagate(blocks);
      }
      const auto now =
          std::ranges::find_if(*blocks, [&](const BlockFolder& newer) { return newer.covers(block.number); });
      if (now == blocks->end() || *now == block) {
        return std::nullopt;
      }
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
        return Copied::kGone;
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

Result<CheckReport> copy_store(const std::string& from, const std::string& output, CopyPurpose purpose,
                               const ShowProgress& show) {
  const std::string to = without_slashes(output);
  if (const Status is_free = expect_nothing_at(to); !is_free) {
    return propagate(is_free);
  }
  if (const Status is_outside = expect_outside(to, from); !is_outside) {
    return propagate(is_outside);
  }
  if (const Status is_apart = expect_apart(to + ".tmp", from); !is_apart) {
    return propagate(is_apart);
  }
  return make_directory(
      to, from, Leftovers::kRemove,
      [&](const std::string& temporary) {
        const Status copied = Copier(without_slashes(from), temporary, show).run();
        return copied && purpose == CopyPurpose::kRestore ? note_restored(temporary) : copied;
      },
      show);
}

}  // namespace

Result<CheckReport> back_up(const std::string& data_dir, const std::string& output,
                            const ShowProgress& show) {
  auto copied = copy_store(data_dir, output, CopyPurpose::kBackup, show);
  return copied ? std::move(copied) : propagate(copied, "backing up {}", data_dir);
}

Result<CheckReport> restore(const std::string& backup, const std::string& data_dir,
                            const ShowProgress& show) {
  auto copied = copy_store(backup, data_dir, CopyPurpose::kRestore, show);
  return copied ? std::move(copied) : propagate(copied, "restoring {} from {}", data_dir, backup);
}

}  // namespace plimsoll::store
