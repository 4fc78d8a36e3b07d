#include "store/care/new_directory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "base/durable_file.h"
#include "base/file.h"
#include "base/lock_file.h"
#include "base/log.h"
#include "base/unique_fd.h"

namespace plimsoll::store {
namespace {

// A file in a copy that is being made, with the name that it gets.
constexpr std::string_view kUnfinished = "unfinished";
constexpr uint64_t kMaxNameBytes = 4096;

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

// Whether another file system is mounted there: nothing can be renamed to it.
bool is_mount_point(const std::string& path) {
  struct stat folder{};
  struct stat parent{};
  return ::stat(path.c_str(), &folder) == 0 && ::stat((path + "/..").c_str(), &parent) == 0 &&
         folder.st_dev != parent.st_dev;
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

// An attempt that is under way keeps its lock. A folder of anything else stays as it is.
Result<UniqueFd> make_temporary(const std::string& path, const std::string& to, Leftovers leftovers) {
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
  const Status removed = !lock                             ? propagate(lock)
                         : leftovers == Leftovers::kRemove ? remove_content(path)
                                                           : Status();
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

}  // namespace

Status make_folder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  return error ? Status(fail_errno(error.value(), "creating {}", path)) : Status();
}

bool is_there(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

std::string without_slashes(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) {
    path.pop_back();
  }
  return path;
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

// A check of the copy is one of what it was copied from, and of the copying.
Result<CheckReport> make_directory(const std::string& to, const std::string& from, Leftovers leftovers,
                                   const std::function<Status(const std::string& temporary)>& fill,
                                   const ShowProgress& show) {
  const std::string temporary = to + ".tmp";
  const auto lock = make_temporary(temporary, to, leftovers);
  if (!lock) {
    return propagate(lock);
  }
  Status made = fill(temporary);
  auto report = made ? check_copy(temporary, from, show) : propagate(made);
  // Those of databases that the check has opened.
  made = report ? sync_folders(temporary) : propagate(report);
  made = made ? rename_durably(temporary, to) : made;
  if (!made) {
    if (leftovers == Leftovers::kRemove) {
      remove_copy(temporary);
    }
    return propagate(made);
  }
  std::error_code remove_error;
  std::filesystem::remove(fmt::format("{}/{}", to, kUnfinished), remove_error);
  if (remove_error) {
    log_warning("removing {}/{}, which is of no use any more: {}", to, kUnfinished, remove_error.message());
  }
  return report;
}

}  // namespace plimsoll::store
