#include "symbolizer/repository/binary_record.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/checksum.h"
#include "base/hex.h"
#include "base/printable.h"

namespace plimsoll::symbolizer {
namespace {

constexpr std::string_view kRecordHead = "plimsoll-binary 1\n";
constexpr std::string_view kChecksumKey = "checksum ";
constexpr std::array<std::string_view, 4> kLabelKeys{"revision", "builder", "compiler", "source_url"};

std::string checksum_line(std::string_view text) {
  return fmt::format("{}{:016x}\n", kChecksumKey, checksum64(as_bytes(text)));
}

std::unexpected<Error> damaged_record(std::string_view what) {
  return fail(ErrorCode::kCorrupt, "the record of a binary is damaged: {}", what);
}

std::string_view next_word(std::string_view& line) {
  const size_t end = std::min(line.find(' '), line.size());
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return word;
}

template <typename Number>
bool read_number(std::string_view& line, Number& number) {
  const std::string_view word = next_word(line);
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  return error == std::errc() && end == word.data() + word.size() && !word.empty();
}

bool read_hex(std::string_view& line, std::string& bytes) {
  const auto read = from_hex(next_word(line));
  if (read) {
    bytes = *read;
  }
  return read.has_value();
}

Status read_file_line(std::string_view line, bool is_part, BinaryRecord& record) {
  KeptFile file;
  file.is_part = is_part;
  const std::string_view kind = next_word(line);
  int quality = 0;
  const auto* const known =
      std::ranges::find(kBinaryKinds, kind, [](BinaryKind one) { return name_of(one); });
  const bool is_read = read_number(line, quality) && read_number(line, file.size_bytes) &&
                       read_hex(line, file.content_hash) && read_hex(line, file.htl_hash) &&
                       read_number(line, file.modified_ns) && read_number(line, file.added_ns);
  if (known == kBinaryKinds.end() || !is_read || quality < 0 ||
      quality > static_cast<int>(store::SymbolQuality::kFull)) {
    return damaged_record("a line of a file");
  }
  file.kind = *known;
  file.quality = static_cast<store::SymbolQuality>(quality);
  file.source = line.substr(0, kMaxSourceBytes);
  record.set(std::move(file));
  return {};
}

Status read_record_line(std::string_view line, BinaryRecord& record) {
  const std::string_view key = next_word(line);
  if (key == "build_id") {
    return read_hex(line, record.build_id) ? Status() : damaged_record("the build ID");
  }
  if (key == "file" || key == "part") {
    return read_file_line(line, key == "part", record);
  }
  if (key == "label") {
    const std::string_view label = next_word(line);
    return add_label(record.labels, label, line);
  }
  return damaged_record("an unknown line");
}

}  // namespace

Status add_label(BinaryLabels& labels, std::string_view key, std::string_view text) {
  if (std::ranges::find(kLabelKeys, key) == kLabelKeys.end()) {
    return with_hint(with_field(fail(ErrorCode::kInvalid, "no such label: {}", printable(key)), "label"),
                     "use revision, builder, compiler or source_url");
  }
  if (text.size() > kMaxLabelBytes) {
    return with_field(fail(ErrorCode::kTooLarge, "the label {} has {} bytes, over its limit of {}", key,
                           text.size(), kMaxLabelBytes),
                      std::string(key));
  }
  std::erase_if(labels, [key](const auto& label) { return label.first == key; });
  if (!text.empty()) {
    labels.emplace_back(std::string(key), printable(text));
  }
  return {};
}

std::string described_kind(const KeptFile& file) {
  return fmt::format("{}{}", name_of(file.kind), file.is_part ? " (part)" : "");
}

const KeptFile* BinaryRecord::file(BinaryKind kind) const {
  const auto found = std::ranges::find(files, kind, &KeptFile::kind);
  return found == files.end() ? nullptr : &*found;
}

void BinaryRecord::set(KeptFile file) {
  std::erase_if(files, [&file](const KeptFile& other) { return other.kind == file.kind; });
  files.push_back(std::move(file));
  std::ranges::sort(files, {}, &KeptFile::kind);
}

store::SymbolQuality BinaryRecord::quality() const {
  store::SymbolQuality best = store::SymbolQuality::kNone;
  for (const KeptFile& file : files) {
    best = std::max(best, file.quality);
  }
  return best;
}

uint64_t BinaryRecord::size_bytes() const {
  uint64_t bytes = 0;
  for (const KeptFile& file : files) {
    bytes += file.size_bytes;
  }
  return bytes;
}

int64_t BinaryRecord::added_ns() const {
  int64_t newest_ns = 0;
  for (const KeptFile& file : files) {
    newest_ns = std::max(newest_ns, file.added_ns);
  }
  return newest_ns;
}

std::string encode_record(const BinaryRecord& record) {
  std::string text(kRecordHead);
  text += fmt::format("build_id {}\n", to_hex(record.build_id));
  for (const KeptFile& file : record.files) {
    text += fmt::format("{} {} {} {} {} {} {} {} {}\n", file.is_part ? "part" : "file", name_of(file.kind),
                        static_cast<int>(file.quality), file.size_bytes, to_hex(file.content_hash),
                        to_hex(file.htl_hash), file.modified_ns, file.added_ns,
                        printable(std::string_view(file.source).substr(0, kMaxSourceBytes)));
  }
  for (const auto& [key, value] : record.labels) {
    text += fmt::format("label {} {}\n", key, value);
  }
  text += checksum_line(text);
  return text;
}

Result<BinaryRecord> decode_record(std::string_view text) {
  const size_t checksum_at = text.rfind(kChecksumKey);
  if (!text.starts_with(kRecordHead) || checksum_at == std::string_view::npos ||
      text.substr(checksum_at) != checksum_line(text.substr(0, checksum_at))) {
    return damaged_record("its checksum does not match");
  }
  BinaryRecord record;
  std::string_view rest = text.substr(kRecordHead.size(), checksum_at - kRecordHead.size());
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    if (const Status read = read_record_line(rest.substr(0, end), record); !read) {
      return damaged_record(read.error().message);
    }
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (record.build_id.size() < kMinBuildIdBytes || record.build_id.size() > kMaxBuildIdBytes) {
    return damaged_record("it has no build ID");
  }
  return record;
}

}  // namespace plimsoll::symbolizer
