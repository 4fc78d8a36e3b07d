// Endpoints that processes announce in a folder (appprof/, docs/appprof.md).
//
// Any user of the machine may write there. A file counts only where its owner is root or the user of the process that it speaks
// of, and that very process, by its number and start, holds the socket at the address: a user can announce own processes alone.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "capture/identity/proc_fs.h"
#include "config/scrape_endpoint.h"

namespace plimsoll::scrape {

struct AnnouncedProcess {
  uint32_t pid =
      0;  // of a text, in the process's own PID namespace; as read_announcements() has it, in this one
  int64_t started_ns = 0;          // since boot, in steps of the kernel's ticks
  std::string base_url;            // "http://127.0.0.1:41234", a numeric host, or "unix:/run/job.sock:"
  std::vector<std::string> kinds;  // those that path_of_announced_kind() knows, each once
  bool requires_token = false;
};

// Of the text of a file. kInvalid where it is none. Whether the address is the process's is not known yet.
Result<AnnouncedProcess> parse_announcement(std::string_view text);

struct Announcements {
  std::vector<AnnouncedProcess> processes;
  std::vector<std::string> problems;  // a file each, ten at most
};

// Of all processes that live, of PID namespaces nested in this one too (containers that share the folder). Opens at most 1000 files PID-START_TICKS.json or PID.json, of 16 KiB at most, and follows no links. A folder that
// does not exist announces nothing; a file whose process has ended is passed over.
Announcements read_announcements(const std::string& folder, const identity::ProcFs& proc_fs);

}  // namespace plimsoll::scrape
