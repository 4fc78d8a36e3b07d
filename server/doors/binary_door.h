// Binaries and debug files over HTTP: pipelines add them, and gdb, perf and others fetch them as from a debuginfod.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "elf/binary_part.h"
#include "http/routes.h"
#include "server/doors/wanted_build_set.h"
#include "symbolizer/repository/repository.h"

namespace plimsoll::server {

struct BinaryDoorOptions {
  uint64_t max_file_bytes = uint64_t{4} << 30;  // as sent, and after decompression
  // Whether the disk has room for so many bytes. Asked before each body for what it declares, again with each MiB of it, and with each MiB that
  // it is decompressed to: its failure is the answer. None: there is always room.
  std::function<Status(uint64_t bytes)> check_room = {};
  // Called once a file is there that has more symbols than there were before. None: no caller waits for it.
  std::function<void()> added = {};
  // What machines are asked for.
  elf::BinaryPart machine_content = elf::BinaryPart::kDebugSections;
  // Of uploads that were cut, of people and of machines each.
  uint64_t max_unfinished_bytes = uint64_t{1} << 30;
  // Of the times for which a build is offered to one machine alone, and what has come of an upload is kept.
  std::function<int64_t()> monotonic_ns = &monotonic_now_ns;
};

// PUT /api/v1/binaries/[NAME]?build_id=&revision=&builder=&compiler=&source_url=: the body is one ELF file, or a tar archive of the sources of
// the build `build_id`, which goes to disk while it arrives; it may be compressed (Content-Encoding: gzip). Answers with what became of it. Right::kAddBinary.
// An upload with a digest (binary_upload.h) that is cut may go on: GET /api/v1/binaries/?digest= answers with the offset. Of another one nothing is left.
// And build_id_route() (build_id_door.h). Borrows the repository.
std::vector<http::Route> binary_routes(symbolizer::BinaryRepository& repository,
                                       const BinaryDoorOptions& options);

// For daemons, of what `wanted` has and the repository lacks; Right::kMachine. Borrows both.
// POST /fleet/v1/binaries/wanted?content=: the body has build IDs in hexadecimal, one a line, 1,000 at most; `content` is what the machine may send of
// them at most (elf/binary_part.h; default: all). The answer has those that are wanted, each with what is wanted of it: "HEX debug"; for ten minutes no
// other machine is told that one is.
// PUT and GET /fleet/v1/binaries/HEX?content=: that part of that build, or all of it (the default), plain or gzip, and where an upload goes on. 409
// where it is not wanted, not of that build, a debug file of other origin, or arrives already.
std::vector<http::Route> machine_binary_routes(symbolizer::BinaryRepository& repository,
                                               const WantedBuildSet& wanted,
                                               const BinaryDoorOptions& options);

}  // namespace plimsoll::server
