#pragma once

// Where this build's programs and the project's sources lie. Compiled into one source, so that every other test's object
// is the same in each clone, and ccache finds it.

#include <string>
#include <string_view>

namespace plimsoll {

// The path of something that was built into bin/; the folder itself without a name.
std::string built_file(std::string_view name = {});

// The path of something below the project's root; the root itself without a name.
std::string source_file(std::string_view path = {});

}  // namespace plimsoll
