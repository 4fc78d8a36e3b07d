#include "daemon/spool/spool_folder.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "base/file.h"
#include "base/lock_file.h"
#include "base/log.h"

namespace plimsoll::spool {
namespace {

constexpr const char* kCountsName = "counts";
constexpr const char* kDamagedCountsName = "counts.damaged";
constexpr const char* kLockName = "lock";
constexpr const char* kWhereHint =
    "set daemon.state_dir (PLIMSOLL_DAEMON_STATE_DIR, --state-dir) to a folder of this daemon that its user "
    "may write";

Status make_folder(const std::string& path) {
  std::error_code error;
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  if (!parent.empty()) {
    std::filesystem::create_directories(parent, error);
  }
  if (error) {
    return with_hint(fail_errno(error.value(), "creating {}", parent.string()), kWhereHint);
  }
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    return with_hint(fail_errno(errno, "creating {}", path), kWhereHint);
  }
  return {};
}

Result<CountsFile> open_counts(const std::string& folder, int64_t now_ns, const FileCalls& calls,
                               const SpoolKind& kind) {
  const std::string path = fmt::format("{}/{}", folder, kCountsName);
  auto counts = CountsFile::open(path, now_ns, calls);
  if (counts || counts.error().code != ErrorCode::kCorrupt) {
    return counts;
  }
  const std::string aside = fmt::format("{}/{}", folder, kDamagedCountsName);
  log_error("{}; moved to {}, the counts of sent and dropped {} start at 0", counts.error().text(), aside,
            kind.nouns);
  if (calls.rename(path.c_str(), aside.c_str()) != 0) {
    return fail_errno(errno, "renaming {} to {}", path, aside);
  }
  return CountsFile::open(path, now_ns, calls);
}

bool is_counted(const SpoolRecord& record, const SpooledProfile& profile) {
  return profile.sequence >= record.removing_first && profile.sequence <= record.removing_last;
}

}  // namespace

Result<std::unique_ptr<SpoolFolder>> SpoolFolder::open(const std::string& path, int64_t now_ns,
                                                       const FileCalls& calls, const SpoolKind& kind) {
  if (auto made = make_folder(path); !made) {
    return propagate(made);
  }
  auto lock = take_lock_file(fmt::format("{}/{}", path, kLockName), path + " is in use by",
                             "stop that daemon, or set another daemon.state_dir");
  if (!lock) {
    return lock.error().code == ErrorCode::kDenied ? with_hint(propagate(lock), kWhereHint) : propagate(lock);
  }
  auto counts = open_counts(path, now_ns, calls, kind);
  if (!counts) {
    return propagate(counts);
  }
  std::unique_ptr<SpoolFolder> folder(
      new SpoolFolder(path, std::move(*lock), std::move(*counts), calls, kind));
  if (auto recovered = folder->recover(); !recovered) {
    return propagate(recovered);
  }
  return folder;
}

Status SpoolFolder::recover() {
  if (auto listed = list(); !listed) {
    return listed;
  }
  std::erase_if(found_, [this](const SpooledProfile& profile) {
    const bool is_left_over = is_counted(record_, profile);
    if (is_left_over) {
      unfinished_.push_back(name_of(profile));
    }
    return is_left_over;
  });
  if (auto finished = finish_removal(); !finished) {
    return finished;
  }
  count_missing();
  return counts_.write(record_);
}

Status SpoolFolder::list() {
  std::error_code error;
  std::vector<std::string> leftovers;
  for (std::filesystem::directory_iterator entry(path_, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    std::error_code unreadable;
    const bool is_file = entry->symlink_status(unreadable).type() == std::filesystem::file_type::regular;
    auto profile = is_file ? parse_file_name(name, kind_->suffix) : std::nullopt;
    if (profile) {
      profile->disk_bytes = disk_bytes_of(entry->file_size(unreadable));
      found_.push_back(std::move(*profile));
    } else if (name.ends_with(".tmp")) {
      leftovers.push_back(name);
    } else if (name != kCountsName && name != kDamagedCountsName && name != kLockName) {
      log_warning("ignoring {}, which is not a spool file", path_of(name));
    }
  }
  if (error) {
    return fail_errno(error.value(), "listing {}", path_);
  }
  for (const std::string& name : leftovers) {
    if (auto removed = remove_file(name); !removed) {
      return removed;
    }
  }
  std::ranges::sort(found_, {}, &SpooledProfile::sequence);
  return {};
}

void SpoolFolder::count_missing() {
  SpoolRecord& record = record_;
  record.removing_first = 1;
  record.removing_last = 0;
  if (!found_.empty()) {
    if (counts_.is_new()) {
      record.first_sequence = found_.front().sequence;
    }
    record.next_sequence = std::max(record.next_sequence, found_.back().sequence + 1);
  }
  const uint64_t accounted = record.counts.all() + found_.size();
  const uint64_t given_out = record.next_sequence - record.first_sequence;
  if (accounted < given_out) {
    log_error("{} {} are missing from {}", given_out - accounted, kind_->nouns, path_);
    record.counts[Fate::kMissing] += given_out - accounted;
  }
  // Where somebody put back files that were counted before, more numbers were given out than we knew of.
  record.next_sequence = record.first_sequence + std::max(accounted, given_out);
}

Status SpoolFolder::write(const SpooledProfile& profile, Bytes encoded) {
  const std::string path = path_of(name_of(profile));
  const Status written = write_file_durably(path, encoded, *calls_);
  if (!written) {
    // It may be there all the same, where only the folder could not be synced.
    const bool is_gone = calls_->unlink(path.c_str()) == 0 || errno == ENOENT;
    if (is_gone) {
      return written;
    }
    log_error("{}; the {} is kept, but may not survive a power failure", written.error().text(), kind_->noun);
  }
  ++record_.next_sequence;
  return {};
}

Status SpoolFolder::count_unwritten(Fate fate) {
  ++record_.next_sequence;
  ++record_.counts[fate];
  return counts_.write(record_);
}

Status SpoolFolder::begin_removal(std::span<const SpooledProfile> profiles, Fate fate) {
  if (auto finished = finish_removal(); !finished) {
    return finished;
  }
  SpoolRecord wanted = record_;
  wanted.counts[fate] += profiles.size();
  wanted.removing_first = profiles.front().sequence;
  wanted.removing_last = profiles.back().sequence;
  if (auto written = counts_.write(wanted); !written) {
    return written;
  }
  record_ = wanted;
  for (const SpooledProfile& profile : profiles) {
    unfinished_.push_back(name_of(profile));
  }
  return {};
}

Status SpoolFolder::finish_removal() {
  if (unfinished_.empty()) {
    return {};
  }
  for (const std::string& name : unfinished_) {
    if (auto removed = remove_file(name); !removed) {
      return removed;
    }
  }
  // Before the record of another removal takes the place of this one's: a file that came back would count twice.
  if (auto synced = sync_folder(path_, *calls_); !synced) {
    return synced;
  }
  unfinished_.clear();
  return {};
}

Status SpoolFolder::remove_file(const std::string& name) {
  const std::string path = path_of(name);
  if (calls_->unlink(path.c_str()) != 0 && errno != ENOENT) {
    return with_hint(fail_errno(errno, "removing {}", path), kWhereHint);
  }
  return {};
}

Result<std::string> SpoolFolder::read(const SpooledProfile& profile, uint64_t max_bytes) const {
  return read_file(path_of(name_of(profile)), max_bytes);
}

}  // namespace plimsoll::spool
