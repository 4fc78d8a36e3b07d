// JSON strings of any bytes.
#pragma once

#include <string>
#include <string_view>

namespace plimsoll::cli {

// Appends `text` in quotes. What is no UTF-8 becomes U+FFFD, a byte each, since JSON has no other text.
void append_json_string(std::string_view text, std::string& out);

}  // namespace plimsoll::cli
