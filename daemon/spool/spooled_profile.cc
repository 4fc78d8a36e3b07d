#include "daemon/spool/spooled_profile.h"

#include <fmt/format.h>

#include <charconv>

#include "base/hex.h"

namespace plimsoll::spool {
namespace {

constexpr std::string_view kKernelSymbols = "k";
constexpr uint64_t kBlockBytes = 4096;
constexpr uint64_t kEntryBytes = 512;

// Takes the text up to the next dot, and the dot.
std::string_view take_part(std::string_view& text) {
  const size_t dot = std::min(text.find('.'), text.size());
  const std::string_view part = text.substr(0, dot);
  text.remove_prefix(std::min(dot + 1, text.size()));
  return part;
}

template <typename Number>
std::optional<Number> number_in(std::string_view text) {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_number = error == std::errc() && end == text.data() + text.size();
  return is_number ? std::optional(number) : std::nullopt;
}

}  // namespace

std::string file_name_of(const SpooledProfile& profile, std::string_view suffix) {
  return fmt::format("{:016}.{}.{}{}.{}", profile.sequence, to_hex(profile.id), profile.spooled_s,
                     profile.has_kernel_symbols ? ".k" : "", suffix);
}

std::optional<SpooledProfile> parse_file_name(std::string_view name, std::string_view suffix) {
  std::string_view rest = name;
  const auto sequence = number_in<uint64_t>(take_part(rest));
  const auto id = from_hex(take_part(rest));
  const auto spooled_s = number_in<int64_t>(take_part(rest));
  if (!sequence || !id || !spooled_s) {
    return std::nullopt;
  }
  const SpooledProfile profile{.sequence = *sequence,
                               .id = *id,
                               .spooled_s = *spooled_s,
                               .has_kernel_symbols = take_part(rest) == kKernelSymbols};
  // One way to write each: no other spelling names the same profile.
  const bool is_ours =
      profile.sequence > 0 && profile.id.size() == kIdBytes && file_name_of(profile, suffix) == name;
  return is_ours ? std::optional(profile) : std::nullopt;
}

uint64_t disk_bytes_of(uint64_t file_bytes) {
  return (file_bytes + kEntryBytes + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
}

}  // namespace plimsoll::spool
