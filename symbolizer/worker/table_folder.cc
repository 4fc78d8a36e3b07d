#include "symbolizer/worker/table_folder.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <filesystem>

#include "base/hex.h"
#include "base/log.h"

namespace plimsoll::symbolizer {
namespace {

constexpr uint64_t kMaxTableBytes = uint64_t{8} << 30;

Result<MappedTable> open_table(const std::string& path) {
  auto map = MappedFile::open(path, kMaxTableBytes);
  if (!map) {
    return propagate(map);
  }
  auto table = Symtab::open(map->bytes());
  return table ? Result<MappedTable>(MappedTable{std::move(*map), *table})
               : propagate(table, "opening {}", path);
}

void remove_half_written(const std::string& folder) {
  std::error_code error;
  for (std::filesystem::recursive_directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->path().extension() == ".tmp") {
      std::error_code ignored;
      std::filesystem::remove(entry->path(), ignored);
    }
  }
}

}  // namespace

std::string table_path(const std::string& data_dir, std::string_view identity) {
  const std::string hex = to_hex(identity);
  return fmt::format("{}/symtab/{}/{}.symtab", data_dir, hex.substr(0, 2), hex);
}

Result<MappedTable> read_table(const std::string& data_dir, std::string_view identity) {
  return open_table(table_path(data_dir, identity));
}

std::optional<SymtabReaders> readers_of_table(const std::string& data_dir, std::string_view identity) {
  const auto mapped = read_table(data_dir, identity);
  return mapped ? std::optional(mapped->table.readers()) : std::nullopt;
}

Result<TableFolder> TableFolder::open(const std::string& data_dir) {
  TableFolder folder(data_dir);
  std::error_code error;
  std::filesystem::create_directories(folder.folder(), error);
  if (error) {
    return fail_errno(error.value(), "creating {}", folder.folder());
  }
  remove_half_written(folder.folder());
  return folder;
}

std::optional<MappedTable> TableFolder::find(wire::IdentityKind kind, std::string_view identity) {
  const std::string path = table_path(data_dir_, identity);
  auto mapped = open_table(path);
  if (!mapped) {
    const ErrorCode code = mapped.error().code;
    if (code == ErrorCode::kCorrupt) {
      set_aside(path, mapped.error());
    } else if (code != ErrorCode::kNotFound && code != ErrorCode::kUnsupported) {
      log_warning("{}", mapped.error().text());
    }
    return std::nullopt;
  }
  if (auto verified = mapped->table.verify(); !verified) {
    set_aside(path, verified.error());
    return std::nullopt;
  }
  const bool is_its = mapped->table.identity() == identity &&
                      mapped->table.header().identity_kind == static_cast<uint32_t>(kind);
  if (is_its) {
    // Retention drops those first that were not used for the longest time; where it cannot be noted the table is older than it should be.
    ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0);
  }
  return is_its ? std::optional(std::move(*mapped)) : std::nullopt;
}

void TableFolder::set_aside(const std::string& path, const Error& why) const {
  const std::string quarantine = data_dir_ + "/quarantine";
  std::error_code error;
  std::filesystem::create_directories(quarantine, error);
  std::filesystem::rename(path, quarantine + "/" + std::filesystem::path(path).filename().string(), error);
  log_warning(
      "{}: {}; {} and is built again", path, why.message,
      error ? "it cannot be moved to quarantine/ (" + error.message() + ")" : "it is now in quarantine/");
}

Status TableFolder::keep(const MappedTable& table, const FileCalls& calls) {
  const std::string path = table_path(data_dir_, table.table.identity());
  const std::string parent = std::filesystem::path(path).parent_path().string();
  std::error_code error;
  if (std::filesystem::create_directory(parent, error)) {
    if (auto synced = sync_folder(folder(), calls); !synced) {
      return synced;
    }
  }
  return error ? fail_errno(error.value(), "creating {}", parent)
               : write_file_durably(path, table.map.bytes(), calls);
}

}  // namespace plimsoll::symbolizer
