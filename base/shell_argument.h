// Commands that are printed to be pasted into a shell.
#pragma once

#include <string>
#include <string_view>

namespace plimsoll {

// The text as one word of a POSIX shell's command, in quotes where it needs them. printable() is the caller's to ask for.
std::string shell_argument(std::string_view text);

}  // namespace plimsoll
