#include "formats/tar_reader.h"

#include <algorithm>
#include <charconv>
#include <numeric>

#include "base/time.h"

namespace plimsoll::formats {
namespace {

// Places in a header block: POSIX.1-2017, pax, "ustar Interchange Format".
constexpr size_t kNameBytes = 100;
constexpr size_t kSizeAt = 124;
constexpr size_t kModifiedAt = 136;
constexpr size_t kNumberBytes = 12;
constexpr size_t kChecksumAt = 148;
constexpr size_t kChecksumBytes = 8;
constexpr size_t kTypeAt = 156;
constexpr size_t kMagicAt = 257;
constexpr size_t kPrefixAt = 345;
constexpr size_t kPrefixBytes = 155;
// Of a long name, or of all that a pax header says. Linux bounds paths to 4 KiB.
constexpr uint64_t kMaxTarTextBytes = uint64_t{1} << 20;
// No archive is larger; sums of such sizes do not overflow.
constexpr uint64_t kMaxMemberBytes = uint64_t{1} << 60;

std::string_view until_zero(std::string_view field) {
  return field.substr(0, field.find('\0'));
}

// Octal digits, between blanks and zero bytes; GNU's binary form where the first bit is set.
std::optional<uint64_t> tar_number(std::string_view field) {
  if (!field.empty() && (static_cast<unsigned char>(field[0]) & 0x80U) != 0) {
    uint64_t value = 0;
    for (const char byte : field.substr(field.size() - sizeof value)) {
      value = value << 8U | static_cast<unsigned char>(byte);
    }
    return value;
  }
  const size_t begin = std::min(field.find_first_not_of(' '), field.size());
  const std::string_view digits =
      field.substr(begin, field.find_first_of(std::string_view(" \0", 2), begin) - begin);
  uint64_t value = 0;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), value, 8);
  if (digits.empty()) {
    return 0;
  }
  const bool is_number = parsed.ec == std::errc() && parsed.ptr == digits.data() + digits.size();
  return is_number ? std::optional(value) : std::nullopt;
}

int64_t tar_seconds_to_ns(uint64_t seconds) {
  const bool fits = seconds < static_cast<uint64_t>(INT64_MAX / kNsPerSecond);
  return fits ? static_cast<int64_t>(seconds) * kNsPerSecond : 0;
}

// The sum of the block's bytes, its own field counted as blanks.
bool has_tar_checksum(std::string_view block) {
  const auto told = tar_number(block.substr(kChecksumAt, kChecksumBytes));
  const auto sum_of = [](std::string_view bytes) {
    return std::accumulate(bytes.begin(), bytes.end(), uint64_t{0},
                           [](uint64_t sum, char byte) { return sum + static_cast<unsigned char>(byte); });
  };
  const uint64_t sum = sum_of(block.substr(0, kChecksumAt)) + kChecksumBytes * uint64_t{' '} +
                       sum_of(block.substr(kChecksumAt + kChecksumBytes));
  return told == sum;
}

bool is_zero(std::string_view block) {
  return block.find_first_not_of('\0') == std::string_view::npos;
}

}  // namespace

bool looks_like_tar(Bytes beginning) {
  return beginning.size() >= kTarBlockBytes && beginning[0] != std::byte{0} &&
         has_tar_checksum(as_text(beginning.first(kTarBlockBytes)));
}

Status TarReader::refill() {
  if (pulled_.empty()) {
    auto pulled = source_();
    if (!pulled) {
      return propagate(pulled);
    }
    pulled_ = *pulled;
  }
  return {};
}

Result<Bytes> TarReader::read() {
  if (left_bytes_ == 0) {
    return Bytes();
  }
  if (auto refilled = refill(); !refilled) {
    return propagate(refilled);
  }
  if (pulled_.empty()) {
    return fail(ErrorCode::kCorrupt,
                "the archive is cut off at offset {}: {} bytes of the member are missing", offset_,
                left_bytes_);
  }
  const Bytes piece = pulled_.first(static_cast<size_t>(std::min<uint64_t>(pulled_.size(), left_bytes_)));
  pulled_ = pulled_.subspan(piece.size());
  left_bytes_ -= piece.size();
  offset_ += piece.size();
  return piece;
}

Status TarReader::pass(uint64_t size_bytes) {
  left_bytes_ = size_bytes;
  while (left_bytes_ > 0) {
    if (auto piece = read(); !piece) {
      return propagate(piece);
    }
  }
  return {};
}

// Nothing at the end: two blocks of zeros, of which some writers leave out one or both.
Result<std::optional<TarReader::Header>> TarReader::read_header() {
  std::string block;
  while (block.size() < kTarBlockBytes) {
    if (auto refilled = refill(); !refilled) {
      return propagate(refilled);
    }
    if (pulled_.empty() && block.empty()) {
      return std::nullopt;
    }
    if (pulled_.empty()) {
      return fail(ErrorCode::kCorrupt, "the archive is cut off within the header of a member at offset {}",
                  offset_);
    }
    const Bytes part = pulled_.first(std::min(pulled_.size(), kTarBlockBytes - block.size()));
    pulled_ = pulled_.subspan(part.size());
    block += as_text(part);
  }
  if (is_zero(block)) {
    return std::nullopt;
  }
  auto header = parse_header(as_bytes(block));
  if (!header) {
    return propagate(header);
  }
  offset_ += kTarBlockBytes;
  return std::optional(std::move(*header));
}

