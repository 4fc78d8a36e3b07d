#include "store/directory/data_directory.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <filesystem>

#include "base/durable_file.h"
#include "base/file.h"
#include "base/host_name.h"
#include "base/lock_file.h"
#include "base/log.h"
#include "base/random.h"
#include "base/time.h"
#include "store/blocks/block_folder.h"
#include "store/catalogue/catalogue.h"
#include "store/directory/bound_databases.h"
#include "store/directory/conversion.h"
#include "store/directory/disk_reserve.h"

namespace plimsoll::store {
namespace {

// Formats whose archive is as today's. All else is derived from the archive, and can be rebuilt from it.
constexpr int kOldestConvertible = 2;
// Formats whose rows mean what today's do, up to 5 in segments of an older version.
constexpr int kOldestWithRows = 3;
constexpr int kOldestWithSegmentsOfToday = 6;
constexpr int kOldestWithBlocks = 7;

constexpr const char* kLockedHint = "stop that process, or ask it with --server";

std::string lock_path_of(const std::string& data_dir) {
  return data_dir + "/lock";
}
std::string locked_by(const std::string& data_dir) {
  return data_dir + " is being written by";
}

Status write_format(const std::string& path) {
  return write_file_durably(path + "/FORMAT", as_bytes(fmt::format("{}\n", kDirectoryFormat)));
}

// Fine where there is nothing yet, or what a process leaves that ends before FORMAT has its name (write_file_durably()). The root of a file system that was
// made for it has lost+found.
Status expect_no_other_files(const std::string& path) {
  std::error_code error;
  for (std::filesystem::directory_iterator entry(path, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name != "lock" && name != "blocks" && name != "lost+found" && !name.starts_with("FORMAT.") &&
        name != "identity" && !name.starts_with("identity.")) {
      const bool was_one = std::filesystem::exists(identity_path(path), error);
      return with_hint(fail(ErrorCode::kInvalid,
                            "{} is not a Plimsoll data directory: it has {} and no file FORMAT", path, name),
                       was_one ? "it has lost that file: copy FORMAT from a backup of this directory"
                               : "give an empty folder or a new name with --data");
    }
  }
  return error && error != std::errc::no_such_file_or_directory
             ? Status(with_hint(fail_errno(error.value(), "listing {}", path),
                                "give a writable folder with --data"))
             : Status();
}

}  // namespace

Status DataDirectory::check(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::exists(path + "/FORMAT", error)) {
    return expect_no_other_files(path);
  }
  const DataDirectory directory(path);
  const auto format = directory.read_format();
  if (!format) {
    return propagate(format);
  }
  return *format >= kOldestConvertible && *format <= kDirectoryFormat ? Status()
                                                                      : directory.unsupported(*format);
}

Result<DataDirectory> DataDirectory::open_for_writing(const std::string& path) {
  if (auto checked = check(path); !checked) {
    return propagate(checked);
  }
  DataDirectory directory(path);
  std::error_code error;
  // Profiles are nobody else's business. A folder that is there keeps the mode that somebody gave it.
  const std::filesystem::path folder(path);
  std::filesystem::create_directories(folder.has_parent_path() ? folder.parent_path() : ".", error);
  const bool is_made = ::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST;
  error = is_made ? std::error_code() : std::error_code(errno, std::generic_category());
  if (is_made) {
    std::filesystem::create_directories(directory.blocks_path(), error);
  }
  if (error) {
    return with_hint(fail_errno(error.value(), "creating the data directory {}", path),
                     "give a writable folder with --data");
  }
  if (auto locked = directory.take_lock(); !locked) {
    return propagate(locked);
  }
  if (!std::filesystem::exists(path + "/FORMAT", error)) {
    if (auto made = directory.make_new(); !made) {
      return propagate(made);
    }
  }
  // Nobody else converts it meanwhile; another format than check() saw is none that it would have refused.
  const auto format = directory.read_format();
  const auto opened = format ? directory.convert_from(*format) : propagate(format);
  return opened ? Result<DataDirectory>(std::move(directory)) : propagate(opened);
}

