#include "store/data_directory.h"

#include <sys/stat.h>

#include <cerrno>
#include <charconv>
#include <filesystem>

#include "base/durable_file.h"
#include "base/file.h"
#include "base/lock_file.h"
#include "base/log.h"
#include "store/blocks/block_folder.h"
#include "store/catalogue/catalogue.h"
#include "store/conversion.h"

namespace plimsoll::store {
namespace {

constexpr int kFormat = 7;
// Formats whose archive is as today's. All else is derived from the archive, and can be built anew from it.
constexpr int kOldestConvertible = 2;
// Formats whose rows mean what today's do, up to 5 in segments of an older version.
constexpr int kOldestWithRows = 3;
constexpr int kOldestWithSegmentsOfToday = 6;

Status write_format(const std::string& path) {
  return write_file_durably(path + "/FORMAT", as_bytes(fmt::format("{}\n", kFormat)));
}

// Fine where there is nothing yet, or what a process leaves that ends before FORMAT has its name (write_file_durably()). The root of a file system that was
// made for it has lost+found.
Status expect_no_other_files(const std::string& path) {
  std::error_code error;
  for (std::filesystem::directory_iterator entry(path, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name != "lock" && name != "blocks" && name != "lost+found" && !name.starts_with("FORMAT.")) {
      return with_hint(fail(ErrorCode::kInvalid,
                            "{} is not a Plimsoll data directory: it has {} and no file FORMAT", path, name),
                       "give an empty folder or a new name with --data");
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
  return *format >= kOldestConvertible && *format <= kFormat ? Status() : directory.unsupported(*format);
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
    const Status made = directory.make_first_block();
    if (auto written = made ? write_format(path) : made; !written) {
      return propagate(written);
    }
  }
  // Nobody else converts it meanwhile; another format than check() saw is none that it would have refused.
  const auto format = directory.read_format();
  const auto opened = format ? directory.convert_from(*format) : propagate(format);
  return opened ? Result<DataDirectory>(std::move(directory)) : propagate(opened);
}

Result<DataDirectory> DataDirectory::open_for_reading(const std::string& path) {
  DataDirectory directory(path);
  const auto format = directory.read_format();
  if (!format) {
    return propagate(format);
  }
  if (*format != kFormat) {
    return with_hint(
        directory.unsupported(*format),
        *format >= kOldestConvertible && *format < kFormat
            ? "convert it: stop its server and start one of this version, or run plimsoll import --data"
            : "");
  }
  return directory;
}

std::unexpected<Error> DataDirectory::unsupported(int format) const {
  return with_field(fail(ErrorCode::kUnsupported, "{} has format {}; this program reads and writes {}", path_,
                         format, kFormat),
                    "FORMAT");
}

Status DataDirectory::make_first_block() const {
  const auto made = store::make_first_block(blocks_path());
  return made ? Status() : propagate(made);
}

Status DataDirectory::convert_from(int format) const {
  if (format == kFormat) {
    return {};
  }
  log_info("converting {} from format {} to {}", path_, format, kFormat);
  // Where the rows have been moved already there is nothing else left to do.
  Status converted = format >= kOldestWithSegmentsOfToday ? Status()
                     : format >= kOldestWithRows          ? convert_rows()
                                                          : remove_catalogue();
  converted = converted ? move_into_first_block(path_, blocks_path()) : converted;
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

Status DataDirectory::take_lock() {
  auto lock = take_lock_file(path_ + "/lock", path_ + " is being written by",
                             "stop that process, or ask it with --server");
  if (!lock) {
    return propagate(lock);
  }
  lock_ = std::move(*lock);
  return {};
}

}  // namespace plimsoll::store
