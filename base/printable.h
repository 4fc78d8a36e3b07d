// Text from outside made fit for protocol strings and terminals.
#pragma once

#include <string>
#include <string_view>

namespace plimsoll {

// Valid UTF-8, with '?' for each byte that is none and for control characters (C0, DEL, C1): names of processes, functions and paths
// may hold any byte, protocol strings may not.
std::string printable(std::string_view bytes);

}  // namespace plimsoll
