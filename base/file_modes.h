// Who else may read a file.
#pragma once

#include <string>
#include <string_view>

namespace plimsoll {

// Whether users outside of the file's group may read it; false where that cannot be told.
bool others_may_read(const std::string& path);

// For secrets: a line in the log where others may read them. `what` begins it: "the server's key".
void warn_if_others_may_read(const std::string& path, std::string_view what);

}  // namespace plimsoll
