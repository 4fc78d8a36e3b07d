// Paths as the kernel writes them in /proc/PID/maps and as applications copy them from there.
#pragma once

#include <string_view>

namespace plimsoll {

// The path of a mapping or executable without the kernel's remark that its file has been deleted, or replaced.
constexpr std::string_view without_deleted(std::string_view path) {
  constexpr std::string_view kDeleted = " (deleted)";
  return path.substr(0, path.size() - (path.ends_with(kDeleted) ? kDeleted.size() : 0));
}

}  // namespace plimsoll