Status DataDirectory::forget(const std::string& path, std::string_view database) {
  DataDirectory directory(path);
  const auto format = directory.read_format();
  if (!format || *format < kOldestFormatWithIdentity || *format > kDirectoryFormat) {
    return format ? Status(directory.unsupported(*format)) : propagate(format);
  }
  const Status locked = directory.take_lock();
  // Before there is an archive: it does not know the numbers of rows that are elsewhere.
  const Status noted = locked && database == "archive.db" ? note_restored(path) : locked;
  auto identity = noted ? directory.identity_of_format(*format) : propagate(noted);
  return identity ? make_again(path, database, *identity) : propagate(identity);
}

Result<DataDirectory> DataDirectory::open_for_reading(const std::string& path) {
  DataDirectory directory(path);
  const auto format = directory.read_format();
  if (!format) {
    return propagate(format);
  }
  if (*format < kOldestReadableFormat || *format > kDirectoryFormat) {
    return with_hint(
        directory.unsupported(*format),
        *format >= kOldestConvertible && *format < kDirectoryFormat
            ? "convert it: stop its server and start one of this version, or run plimsoll import --data"
            : "");
  }
  const auto identity = directory.identity_of_format(*format);
  if (!identity) {
    return propagate(identity);
  }
  // Without a list its writer is making or converting it.
  const bool is_bound = identity->is_complete();
  const Status expected = is_bound ? expect_newest_block(path, *identity) : Status();
  return expected ? Result<DataDirectory>(std::move(directory)) : propagate(expected);
}

Result<sqlite::Database> DataDirectory::open_archive() const {
  const auto identity = read_identity(path_);
  if (!identity) {
    return propagate(identity);
  }
  const bool is_bound = identity->is_complete();
  const Status expected = is_bound ? expect_archive(path_, *identity) : Status();
  return expected ? sqlite::Database::open(archive_path(), sqlite::OpenMode::kRead) : propagate(expected);
}

// Without an ID where it has none yet.
Result<DirectoryIdentity> DataDirectory::identity_of_format(int format) const {
  auto identity = read_identity(path_);
  if (identity && !identity->is_there() && format >= kOldestFormatWithIdentity) {
    return with_hint(fail(ErrorCode::kCorrupt, "{} is missing: it says which databases are of this directory",
                          identity_path(path_)),
                     "copy it from a backup of this directory, or restore the whole directory with "
                     "\"plimsoll store restore\"");
  }
  return identity;
}

std::unexpected<Error> DataDirectory::unsupported(int format) const {
  return with_field(fail(ErrorCode::kUnsupported, "{} has format {}; this program reads and writes {}", path_,
                         format, kDirectoryFormat),
                    "FORMAT");
}

Status DataDirectory::make_first_block() const {
  const auto made = store::make_first_block(blocks_path());
  return made ? Status() : propagate(made);
}

// What is found before there is a FORMAT: an identity without a list, and perhaps a first block.
Status DataDirectory::make_new() const {
  const auto left = read_identity(path_);
  Status made = !left              ? propagate(left)
                : left->is_there() ? Status()
                                   : write_identity(path_, make_identity());
  made = made ? make_first_block() : made;
  made = made ? sync_own_name() : made;
  return made ? write_format(path_) : made;
}

Result<LiveMachines> DataDirectory::open_machines() const {
  return LiveMachines::open(live_path(), sqlite::OpenMode::kReadWrite);
}

Result<LiveMachines> DataDirectory::read_machines() const {
  return LiveMachines::open(live_path(), sqlite::OpenMode::kRead);
}

Result<DrawStore> DataDirectory::open_draws() const {
  const Status made = make_optional("draws.db");
  auto draws = made ? DrawStore::open_for(draws_path(), writer_) : propagate(made);
  // A server takes its number on a full disk too: it is to take orders there.
  std::error_code ignored;
  if (!draws && draws.error().code == ErrorCode::kUnavailable &&
      std::filesystem::exists(reserve_path(), ignored) && DiskReserve(reserve_path()).give_slice()) {
    draws = DrawStore::open_for(draws_path(), writer_);
  }
  return draws;
}

