#include "store/store_health.h"

#include <sys/stat.h>
#include <sys/statvfs.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "proto/profile.pb.h"

namespace plimsoll::store {
namespace {

// Each is a look-up in the index of one kind; `frame` is sought by its key.
constexpr std::string_view kLocationsSql =
    "SELECT count(*), count(*) - count(frame.location) FROM location "
    "LEFT JOIN frame ON frame.location = location.id AND frame.depth = 0 WHERE kind IN (?, ?, ?, ?)";

constexpr std::string_view kBinarySymbolsSql =
    "SELECT coalesce(sum(quality > 0), 0), coalesce(sum(quality = 0 AND generation = 0), 0), "
    "coalesce(sum(quality = 0 AND generation > 0), 0) FROM binary "
    "WHERE EXISTS (SELECT 1 FROM location WHERE kind IN (?, ?, ?, ?) AND owner = binary.id)";

constexpr int64_t kStatBlockBytes = 512;  // of st_blocks, whatever the file system's block

}  // namespace

Result<StoreHealthMeter> StoreHealthMeter::open(const std::string& data_dir) {
  auto directory = DataDirectory::open_for_reading(data_dir);
  if (!directory) {
    return propagate(directory);
  }
  auto archive = sqlite::Database::open(directory->archive_path(), sqlite::OpenMode::kRead);
  if (!archive) {
    return propagate(archive);
  }
  auto catalogue = Catalogue::open(directory->catalogue_path(), sqlite::OpenMode::kRead);
  return catalogue ? Result<StoreHealthMeter>(
                         StoreHealthMeter(std::move(*directory), std::move(*archive), std::move(*catalogue)))
                   : propagate(catalogue);
}

Result<StoreHealth> StoreHealthMeter::measure() {
  const auto version = catalogue_.database().integer("PRAGMA data_version", 0);
  if (!version) {
    return propagate(version, "reading the catalogue's version");
  }
  if (catalogue_version_ != *version) {
    if (auto measured = measure_symbols(counted_); !measured) {
      return propagate(measured, "counting addresses without symbols");
    }
    catalogue_version_ = *version;
  }
  StoreHealth health = counted_;
  if (auto measured = measure_profiles(health); !measured) {
    return propagate(measured, "counting profiles");
  }
  const Status measured = measure_disk(health);
  return measured ? Result<StoreHealth>(health) : propagate(measured);
}

Status StoreHealthMeter::measure_profiles(StoreHealth& health) {
  // The catalogue first: profiles accepted between the two reads count as pending. The other order could give a negative number.
  const auto built = catalogue_.database().integer(
      "SELECT max((SELECT coalesce(max(archive_sequence), 0) FROM origin), "
      "(SELECT coalesce(max(archive_sequence), 0) FROM unbuildable))",
      0);
  const auto set_aside = catalogue_.database().integer("SELECT count(*) FROM unbuildable", 0);
  const auto accepted = archive_.integer("SELECT coalesce(max(sequence), 0) FROM ledger", 0);
  for (const auto* number : {&built, &set_aside, &accepted}) {
    if (!*number) {
      return propagate(*number);
    }
  }
  health.profiles_accepted = *accepted;
  health.profiles_pending = *accepted - *built;
  health.profiles_set_aside = *set_aside;
  return {};
}

Status StoreHealthMeter::measure_symbols(StoreHealth& health) {
  sqlite::Database& catalogue = catalogue_.database();
  const Status locations = sqlite::for_each_row(
      catalogue.query(kLocationsSql, wire::ELF, wire::ELF_FILE_OFFSET, wire::KERNEL, wire::MODULE),
      [&](const sqlite::Statement& row) {
        health.locations = row.integer(0);
        health.locations_without_symbols = row.integer(1);
      });
  if (!locations) {
    return locations;
  }
  return sqlite::for_each_row(
      catalogue.query(kBinarySymbolsSql, wire::ELF, wire::ELF_FILE_OFFSET, wire::KERNEL, wire::MODULE),
      [&](const sqlite::Statement& row) {
        health.binaries_found = row.integer(0);
        health.binaries_pending = row.integer(1);
        health.binaries_missing = row.integer(2);
      });
}

Status StoreHealthMeter::measure_disk(StoreHealth& health) const {
  struct statvfs file_system{};
  if (::statvfs(directory_.path().c_str(), &file_system) != 0) {
    return fail_errno(errno, "measuring the file system of {}", directory_.path());
  }
  health.disk_free_bytes = static_cast<int64_t>(file_system.f_bavail * file_system.f_frsize);
  std::error_code error;
  std::filesystem::recursive_directory_iterator entry(
      directory_.path(), std::filesystem::directory_options::skip_permission_denied, error);
  for (const std::filesystem::recursive_directory_iterator end; !error && entry != end;
       entry.increment(error)) {
    struct stat file{};
    // Files come and go while they are listed.
    if (::lstat(entry->path().c_str(), &file) == 0) {
      health.disk_bytes += file.st_blocks * kStatBlockBytes;
    }
  }
  // A folder that was removed meanwhile ends the listing: the next measurement finds it gone.
  return !error || error == std::errc::no_such_file_or_directory
             ? Status()
             : fail_errno(error.value(), "listing {}", directory_.path());
}

}  // namespace plimsoll::store