Result<TarReader::Header> TarReader::parse_header(Bytes bytes) const {
  const std::string_view block = as_text(bytes);
  const auto size_bytes = tar_number(block.substr(kSizeAt, kNumberBytes));
  if (!has_tar_checksum(block) || !size_bytes || *size_bytes > kMaxMemberBytes) {
    return fail(ErrorCode::kCorrupt, "the archive is damaged at offset {}: there is no header of a member",
                offset_);
  }
  Header header{block[kTypeAt], {}};
  header.member.name = until_zero(block.substr(0, kNameBytes));
  // GNU's own format, "ustar  ", has other fields where POSIX has the prefix.
  const std::string_view prefix = until_zero(block.substr(kPrefixAt, kPrefixBytes));
  if (block.substr(kMagicAt, 6) == std::string_view("ustar\0", 6) && !prefix.empty()) {
    header.member.name = std::string(prefix) + "/" + header.member.name;
  }
  header.member.size_bytes = *size_bytes;
  header.member.modified_ns =
      tar_seconds_to_ns(tar_number(block.substr(kModifiedAt, kNumberBytes)).value_or(0));
  return header;
}

// The content of a header that is text: a long name, or pax records.
Result<std::string> TarReader::read_text() {
  if (left_bytes_ > kMaxTarTextBytes) {
    return fail(ErrorCode::kTooLarge,
                "the archive has a header of {} bytes at offset {}; at most {} are read", left_bytes_,
                offset_, kMaxTarTextBytes);
  }
  std::string text;
  while (left_bytes_ > 0) {
    const auto piece = read();
    if (!piece) {
      return propagate(piece);
    }
    text += as_text(*piece);
  }
  return text;
}

// Records of "LENGTH KEY=VALUE\n", where LENGTH counts all of it.
Status TarReader::read_pax(Overrides& overrides) {
  const auto text = read_text();
  if (!text) {
    return propagate(text);
  }
  std::string_view rest = *text;
  while (!rest.empty()) {
    size_t length = 0;
    const auto parsed = std::from_chars(rest.data(), rest.data() + rest.size(), length);
    const auto digits = static_cast<size_t>(parsed.ptr - rest.data());
    if (parsed.ec != std::errc() || length < digits + 2 || length > rest.size()) {
      return fail(ErrorCode::kCorrupt,
                  "the archive is damaged before offset {}: an extended header has no records", offset_);
    }
    const std::string_view record = rest.substr(digits + 1, length - digits - 2);
    rest.remove_prefix(length);
    const std::string_view key = record.substr(0, record.find('='));
    const std::string_view value = record.substr(std::min(key.size() + 1, record.size()));
    uint64_t number = 0;
    const bool is_number =
        std::from_chars(value.data(), value.data() + value.size(), number).ec == std::errc();
    if (key == "path") {
      overrides.name = value;
    } else if (key == "size" && is_number && number <= kMaxMemberBytes) {
      overrides.size_bytes = number;
    } else if (key == "mtime" && is_number) {
      overrides.modified_ns = tar_seconds_to_ns(number);
    } else if (key.starts_with("GNU.sparse.")) {
      overrides.is_sparse = true;
    }
  }
  return {};
}

Result<std::optional<TarReader::Member>> TarReader::next() {
  Overrides overrides;
  while (true) {
    if (auto passed = pass(left_bytes_ + std::exchange(padding_bytes_, 0)); !passed) {
      return propagate(passed);
    }
    auto read = read_header();
    if (!read) {
      return propagate(read);
    }
    std::optional<Header>& header = *read;
    if (!header) {
      return std::nullopt;
    }
    const char type = header->type;
    Member& member = header->member;
    const bool is_text = type == 'L' || type == 'x';
    if (!is_text) {
      member.name = overrides.name.empty() ? member.name : overrides.name;
      member.size_bytes = overrides.size_bytes.value_or(member.size_bytes);
      member.modified_ns = overrides.modified_ns.value_or(member.modified_ns);
      member.is_sparse = overrides.is_sparse || type == 'S';
      overrides = {};
    }
    // Some writers give links the size of what they point to, but nothing follows.
    const bool has_content = type < '1' || type > '6';
    left_bytes_ = has_content ? member.size_bytes : 0;
    padding_bytes_ = (kTarBlockBytes - left_bytes_ % kTarBlockBytes) % kTarBlockBytes;
    if (type == 'x') {
      if (auto taken = read_pax(overrides); !taken) {
        return propagate(taken);
      }
    } else if (type == 'L') {
      const auto name = read_text();
      if (!name) {
        return propagate(name);
      }
      overrides.name = until_zero(*name);
    }
    // Some writers mark folders by a trailing slash alone.
    const bool is_file = type == '0' || type == '\0' || type == '7' || type == 'S';
    if (is_file && !member.name.ends_with('/')) {
      return std::optional(std::move(member));
    }
  }
}

}  // namespace plimsoll::formats
