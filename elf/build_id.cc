#include "elf/build_id.h"

#include <algorithm>
#include <iterator>

#include "base/hex.h"

namespace plimsoll::elf {

std::string build_id_entry(const std::string& root, std::string_view build_id) {
  const std::string hex = to_hex(build_id);
  return hex.size() < 4 ? std::string() : root + "/.build-id/" + hex.substr(0, 2) + "/" + hex.substr(2);
}

namespace {

// Where the binary itself may lie below such a folder: the entry, or "elf" in it, as in perf's cache and what perf
// archive copies of it.
std::vector<std::string> binaries_by_build_id(const std::string& root, std::string_view build_id) {
  const std::string entry = build_id_entry(root, build_id);
  return entry.empty() ? std::vector<std::string>() : std::vector<std::string>{entry + "/elf", entry};
}

}  // namespace

std::vector<std::string> places_of_copies(const std::vector<std::string>& roots,
                                          const std::vector<std::string>& debug_roots,
                                          const std::vector<std::string>& paths, std::string_view build_id) {
  std::vector<std::string> places;
  for (const std::string& root : roots) {
    for (const std::string& path : paths) {
      if (root != "/" && path.starts_with('/')) {
        places.push_back(root + path);
      }
    }
  }
  for (const auto* folders : {&debug_roots, &roots}) {
    for (const std::string& root : *folders) {
      std::ranges::move(binaries_by_build_id(root, build_id), std::back_inserter(places));
    }
  }
  return places;
}

}  // namespace plimsoll::elf
