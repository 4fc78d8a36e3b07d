#include "symbolizer/repository/verify.h"

#include <limits>
#include <optional>

#include "base/file.h"
#include "symbolizer/repository/repository_files.h"

namespace plimsoll::symbolizer {
namespace {

// Nothing where it is as its record says, or has been removed or replaced since.
std::optional<std::string> damage_of(std::string_view data_dir, const std::string& build_id,
                                     const KeptFile& file) {
  const std::string path = kept_path(data_dir, build_id, file.kind);
  const auto map = MappedFile::open(path, std::numeric_limits<uint64_t>::max());
  const auto facts = map ? examine_file(map->bytes(), build_id, path) : Result<BinaryFacts>(propagate(map));
  if (facts && facts->build_id == build_id && facts->kind == file.kind &&
      facts->content_hash == file.content_hash) {
    return std::nullopt;
  }
  const auto now = read_record(data_dir, build_id);
  const std::optional<BinaryRecord> record = now ? *now : std::nullopt;
  const KeptFile* const newest = record ? record->file(file.kind) : nullptr;
  if (now && (newest == nullptr || newest->content_hash != file.content_hash)) {
    return std::nullopt;
  }
  if (!facts) {
    return facts.error().text();
  }
  return facts->build_id == build_id ? "its content has changed" : "it has another build ID";
}

}  // namespace

Result<VerifiedBinaries> verify_binaries(
    std::string_view data_dir, const std::function<void(uint64_t bytes, uint64_t all_bytes)>& progress) {
  VerifiedBinaries verified;
  const auto records = read_records(data_dir, [&verified](const std::string& path, const Error& error) {
    verified.damaged.push_back({path, error.text()});
  });
  if (!records) {
    return propagate(records);
  }
  uint64_t all_bytes = 0;
  for (const BinaryRecord& record : *records) {
    all_bytes += record.size_bytes();
  }
  for (const BinaryRecord& record : *records) {
    ++verified.builds;
    for (const KeptFile& file : record.files) {
      ++verified.files;
      verified.bytes += file.size_bytes;
      if (auto why = damage_of(data_dir, record.build_id, file)) {
        verified.damaged.push_back({kept_path(data_dir, record.build_id, file.kind), std::move(*why)});
      }
    }
    if (progress) {
      progress(verified.bytes, all_bytes);
    }
  }
  return verified;
}

}  // namespace plimsoll::symbolizer
