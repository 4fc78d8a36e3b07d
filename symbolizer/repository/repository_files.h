// Where the repository of binaries keeps what, for those who read it beside the process that writes it.
//
//   DATA/binaries/.build-id/aa/REST          executable (or shared library) of build ID aaREST
//   DATA/binaries/.build-id/aa/REST.debug    its separate debug file
//   DATA/binaries/.build-id/aa/REST.sources  an archive of its source files (source_archive.h)
//   DATA/binaries/.build-id/aa/REST.record   which files there are, and where they came from (binary_record.h)
//   DATA/binaries/incoming/NAME.tmp          files that are arriving
//
// gdb and the search for symbols (symbolizer/search) know such a folder as one of debug files.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "symbolizer/repository/binary_record.h"

namespace plimsoll::symbolizer {

std::string repository_path(std::string_view data_dir);
std::string incoming_path(std::string_view data_dir);
// What follows the build ID in the name of a file of that kind.
std::string_view ending_of(BinaryKind kind);
// Whether it is there or not. Build IDs have at least kMinBuildIdBytes.
std::string kept_path(std::string_view data_dir, std::string_view build_id, BinaryKind kind);
// perf cuts build IDs after 20 bytes: rows that it recorded ask for a build by the beginning of its ID, under which a link leads to the file.
// Where two builds begin alike, the link is of the one that came first.
Status link_cut_build_id(std::string_view data_dir, std::string_view build_id, BinaryKind kind);
void unlink_cut_build_id(std::string_view data_dir, std::string_view build_id, BinaryKind kind);
// Of the sources of a build by its ID in hexadecimal digits; empty for what is none.
std::string sources_path(std::string_view data_dir, std::string_view hex_build_id);
std::string record_path(std::string_view data_dir, std::string_view build_id);

// Adds the repository to the folders in which debug files are looked for, before all others.
std::vector<std::string> with_repository(std::vector<std::string> debug_folders, std::string_view data_dir);

// Nothing where there is none of that build.
Result<std::optional<BinaryRecord>> read_record(std::string_view data_dir, std::string_view build_id);

// All that can be read, by build ID; `unread` is called for each of the others. Files may come and go meanwhile.
Result<std::vector<BinaryRecord>> read_records(
    std::string_view data_dir,
    const std::function<void(const std::string& path, const Error& error)>& unread = {});

// Calls `visit` with each file below .build-id.
Status for_each_file(std::string_view data_dir, const std::function<void(const std::string& path)>& visit);

// Of digits in lower case; nothing for other text, and for an ID that is too short or too long.
std::optional<std::string> parse_build_id(std::string_view hex);

// The build ID that a file below .build-id is of, by its path and this ending; nothing where it has another name.
std::optional<std::string> build_id_of_path(std::string_view path, std::string_view ending);

}  // namespace plimsoll::symbolizer
