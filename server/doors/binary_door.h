// Binaries and debug files over HTTP: pipelines add them, and gdb, perf and others fetch them as from a debuginfod.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/result.h"
#include "http/routes.h"
#include "symbolizer/repository/repository.h"

namespace plimsoll::server {

struct BinaryDoorOptions {
  uint64_t max_file_bytes = uint64_t{4} << 30;  // as sent, and after decompression
  // Whether the disk has room for so many bytes. Asked before each body for what it declares, again with each MiB of it, and with each MiB that
  // it is decompressed to: its failure is the answer. None: there is always room.
  std::function<Status(uint64_t bytes)> check_room = {};
  // Called once a file is there that has more symbols than there were before. None: no caller waits for it.
  std::function<void()> added = {};
};

// PUT /api/v1/binaries/[NAME]?build_id=&revision=&builder=&compiler=&source_url=: the body is one ELF file, which goes to disk while it arrives;
// it may be compressed (Content-Encoding: gzip). Answers with what became of it. An upload that is cut leaves nothing, and is sent again
// from its start. Right::kAddBinary.
// GET /buildid/HEX/{debuginfo,executable} and /buildid/HEX/section/NAME: as elfutils' debuginfod. Right::kRead. Borrows the
// repository.
std::vector<http::Route> binary_routes(symbolizer::BinaryRepository& repository,
                                       const BinaryDoorOptions& options);

}  // namespace plimsoll::server
