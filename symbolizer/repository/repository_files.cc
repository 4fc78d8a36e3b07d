#include "symbolizer/repository/repository_files.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "base/file.h"
#include "base/hex.h"
#include "elf/build_id.h"

namespace plimsoll::symbolizer {
namespace {

constexpr uint64_t kMaxRecordBytes = 64UL << 10;

std::string entry_path(std::string_view data_dir, std::string_view build_id, std::string_view ending) {
  return elf::build_id_entry(repository_path(data_dir), build_id).append(ending);
}

std::string file_name_of(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

}  // namespace

std::string repository_path(std::string_view data_dir) {
  return fmt::format("{}/binaries", data_dir);
}

std::string incoming_path(std::string_view data_dir) {
  return fmt::format("{}/binaries/incoming", data_dir);
}

std::string_view ending_of(BinaryKind kind) {
  switch (kind) {
    case BinaryKind::kExecutable:
      return "";
    case BinaryKind::kDebug:
      return ".debug";
    case BinaryKind::kSources:
      return ".sources";
  }
  return "";
}

std::string kept_path(std::string_view data_dir, std::string_view build_id, BinaryKind kind) {
  return entry_path(data_dir, build_id, ending_of(kind));
}

Status link_cut_build_id(std::string_view data_dir, std::string_view build_id, BinaryKind kind) {
  if (build_id.size() <= elf::kCutBuildIdBytes) {
    return {};
  }
  const std::string link = kept_path(data_dir, build_id.substr(0, elf::kCutBuildIdBytes), kind);
  const std::string name = file_name_of(kept_path(data_dir, build_id, kind));
  return ::symlink(name.c_str(), link.c_str()) == 0 || errno == EEXIST
             ? Status()
             : fail_errno(errno, "linking {}", link);
}

void unlink_cut_build_id(std::string_view data_dir, std::string_view build_id, BinaryKind kind) {
  const std::string link = kept_path(data_dir, build_id.substr(0, elf::kCutBuildIdBytes), kind);
  std::error_code error;
  const std::filesystem::path leads_to = std::filesystem::read_symlink(link, error);
  if (!error && leads_to == file_name_of(kept_path(data_dir, build_id, kind))) {
    ::unlink(link.c_str());
  }
}

std::string sources_path(std::string_view data_dir, std::string_view hex_build_id) {
  const auto build_id = parse_build_id(hex_build_id);
  return build_id ? kept_path(data_dir, *build_id, BinaryKind::kSources) : std::string();
}

std::string record_path(std::string_view data_dir, std::string_view build_id) {
  return entry_path(data_dir, build_id, ".record");
}

std::vector<std::string> with_repository(std::vector<std::string> debug_folders, std::string_view data_dir) {
  debug_folders.insert(debug_folders.begin(), repository_path(data_dir));
  return debug_folders;
}

Result<std::optional<BinaryRecord>> read_record(std::string_view data_dir, std::string_view build_id) {
  const std::string path = record_path(data_dir, build_id);
  const auto text = read_file(path, kMaxRecordBytes);
  if (!text && text.error().code == ErrorCode::kNotFound) {
    return std::nullopt;
  }
  auto record = text ? decode_record(*text) : Result<BinaryRecord>(propagate(text));
  if (!record) {
    return propagate(record, "reading {}", path);
  }
  if (record->build_id != build_id) {
    return fail(ErrorCode::kCorrupt, "{} is the record of another build", path);
  }
  return std::optional<BinaryRecord>(std::move(*record));
}

Status for_each_file(std::string_view data_dir, const std::function<void(const std::string& path)>& visit) {
  const std::string root = repository_path(data_dir) + "/.build-id";
  std::error_code error;
  std::filesystem::recursive_directory_iterator files(root, error);
  if (error == std::errc::no_such_file_or_directory) {
    return {};
  }
  while (!error && files != std::filesystem::recursive_directory_iterator()) {
    std::error_code gone;  // it may go meanwhile
    if (files->symlink_status(gone).type() == std::filesystem::file_type::regular && !gone) {
      visit(files->path().string());
    }
    files.increment(error);
  }
  return error && error != std::errc::no_such_file_or_directory
             ? fail_errno(error.value(), "listing {}", root)
             : Status();
}

std::optional<std::string> parse_build_id(std::string_view hex) {
  const bool is_lower_hex = hex.find_first_not_of("0123456789abcdef") == std::string_view::npos;
  auto build_id = is_lower_hex ? from_hex(hex) : std::nullopt;
  const bool is_build =
      build_id && build_id->size() >= kMinBuildIdBytes && build_id->size() <= kMaxBuildIdBytes;
  return is_build ? std::move(build_id) : std::nullopt;
}

std::optional<std::string> build_id_of_path(std::string_view path, std::string_view ending) {
  const std::filesystem::path file(path);
  std::string name = file.filename().string();
  if (!name.ends_with(ending)) {
    return std::nullopt;
  }
  name.resize(name.size() - ending.size());
  return parse_build_id(file.parent_path().filename().string().append(name));
}

Result<std::vector<BinaryRecord>> read_records(
    std::string_view data_dir,
    const std::function<void(const std::string& path, const Error& error)>& unread) {
  std::vector<BinaryRecord> records;
  const Status listed = for_each_file(data_dir, [&](const std::string& path) {
    const auto build_id = build_id_of_path(path, ".record");
    auto record = build_id ? read_record(data_dir, *build_id) : Result<std::optional<BinaryRecord>>();
    if (record && *record) {
      records.push_back(std::move(**record));
    } else if (!record && unread) {
      unread(path, record.error());
    }
  });
  if (!listed) {
    return propagate(listed);
  }
  std::ranges::sort(records, {}, &BinaryRecord::build_id);
  return records;
}

}  // namespace plimsoll::symbolizer
