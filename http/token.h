// Tokens: secrets by which callers are known, sent as "Authorization: Bearer TOKEN".
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "http/message.h"

namespace plimsoll::http {

// A machine that is not known yet shows with this, when it registers, a token that permits it to enrol.
inline constexpr const char* kEnrolmentHeader = "Plimsoll-Enrolment";

// 256 random bits, as text that can stand in a header.
std::string make_token();

// 16 to 256 visible ASCII characters.
bool is_token(std::string_view text);

// SHA-256, in hexadecimal: what a server keeps, which is of no use to who reads it there.
std::string token_hash(std::string_view token);

// The first line of a file, without spaces around it. kInvalid where that is no token.
Result<std::string> read_token(const std::string& path);

// What follows "Bearer " in the request; nothing where it has no such header.
std::optional<std::string_view> bearer_token(const Request& request);

}  // namespace plimsoll::http
