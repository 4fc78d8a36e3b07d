#include "store/copy/directory_copy.h"

#include <fcntl.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "base/durable_file.h"
#include "base/file.h"
#include "store/blocks/block_folder.h"
#include "store/catalogue/catalogue.h"
#include "store/copy/copy_note.h"
#include "store/copy/epoch_parts.h"
#include "store/copy/local_parts.h"
#include "store/directory/data_directory.h"

namespace plimsoll::store {
namespace {

constexpr uint64_t kMaxMarkerBytes = 64;

std::string work_path(const std::string& data_dir) {
  return data_dir + "/blocks.copied";
}

std::string marker_path(const std::string& blocks_path) {
  return blocks_path + "/copy";
}

std::string place_name(const RowsAddress& rows) {
  return rows.is_elsewhere() ? rows.address : "the directory";
}

Status remove_folder_of_blocks(const std::string& path) {
  std::error_code error;
  std::filesystem::remove_all(path, error);
  return error ? Status(fail_errno(error.value(), "removing {}", path)) : Status();
}

class RowsCopy {
 public:
  RowsCopy(const DataDirectory& directory, const RowsCopyOptions& options, DirectoryIdentity identity,
           CopyNote note)
      : directory_(directory), options_(options), identity_(std::move(identity)), note_(std::move(note)) {}

  Result<RowsCopyReport> run() {
    RowsCopyReport report;
    if (const Status differs = expect_same_tables(); !differs) {
      return propagate(differs);
    }
    report.was_there = identity_.rows.address == options_.to.address;
    Status done = report.was_there ? Status() : move(report);
    // Of a copy before this one, which may be long ago.
    report.old = is_of_note() ? note_.from : RowsAddress();
    done = done ? finish(report) : done;
    return done ? Result<RowsCopyReport>(std::move(report)) : propagate(done);
  }

 private:
  bool is_into_directory() const { return !options_.to.is_elsewhere(); }
  bool is_of_note() const { return note_.is_there() && note_.to.address == options_.to.address; }

  // Rows cannot become replicated where they are, nor go to other shards.
  Status expect_same_tables() const {
    const bool is_same_place = identity_.rows.address == options_.to.address;
    const bool has_same_shards = options_.to.shards.empty() || options_.to.shards == identity_.rows.shards;
    if (is_same_place && !has_same_shards) {
      return with_hint(fail(ErrorCode::kConflict, "the rows of {} are in {} already, with other shards",
                            directory_.path(), options_.to.address),
                       "add shards with store.shards, or give another database with --to");
    }
    return !is_same_place || !options_.to.is_replicated() || identity_.rows.is_replicated()
               ? Status()
               : with_hint(fail(ErrorCode::kConflict, "the rows of {} are in {} already, and not replicated",
                                directory_.path(), options_.to.address),
                           "give another database with --to");
  }

  Result<std::unique_ptr<EpochParts>> open_epochs(const RowsAddress& rows) const {
    return EpochParts::open(rows, identity_.id, options_.now_ns);
  }

  Result<std::unique_ptr<PartTarget>> open_parts(const RowsAddress& rows,
                                                 const std::string& blocks_path) const {
    if (!rows.is_elsewhere()) {
      return std::make_unique<LocalParts>(blocks_path, identity_.id);
    }
    auto epochs = open_epochs(rows);
    return epochs ? Result<std::unique_ptr<PartTarget>>(std::move(*epochs)) : propagate(epochs);
  }

  Status keep(const CopyNote& note) const { return write_copy_note(directory_.path(), note); }

  Status move(RowsCopyReport& report) {
    const std::string work = work_path(directory_.path());
    const auto from = open_parts(identity_.rows, directory_.blocks_path());
    const auto to = from ? open_parts(options_.to, work) : propagate(from);
    if (!to) {
      return propagate(to);
    }
    Status done = begin(**to);
    const KeepNote keep_note = [this](const CopyNote& note) { return keep(note); };
    const auto copied = done ? copy_parts(**from, **to, note_, keep_note, options_.show) : propagate(done);
    const auto sums =
        copied ? verify_parts(**from, **to, note_, keep_note, options_.show) : propagate(copied);
    if (!sums) {
      return propagate(sums, "copying the rows of {} from {} to {}", directory_.path(),
                       place_name(identity_.rows), place_name(options_.to));
    }
    report.parts = copied->parts;
    report.copied = copied->copied;
    report.profiles = sums->profiles;
    report.hits = sums->hits;
    done = is_into_directory() ? exchange_blocks() : done;
    identity_.rows = options_.to;
    return done ? write_identity(directory_.path(), identity_) : done;
  }

