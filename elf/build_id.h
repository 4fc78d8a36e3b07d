// What a build ID is and when two name the same build.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll::elf {

// perf's records and headers have room for so many bytes, and cut longer IDs.
constexpr size_t kCutBuildIdBytes = 20;

// The ID; empty where it is of zero bytes only, which linkers are told to write where no ID was to be made: it tells
// no builds apart.
constexpr std::string_view build_id_or_none(std::string_view id) {
  return id.find_first_not_of('\0') == std::string_view::npos ? std::string_view() : id;
}

// Whether a file's ID is the one that was told, which perf may have cut. Two files that have the first 20 bytes in
// common are one build: these are hashes.
constexpr bool is_build(std::string_view id_of_file, std::string_view told) {
  return id_of_file == told || (told.size() == kCutBuildIdBytes && id_of_file.starts_with(told));
}

// "ROOT/.build-id/xx/yyyy" for a build ID, in a folder laid out as gdb and perf do; empty for IDs too short to have
// one.
std::string build_id_entry(const std::string& root, std::string_view build_id);

// Where copies of a binary may lie that is not at its own path, in the order in which to try them: at one of its `paths` below a
// root that is a copy of another machine's file system, then by build ID below debug folders and roots. Without a build ID,
// which any file might not have, `build_id` is empty. What is found has to be checked.
std::vector<std::string> places_of_copies(const std::vector<std::string>& roots,
                                          const std::vector<std::string>& debug_roots,
                                          const std::vector<std::string>& paths, std::string_view build_id);

}  // namespace plimsoll::elf
