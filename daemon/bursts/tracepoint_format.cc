#include "daemon/bursts/tracepoint_format.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/file.h"

namespace plimsoll::bursts {
namespace {

constexpr uint64_t kMaxFormatBytes = uint64_t{1} << 20;
// perf hands over at most 64 KiB of a record.
constexpr uint32_t kMaxOffset = 1U << 16U;

// The number behind "KEY" in a line.
std::optional<uint32_t> number_after(std::string_view line, std::string_view key) {
  const size_t at = line.find(key);
  if (at == std::string_view::npos) {
    return std::nullopt;
  }
  const std::string_view rest =
      line.substr(std::min(line.size(), line.find_first_not_of(' ', at + key.size())));
  uint32_t number = 0;
  const auto parsed = std::from_chars(rest.data(), rest.data() + rest.size(), number);
  return parsed.ec == std::errc() ? std::optional(number) : std::nullopt;
}

// "field:unsigned long args[6];	offset:16;	size:48;	signed:0;"
std::optional<TracepointField> field_in(std::string_view line) {
  constexpr std::string_view kKey = "field:";
  const size_t start = line.find(kKey);
  const size_t end = line.find(';');
  const auto offset = number_after(line, "offset:");
  const auto size = number_after(line, "size:");
  if (start == std::string_view::npos || end == std::string_view::npos || start > end || !offset || !size ||
      *offset > kMaxOffset || *size > kMaxOffset) {
    return std::nullopt;
  }
  std::string_view declaration = line.substr(start + kKey.size(), end - start - kKey.size());
  declaration = declaration.substr(0, declaration.find('['));
  const size_t space = declaration.find_last_of(' ');
  return TracepointField{
      .name = std::string(declaration.substr(space == std::string_view::npos ? 0 : space + 1)),
      .offset = *offset,
      .size = *size};
}

}  // namespace

Result<TracepointField> TracepointFormat::field(std::string_view name, uint32_t min_size) const {
  const auto found = std::ranges::find(fields, name, &TracepointField::name);
  if (found == fields.end() || found->size < min_size) {
    return fail(ErrorCode::kUnsupported, "this kernel's tracepoint {} has no field {} of at least {} bytes",
                id, name, min_size);
  }
  return *found;
}

Result<TracepointFormat> parse_tracepoint_format(std::string_view text) {
  TracepointFormat format;
  bool has_id = false;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (line.starts_with("ID:")) {
      const auto id = number_after(line, "ID:");
      has_id = id.has_value();
      format.id = id.value_or(0);
    } else if (auto field = field_in(line)) {
      format.fields.push_back(std::move(*field));
    }
  }
  if (!has_id || format.fields.empty()) {
    return fail(ErrorCode::kCorrupt, "this is no format of a tracepoint");
  }
  return format;
}

Result<TracepointFormat> read_tracepoint_format(const std::string& tracefs,
                                                const perf::TracepointName& name) {
  const auto text =
      read_file(fmt::format("{}/events/{}/{}/format", tracefs, name.system, name.event), kMaxFormatBytes);
  if (!text) {
    const auto failure =
        propagate(text, "reading the format of the tracepoint {}:{}", name.system, name.event);
    return text.error().code == ErrorCode::kDenied
               ? with_hint(failure, "tracepoints require CAP_DAC_READ_SEARCH and CAP_PERFMON")
               : failure;
  }
  auto format = parse_tracepoint_format(*text);
  return format ? std::move(format) : propagate(format, "reading {}:{}", name.system, name.event);
}

uint64_t unsigned_at(Bytes raw, const TracepointField& field) {
  ByteReader reader(raw);
  (void)reader.bytes(field.offset);
  return field.size >= sizeof(uint64_t) ? reader.read<uint64_t>() : reader.read<uint32_t>();
}

std::string_view text_at(Bytes raw, const TracepointField& field) {
  ByteReader reader(raw);
  (void)reader.bytes(field.offset);
  const std::string_view text = as_text(reader.bytes(field.size));
  return text.substr(0, text.find('\0'));
}

}  // namespace plimsoll::bursts
