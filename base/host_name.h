// What this machine is called, for messages that another machine's users read.
#pragma once

#include <string>

namespace plimsoll {

// As uname() has it, printable and on one line; "?" where the kernel gives none.
std::string host_name();

}  // namespace plimsoll
