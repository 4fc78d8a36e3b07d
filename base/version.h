// Which Plimsoll this is.
#pragma once

#include <string_view>

namespace plimsoll {

// "0.1.0": the version of the project in CMakeLists.txt, the same for all programs of a build.
std::string_view version();

}  // namespace plimsoll
