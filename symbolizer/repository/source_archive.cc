#include "symbolizer/repository/source_archive.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/printable.h"
#include "formats/tar_reader.h"

namespace plimsoll::symbolizer {
namespace {

constexpr uint64_t kMaxNamesBytes = uint64_t{16} << 20;

// Calls `take` with each part that is neither empty nor "."; false once that says so.
template <typename Take>
bool for_each_part(std::string_view path, Take take) {
  while (!path.empty()) {
    const size_t end = std::min(path.find('/'), path.size());
    const std::string_view part = path.substr(0, end);
    path.remove_prefix(std::min(end + 1, path.size()));
    if (!part.empty() && part != "." && !take(part)) {
      return false;
    }
  }
  return true;
}

bool is_control(char c) {
  return static_cast<unsigned char>(c) < ' ' || c == '\x7f';
}

// A compiler's path may go up and down; an archive's member has no reason to.
Result<std::string> key_of_member(const std::string& name) {
  const bool leads_up = !for_each_part(name, [](std::string_view part) { return part != ".."; });
  auto key = leads_up || std::ranges::any_of(name, is_control) ? std::nullopt : source_key(name);
  return key ? Result<std::string>(*std::move(key))
             : fail(ErrorCode::kInvalid, "the archive has a file called \"{}\"",
                    printable(std::string_view(name).substr(0, kMaxSourcePathBytes)));
}

}  // namespace

std::optional<std::string> source_key(std::string_view path) {
  if (path.size() > kMaxSourcePathBytes || path.find('\0') != std::string_view::npos) {
    return std::nullopt;
  }
  std::vector<std::string_view> parts;
  const bool stays_below = for_each_part(path, [&parts](std::string_view part) {
    if (part != "..") {
      parts.push_back(part);
      return true;
    }
    const bool has_parent = !parts.empty();
    parts.resize(parts.size() - (has_parent ? 1 : 0));
    return has_parent;
  });
  if (!stays_below || parts.empty()) {
    return std::nullopt;
  }
  std::string key;
  for (const std::string_view part : parts) {
    key.append(key.empty() ? "" : "/").append(part);
  }
  return key;
}

bool is_source_archive(Bytes image) {
  // The checksum of a tar header may stand in an ELF file, too.
  constexpr std::string_view kElfMagic{
      "\x7f"
      "ELF",
      4};
  return !as_text(image).starts_with(kElfMagic) &&
         formats::looks_like_tar(image.first(std::min(image.size(), formats::kTarBlockBytes)));
}

Result<SourceArchive> SourceArchive::parse(Bytes archive) {
  SourceArchive sources;
  // All of it as one piece, so that the content of a file is one, too.
  formats::TarReader reader(formats::pull_from(archive));
  uint64_t names_bytes = 0;
  while (true) {
    const auto next = reader.next();
    if (!next) {
      return propagate(next, "reading an archive of sources");
    }
    const std::optional<formats::TarReader::Member>& member = *next;
    if (!member) {
      break;
    }
    auto key = key_of_member(member->name);
    if (!key) {
      return propagate(key);
    }
    if (member->is_sparse) {
      return fail(ErrorCode::kUnsupported, "the archive has {} as a sparse file", *key);
    }
    names_bytes += key->size();
    if (sources.files() == kMaxSourceFiles || names_bytes > kMaxNamesBytes) {
      return fail(ErrorCode::kTooLarge,
                  "the archive has more than {} files, or their names more than {} bytes", kMaxSourceFiles,
                  kMaxNamesBytes);
    }
    const auto content = reader.read();
    if (!content || content->size() != member->size_bytes) {
      return content ? fail(ErrorCode::kCorrupt, "the archive is cut off within {}", *key)
                     : std::unexpected(content.error());
    }
    if (const auto [entry, is_new] = sources.files_.try_emplace(*std::move(key), *content); !is_new) {
      return fail(ErrorCode::kInvalid, "the archive has {} twice", entry->first);
    }
  }
  return sources.files() > 0 ? Result<SourceArchive>(std::move(sources))
                             : fail(ErrorCode::kUnsupported, "the archive has no files");
}

std::optional<Bytes> SourceArchive::find(std::string_view path) const {
  const auto key = source_key(path);
  const auto found = key ? files_.find(*key) : files_.end();
  return found == files_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace plimsoll::symbolizer
