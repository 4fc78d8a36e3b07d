#include "http/token.h"

#include <strings.h>

#include <algorithm>

#include "base/file.h"
#include "base/file_modes.h"
#include "base/hex.h"
#include "base/random.h"
#include "http/sha256.h"

namespace plimsoll::http {
namespace {

constexpr size_t kTokenBytes = 32;
constexpr size_t kMaxFileBytes = 4096;
constexpr size_t kMinCharacters = 16;
constexpr size_t kMaxCharacters = 256;

std::string_view without_spaces_around(std::string_view text) {
  constexpr std::string_view kSpaces = " \t\r";
  const size_t begin = text.find_first_not_of(kSpaces);
  return begin == std::string_view::npos ? std::string_view()
                                         : text.substr(begin, text.find_last_not_of(kSpaces) + 1 - begin);
}

}  // namespace

std::string make_token() {
  return "plm_" + to_hex(random_bytes(kTokenBytes));
}

bool is_token(std::string_view text) {
  const auto visible = [](unsigned char c) { return c > ' ' && c < 0x7f; };
  return text.size() >= kMinCharacters && text.size() <= kMaxCharacters && std::ranges::all_of(text, visible);
}

std::string token_hash(std::string_view token) {
  return sha256(as_bytes(token));
}

Result<std::string> read_token(const std::string& path) {
  const auto text = read_file(path, kMaxFileBytes);
  if (!text) {
    return propagate(text, "reading a token");
  }
  warn_if_others_may_read(path, "a token");
  const std::string_view token = without_spaces_around(std::string_view(*text).substr(0, text->find('\n')));
  if (!is_token(token)) {
    return with_hint(
        fail(ErrorCode::kInvalid, "the first line of {} is not a token of {} to {} visible characters", path,
             kMinCharacters, kMaxCharacters),
        "create one with plimsoll token");
  }
  return std::string(token);
}

std::optional<std::string_view> bearer_token(const Request& request) {
  constexpr std::string_view kScheme = "Bearer ";
  const std::string_view text = request.header("Authorization");
  if (text.size() < kScheme.size() || ::strncasecmp(text.data(), kScheme.data(), kScheme.size()) != 0) {
    return std::nullopt;
  }
  return without_spaces_around(text.substr(kScheme.size()));
}

}  // namespace plimsoll::http
