// The few environment variables of a process that its machine's operator lets rules read.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace plimsoll::identity {

// Name and value, by name. Values are printable, at most 256 bytes.
using Environment = std::vector<std::pair<std::string, std::string>>;

// Those of `names` that the text of /proc/PID/environ sets, as getenv() would find them; nothing else of it is kept.
// `names` must be sorted.
Environment select_variables(std::string_view environ_text, std::span<const std::string> names);

// The value; empty where it is not set.
std::string_view variable(const Environment& environment, std::string_view name);

}  // namespace plimsoll::identity
