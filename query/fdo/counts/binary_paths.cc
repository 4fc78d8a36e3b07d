#include "query/fdo/counts/binary_paths.h"

#include <cstdint>
#include <set>

#include "elf/build_id.h"

namespace plimsoll::fdo {

std::vector<std::string> paths_of_build(const query::Snapshot& snapshot, const std::string& build_id) {
  constexpr size_t kMaxPaths = 100;
  std::set<std::string> paths;
  const auto& binaries = snapshot.dictionaries.binaries;
  for (uint32_t id = 1; id < binaries.size() && paths.size() < kMaxPaths; ++id) {
    const store::BinaryEntry& binary = binaries[id];
    if (binary.identity_kind == wire::GNU_BUILD_ID && elf::is_build(build_id, binary.identity)) {
      paths.insert(binary.path);
    }
  }
  return {paths.begin(), paths.end()};
}

}  // namespace plimsoll::fdo