  // Goes on with the copy that the note is of, or begins another one.
  Status begin(PartTarget& to) {
    const bool goes_on = is_of_note() && note_.from.address == identity_.rows.address;
    if (!goes_on) {
      const Status is_empty = is_into_directory() ? Status() : expect_no_parts(to);
      if (!is_empty) {
        return is_empty;
      }
      note_ = make_copy_note(identity_.rows, options_.to);
    }
    const Status ready = is_into_directory() ? prepare_work(goes_on) : Status();
    return ready && !goes_on ? keep(note_) : ready;
  }

  Status expect_no_parts(PartTarget& to) const {
    const auto there = to.parts();
    if (!there) {
      return propagate(there);
    }
    return there->empty() ? Status()
                          : with_hint(fail(ErrorCode::kConflict,
                                           "{} has rows of this directory already, of an earlier copy",
                                           options_.to.address),
                                      "drop that database, or give another one with --to");
  }

  // Of a copy that goes on, what is made stands in the work folder again.
  Status prepare_work(bool goes_on) const {
    const std::string work = work_path(directory_.path());
    const auto marker = read_file(marker_path(directory_.blocks_path()), kMaxMarkerBytes);
    const bool is_exchanged = goes_on && marker && *marker == note_.id;
    Status done = is_exchanged ? exchange_blocks() : Status();
    done = done && !goes_on ? remove_folder_of_blocks(work) : done;
    if (!done) {
      return done;
    }
    std::error_code error;
    std::filesystem::create_directories(work, error);
    return error ? Status(fail_errno(error.value(), "creating {}", work))
                 : write_file_durably(marker_path(work), as_bytes(note_.id));
  }

  Status exchange_blocks() const {
    const std::string work = work_path(directory_.path());
    const std::string blocks = directory_.blocks_path();
    if (::renameat2(AT_FDCWD, work.c_str(), AT_FDCWD, blocks.c_str(), RENAME_EXCHANGE) != 0) {
      const int error = errno;
      return error == EINVAL || error == ENOSYS
                 ? Status(
                       with_hint(fail(ErrorCode::kUnsupported,
                                      "the file system of {} cannot exchange two folders", directory_.path()),
                                 "move the data directory to ext4, XFS or Btrfs"))
                 : Status(fail_errno(error, "exchanging {} and {}", work, blocks));
    }
    return sync_folder(directory_.path());
  }

  // Once the rows are where they shall be.
  Status finish(RowsCopyReport& report) {
    Status done = is_into_directory() ? tidy_blocks() : Status();
    if (!done || !options_.removes) {
      return done;
    }
    if (!is_into_directory()) {
      done = remove_blocks();
    }
    // Without the note the directory does not know where its rows were.
    if (report.old.is_elsewhere()) {
      const auto epochs = open_epochs(report.old);
      done = !done ? done : epochs ? (*epochs)->remove_all() : propagate(epochs);
    }
    report.removed = done && (report.old.is_elsewhere() || !is_into_directory());
    return done && is_of_note() ? remove_copy_note(directory_.path()) : done;
  }

  // What stood in blocks/ before: no rows, or those of a time before they were moved away.
  Status tidy_blocks() const {
    const Status removed = remove_folder_of_blocks(work_path(directory_.path()));
    std::error_code error;
    std::filesystem::remove(marker_path(directory_.blocks_path()), error);
    return removed && error
               ? Status(fail_errno(error.value(), "removing {}", marker_path(directory_.blocks_path())))
               : removed;
  }

  // An empty block takes the place of all.
  Status remove_blocks() const {
    const std::string work = work_path(directory_.path());
    Status done = remove_folder_of_blocks(work);
    const auto block = done ? make_first_block(work) : propagate(done);
    done = block ? give_id(*block) : propagate(block);
    done = done ? exchange_blocks() : done;
    return done ? remove_folder_of_blocks(work) : done;
  }

  Status give_id(const BlockFolder& block) const {
    auto catalogue = Catalogue::open(block.catalogue_path(), sqlite::OpenMode::kReadWrite);
    return catalogue ? give_directory_id(catalogue->database(), identity_.id) : propagate(catalogue);
  }

  const DataDirectory& directory_;
  const RowsCopyOptions& options_;
  DirectoryIdentity identity_;
  CopyNote note_;
};

}  // namespace

Result<RowsCopyReport> copy_rows(const std::string& data_dir, const RowsCopyOptions& options) {
  const auto directory = DataDirectory::open_for_writing(data_dir);
  if (!directory) {
    return propagate(directory);
  }
  auto identity = read_identity(directory->path());
  if (identity && identity->is_restored) {
    return with_hint(
        fail(ErrorCode::kConflict, "{} was restored, and no server has been started on it since", data_dir),
        "start its server, which takes the IDs of newer profiles from the rows, and stop it again");
  }
  auto note = identity ? read_copy_note(directory->path()) : propagate(identity);
  if (!note) {
    return propagate(note);
  }
  return RowsCopy(*directory, options, std::move(*identity), std::move(*note)).run();
}

}  // namespace plimsoll::store
