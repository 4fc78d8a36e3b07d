// One request to a debuginfod, whose answer goes into the repository of binaries.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "symbolizer/debuginfod/debuginfod_server.h"
#include "symbolizer/repository/repository.h"

namespace plimsoll::symbolizer {

// What is left for one build ID.
struct FetchBudget {
  uint64_t bytes = 0;
  int64_t time_ns = 0;
};

enum class FetchEnd : uint8_t {
  kStored,     // it is in the repository now, or was
  kNotFound,   // the server does not have it (404)
  kRefused,    // what came is not kept: another build ID, no ELF file, too large, a redirect elsewhere
  kFailed,     // no answer in time, or one of 5xx or 429: the server is to be left alone for a while
  kCancelled,  // it was told to stop
};

struct FetchAnswer {
  FetchEnd end = FetchEnd::kNotFound;
  std::string reason = {};  // of kRefused and kFailed
  int64_t retry_after_s = 0;
  bool is_new = false;  // of kStored: the repository has more symbols than before
  uint64_t bytes = 0;   // that came
};

struct FetchRequest {
  std::string_view build_id;  // bytes
  std::string_view artifact;  // "debuginfo", "executable"
  FetchBudget budget;
  // Whether the disk has room for so many bytes; none: always.
  std::function<Status(uint64_t bytes)> check_room = {};
  int64_t now_ns = 0;  // wall clock
  int cancel_fd = -1;  // readable: give up
};

// Asks servers[index]. The file goes to disk while it arrives, and is kept only if the build ID inside is the one that was asked for. Follows a
// few redirects, to the named servers alone. An error is one of this machine: no room, or a disk that fails.
Result<FetchAnswer> fetch_from(const std::vector<DebuginfodServer>& servers, size_t index,
                               const FetchRequest& request, BinaryRepository& repository);

}  // namespace plimsoll::symbolizer
