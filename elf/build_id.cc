#include "elf/build_id.h"

#include "base/hex.h"

namespace plimsoll::elf {

std::string build_id_entry(const std::string& root, std::string_view build_id) {
  const std::string hex = to_hex(build_id);
  return hex.size() < 4 ? std::string() : root + "/.build-id/" + hex.substr(0, 2) + "/" + hex.substr(2);
}

std::vector<std::string> binaries_by_build_id(const std::string& root, std::string_view build_id) {
  const std::string entry = build_id_entry(root, build_id);
  return entry.empty() ? std::vector<std::string>() : std::vector<std::string>{entry + "/elf", entry};
}

}  // namespace plimsoll::elf
