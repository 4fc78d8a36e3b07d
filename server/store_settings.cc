#include "server/store_settings.h"

#include <sys/stat.h>

#include <filesystem>
#include <string_view>

#include "base/process_memory.h"
#include "store/blocks/block_folder.h"
#include "store/directory/disk_usage.h"

namespace plimsoll::server {
namespace {

// Of the memory, for the dictionaries of the newest block: those who ask have them, too.
constexpr unsigned kPartOfEntries = 16;

// A data directory that is yet to be made will be on the disk of the folder above it.
std::string nearest_folder(const std::string& path) {
  std::error_code error;
  std::filesystem::path folder = std::filesystem::absolute(path, error);
  while (!folder.empty() && folder != folder.parent_path() && !std::filesystem::exists(folder, error)) {
    folder = folder.parent_path();
  }
  return folder.string();
}

// Empty: objects are in no folder.
std::string object_folder(const config::ServerConfig& config) {
  constexpr std::string_view kFile = "file://";
  return config.objects_address.starts_with(kFile) ? config.objects_address.substr(kFile.size())
                                                   : std::string();
}

// Without links and "..", as far as it is there.
std::filesystem::path real_path(const std::string& path) {
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(path, error);
  std::filesystem::path real = std::filesystem::weakly_canonical(absolute, error);
  if (error) {
    real = absolute.lexically_normal();
  }
  return real.has_filename() ? real : real.parent_path();
}

std::string absolute_path(const std::string& path) {
  std::error_code error;
  const std::filesystem::path absolute = path.empty() ? "" : std::filesystem::absolute(path, error);
  return error ? path : absolute.string();
}

}  // namespace

Result<store::RetentionLimits> retention_limits(const config::ServerConfig& config,
                                                const std::string& data_dir) {
  const auto disk_bytes = store::disk_bytes(nearest_folder(data_dir));
  if (!disk_bytes) {
    return propagate(disk_bytes);
  }
  if (config.retention_min_free_bytes >= *disk_bytes) {
    return with_hint(with_field(fail(ErrorCode::kInvalid, "{} bytes are to stay free on a disk of {}",
                                     config.retention_min_free_bytes, *disk_bytes),
                                "retention.min_free_bytes"),
                     "everything would be dropped: give less, or 0 for a tenth of the disk");
  }
  return store::RetentionLimits{.raw_max_age_ns = config.retention_raw_max_age_ns,
                                .raw_max_bytes = config.retention_raw_max_bytes,
                                .rows_max_age_ns = config.retention_rows_max_age_ns,
                                .rows_max_bytes = config.retention_rows_max_bytes,
                                .full_max_age_ns = config.retention_full_max_age_ns,
                                .full_max_bytes = config.retention_full_max_bytes,
                                .symbols_max_bytes = config.retention_symbols_max_bytes,
                                .traces_max_age_ns = config.retention_traces_max_age_ns,
                                .traces_max_bytes = config.retention_traces_max_bytes,
                                .bursts_max_age_ns = config.retention_bursts_max_age_ns,
                                .bursts_max_bytes = config.retention_bursts_max_bytes,
                                .min_free_bytes = config.retention_min_free_bytes,
                                .max_upload_age_ns = config.retention_max_upload_age_ns}
      .on_disk_of(*disk_bytes);
}

store::RowsAddress rows_address(const config::ServerConfig& config) {
  return {.address = config.store_address,
          .password_file = absolute_path(config.store_password_file),
          .ca = absolute_path(config.store_ca),
          .insert_quorum = config.store_replicated ? config.store_insert_quorum : 0,
          .shards = config.store_shards};
}

store::IngestOptions ingest_options(const config::ServerConfig& config,
                                    const store::RetentionLimits& limits) {
  return {.block_limits = {.max_bytes =
                               max_block_bytes(limits, static_cast<uint64_t>(config.store_max_block_bytes)),
                           .max_entries = memory_share(store::BlockLimits().max_entries * store::kEntryBytes,
                                                       kPartOfEntries) /
                                          store::kEntryBytes,
                           .max_age_ns = config.store_max_block_age_ns},
          .upload_limits = {.max_age_ns = limits.max_upload_age_ns,
                            .min_free_bytes = limits.min_free_bytes,
                            // Between two rounds of retention it may be a little over.
                            .max_archive_bytes = limits.raw_max_bytes + limits.raw_max_bytes / 20},
          .rows = rows_address(config)};
}

std::function<Result<int64_t>()> free_bytes(const config::ServerConfig& config) {
  return [folder = config.data_dir] { return store::free_bytes(folder); };
}

objects::StoreAddress object_store_address(const config::ServerConfig& config) {
  return {.address = config.objects_address,
          .endpoint = config.objects_endpoint,
          .region = config.objects_region,
          .credentials_file = config.objects_credentials_file,
          .ca = config.objects_ca};
}

Status check_object_folder(const config::ServerConfig& config) {
  const std::string folder = object_folder(config);
  if (folder.empty() || config.data_dir.empty()) {
    return {};
  }
  const std::filesystem::path below = real_path(folder).lexically_relative(real_path(config.data_dir));
  return below.empty() || *below.begin() == ".."
             ? Status()
             : with_hint(with_field(fail(ErrorCode::kInvalid,
                                         "{} is in the data directory {}: the copy would be lost with it",
                                         folder, config.data_dir),
                                    "objects.address"),
                         "give a folder on a file system of another machine");
}

bool is_object_folder_on_data_disk(const config::ServerConfig& config) {
  const std::string folder = object_folder(config);
  struct stat data{};
  struct stat objects{};
  return !folder.empty() && ::stat(nearest_folder(config.data_dir).c_str(), &data) == 0 &&
         ::stat(nearest_folder(folder).c_str(), &objects) == 0 && data.st_dev == objects.st_dev;
}

std::function<Status(uint64_t bytes)> room_check(const config::ServerConfig& config) {
  return [folder = config.data_dir,
          limits = retention_limits(config, config.data_dir)](uint64_t bytes) -> Status {
    return limits ? store::expect_free_bytes(folder, limits->min_free_bytes + static_cast<int64_t>(bytes))
                  : propagate(limits);
  };
}

}  // namespace plimsoll::server