Result<AccessStore> DataDirectory::open_access() const {
  const Status made = make_optional("access.db");
  return made ? AccessStore::open(access_path(), sqlite::OpenMode::kReadWrite) : propagate(made);
}

// What is synced in a folder goes with it where its own name was never synced. A user who may not read the folder above was given this one.
Status DataDirectory::sync_own_name() const {
  const Status synced = sync_folder(path_ + "/..");
  return synced || synced.error().code == ErrorCode::kDenied ? Status() : synced;
}

Status DataDirectory::make_optional(std::string_view name) const {
  auto identity = identity_of_format(kDirectoryFormat);
  return identity ? make_listed(path_, name, *identity) : propagate(identity);
}

// To today's databases of one identity.
Status DataDirectory::bind(int format) const {
  auto identity = identity_of_format(format);
  if (!identity) {
    return propagate(identity);
  }
  if (format >= kOldestFormatWithIdentity && identity->is_complete()) {
    return expect_bound_databases(path_, *identity);
  }
  // It is on disk before any database has it: what a crash leaves is gone on with.
  Status kept;
  if (!identity->is_there()) {
    *identity = make_identity();
    kept = write_identity(path_, *identity);
  }
  return kept ? bind_databases(path_, *identity) : kept;
}

Status DataDirectory::convert_from(int format) const {
  if (format == kDirectoryFormat) {
    return bind(format);
  }
  log_info("converting {} from format {} to {}", path_, format, kDirectoryFormat);
  // Where the rows have been moved already there is nothing else left to do.
  Status converted = format >= kOldestWithSegmentsOfToday ? Status()
                     : format >= kOldestWithRows          ? convert_rows()
                                                          : remove_catalogue();
  if (converted && format < kOldestWithBlocks) {
    converted = move_into_first_block(path_, blocks_path());
  }
  converted = converted ? bind(format) : converted;
  // The format comes last: a crash in between finds the old one, and does the same again.
  return converted ? write_format(path_) : converted;
}

Status DataDirectory::convert_rows() const {
  std::error_code error;
  const std::string catalogue = path_ + "/catalogue.db";
  if (!std::filesystem::exists(catalogue, error)) {
    return {};
  }
  const auto tables = Catalogue::convert_from_format_3(catalogue);
  return tables ? convert_segments(catalogue, path_ + "/segments") : tables;
}

Status DataDirectory::remove_catalogue() const {
  // Segments that no catalogue knows are removed by who opens it (store/ingest).
  for (const char* suffix : {"-wal", "-shm", ""}) {
    std::error_code error;
    const std::string file = path_ + "/catalogue.db" + suffix;
    std::filesystem::remove(file, error);
    if (error) {
      return fail_errno(error.value(), "removing {} to build it again", file);
    }
  }
  return {};
}

Result<int> DataDirectory::read_format() const {
  const auto text = read_file(path_ + "/FORMAT", 64);
  if (!text) {
    return with_hint(propagate(text, "{} is not a Plimsoll data directory", path_),
                     "give one with --data; \"plimsoll import\" and \"plimsoll server\" create it");
  }
  int format = 0;
  const auto parsed = std::from_chars(text->data(), text->data() + text->size(), format);
  if (parsed.ec != std::errc()) {
    return with_field(fail(ErrorCode::kCorrupt, "{}/FORMAT has no number", path_), "FORMAT");
  }
  return format;
}

Status DataDirectory::expect_unlocked(const std::string& path) {
  const auto format = DataDirectory(path).read_format();
  return format ? expect_unlocked_file(lock_path_of(path), locked_by(path), kLockedHint) : propagate(format);
}

Status DataDirectory::take_lock() {
  auto lock = take_lock_file(lock_path_of(path_), locked_by(path_), kLockedHint);
  if (!lock) {
    return propagate(lock);
  }
  lock_ = std::move(*lock);
  writer_ = {.id = random_seed(), .process = ::getpid(), .host = host_name(), .since_ns = wall_now_ns()};
  return {};
}

}  // namespace plimsoll::store
