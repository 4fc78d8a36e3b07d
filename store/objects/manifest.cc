#include "store/objects/manifest.h"

#include <algorithm>
#include <charconv>

#include "base/byte_reader.h"
#include "base/checksum.h"
#include "base/hex.h"
#include "objects/object_store.h"
#include "store/blocks/block_folder.h"

namespace plimsoll::store {
namespace {

constexpr std::string_view kFirstLine = "plimsoll-objects 1\n";
// Of a directory whose rows are elsewhere: a program that does not know that would make one without rows of it.
constexpr std::string_view kFirstLineWithRows = "plimsoll-objects 2\n";
// With blocks that were merged: a program that does not know their names would take the manifest for damaged.
constexpr std::string_view kFirstLineWithMerged = "plimsoll-objects 3\n";
constexpr std::string_view kAnyVersion = "plimsoll-objects ";
constexpr std::string_view kRows = "rows ";
constexpr std::string_view kChecksum = "checksum ";
constexpr std::string_view kPacks = "packs/";
constexpr size_t kIdBytes = 16;
constexpr size_t kHashDigits = 32;
constexpr size_t kDigitsOfSequence = 19;

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  for (size_t begin = 0; begin <= line.size();) {
    const size_t end = std::min(line.find(' ', begin), line.size());
    words.push_back(line.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

template <typename Integer>
bool read_integer(std::string_view text, Integer& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

bool read_id(std::string_view text, std::string& id) {
  const auto bytes = from_hex(text);
  if (!bytes || bytes->size() != kIdBytes) {
    return false;
  }
  id = *bytes;
  return true;
}

// Of "file PATH BYTES HASH N" and "leaving PATH BYTES HASH N".
bool read_file_line(const std::vector<std::string_view>& words, StoredFile& file, int64_t& number) {
  if (words.size() != 5 || !objects::is_object_key(words[1]) || words[3].size() != kHashDigits ||
      !from_hex(words[3])) {
    return false;
  }
  file.hash = words[3];
  return read_integer(words[2], file.bytes) && file.bytes <= kMaxStoredBytes &&
         read_integer(words[4], number);
}

bool read_block_line(const std::vector<std::string_view>& words, Manifest& manifest) {
  if (words.size() != 4) {
    return false;
  }
  StoredBlock block{.name = std::string(words[1])};
  const int64_t number = block_at("blocks/" + block.name).number;
  if (number <= 0 || !read_integer(words[2], block.version) || !read_integer(words[3], block.built_up_to)) {
    return false;
  }
  return manifest.blocks.emplace(number, std::move(block)).second;
}

bool read_line(std::string_view line, Manifest& manifest) {
  if (line.starts_with(kRows)) {
    manifest.rows = line.substr(kRows.size());
    return manifest.has_rows_elsewhere();
  }
  const std::vector<std::string_view> words = words_of(line);
  if (words[0] == "directory" && words.size() == 2) {
    return read_id(words[1], manifest.directory_id);
  }
  if (words[0] == "writer" && words.size() == 2) {
    return read_id(words[1], manifest.writer);
  }
  if (words[0] == "written" && words.size() == 2) {
    return read_integer(words[1], manifest.written_ns);
  }
  if (words[0] == "block") {
    return read_block_line(words, manifest);
  }
  if (words[0] == "file") {
    StoredFile file;
    return read_file_line(words, file, file.version) && manifest.files.emplace(words[1], file).second;
  }
  LeavingFile leaving;
  if (words[0] != "leaving" || !read_file_line(words, leaving.file, leaving.remove_at_ns)) {
    return false;
  }
  leaving.path = words[1];
  manifest.leaving.push_back(std::move(leaving));
  return true;
}

BlockFolder folder_of(const StoredBlock& block) {
  return block_at("blocks/" + block.name);
}

std::string_view first_line_of(const Manifest& manifest) {
  const bool has_merged = std::ranges::any_of(
      manifest.blocks, [](const auto& block) { return folder_of(block.second).is_merged(); });
  return has_merged ? kFirstLineWithMerged : manifest.has_rows_elsewhere() ? kFirstLineWithRows : kFirstLine;
}

// By then there is no local file that could be of the same version.
LeavingFile leaving_file(const std::string& path, const StoredFile& file, int64_t remove_at_ns) {
  return {.path = path, .file = {.bytes = file.bytes, .hash = file.hash}, .remove_at_ns = remove_at_ns};
}

std::string checksum_line(std::string_view lines) {
  return fmt::format("{}{:016x}\n", kChecksum, checksum64(as_bytes(lines)));
}

}  // namespace

int64_t StoredBlock::first() const {
  return folder_of(*this).first;
}

bool Manifest::covers(int64_t number) const {
  const auto at = blocks.lower_bound(number);
  return at != blocks.end() && at->second.first() <= number;
}

void Manifest::set(const std::string& path, const StoredFile& file, int64_t now_ns) {
  const auto [at, is_new] = files.try_emplace(path, file);
  if (!is_new) {
    if (at->second.hash != file.hash) {
      leaving.push_back(leaving_file(path, at->second, now_ns + kReadersNs));
    }
    at->second = file;
  }
  // The same objects may come back.
  std::erase_if(leaving,
                [&](const LeavingFile& other) { return other.path == path && other.file.hash == file.hash; });
}

void Manifest::drop(const std::string& path, int64_t remove_at_ns) {
  const auto at = files.find(path);
  if (at == files.end()) {
    return;
  }
  leaving.push_back(leaving_file(path, at->second, remove_at_ns));
  files.erase(at);
}

std::vector<std::string> Manifest::paths_below(std::string_view prefix) const {
  std::vector<std::string> paths;
  for (auto at = files.lower_bound(std::string(prefix)); at != files.end() && at->first.starts_with(prefix);
       ++at) {
    paths.push_back(at->first);
  }
  return paths;
}

std::string to_text(const Manifest& manifest) {
  std::string text(first_line_of(manifest));
  text += fmt::format("directory {}\nwriter {}\nwritten {}\n", to_hex(manifest.directory_id),
                      to_hex(manifest.writer), manifest.written_ns);
  text += manifest.has_rows_elsewhere() ? fmt::format("{}{}\n", kRows, manifest.rows) : "";
  for (const auto& [number, block] : manifest.blocks) {
    text += fmt::format("block {} {} {}\n", block.name, block.version, block.built_up_to);
  }
  for (const auto& [path, file] : manifest.files) {
    text += fmt::format("file {} {} {} {}\n", path, file.bytes, file.hash, file.version);
  }
  for (const LeavingFile& leaving : manifest.leaving) {
    text += fmt::format("leaving {} {} {} {}\n", leaving.path, leaving.file.bytes, leaving.file.hash,
                        leaving.remove_at_ns);
  }
  return text + checksum_line(text);
}

Result<Manifest> parse_manifest(std::string_view text) {
  const std::string_view first_line = text.starts_with(kFirstLineWithRows)     ? kFirstLineWithRows
                                      : text.starts_with(kFirstLineWithMerged) ? kFirstLineWithMerged
                                                                               : kFirstLine;
  if (text.starts_with(kAnyVersion) && !text.starts_with(first_line)) {
    return with_hint(fail(ErrorCode::kUnsupported, "the manifest is of a later version of Plimsoll"),
                     "update this program");
  }
  const size_t end = text.rfind(kChecksum);
  const bool is_whole = text.starts_with(first_line) && end != std::string_view::npos &&
                        text.substr(end) == checksum_line(text.substr(0, end));
  if (!is_whole) {
    return fail(ErrorCode::kCorrupt, "the manifest is damaged: its checksum does not match its lines");
  }
  Manifest manifest;
  for (size_t begin = first_line.size(); begin < end;) {
    const size_t line_end = std::min(text.find('\n', begin), end);
    if (!read_line(text.substr(begin, line_end - begin), manifest)) {
      return fail(ErrorCode::kCorrupt, "the manifest has a line that is none");
    }
    begin = line_end + 1;
  }
  if (manifest.directory_id.empty() || manifest.writer.empty()) {
    return fail(ErrorCode::kCorrupt, "the manifest does not say which directory it is of");
  }
  if (first_line != first_line_of(manifest)) {
    return fail(ErrorCode::kCorrupt, "the manifest has another version than its lines are of");
  }
  int64_t next = manifest.blocks.empty() ? 0 : manifest.blocks.begin()->second.first();
  for (const auto& [number, block] : manifest.blocks) {
    if (block.first() != next) {
      return fail(ErrorCode::kCorrupt, "the blocks of the manifest do not follow each other: see {}",
                  block.name);
    }
    next = number + 1;
  }
  return manifest;
}

std::string pack_path(const PackRange& range) {
  return fmt::format("{}{:019}-{:019}", kPacks, range.first, range.last);
}

std::optional<PackRange> pack_at(std::string_view path) {
  PackRange range;
  const size_t bytes = kPacks.size() + 2 * kDigitsOfSequence + 1;
  const bool is_pack = path.starts_with(kPacks) && path.size() == bytes &&
                       path[kPacks.size() + kDigitsOfSequence] == '-' &&
                       read_integer(path.substr(kPacks.size(), kDigitsOfSequence), range.first) &&
                       read_integer(path.substr(kPacks.size() + kDigitsOfSequence + 1), range.last);
  return is_pack && range.first > 0 && range.first <= range.last ? std::optional(range) : std::nullopt;
}

}  // namespace plimsoll::store
