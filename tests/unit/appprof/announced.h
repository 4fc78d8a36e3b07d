// What a process has announced.
#pragma once

#include <sys/types.h>

#include <nlohmann/json.hpp>
#include <string>

#include "appprof/announcement.h"
#include "appprof/mappings.h"

namespace plimsoll::appprof {

// This process's file in the folder, `pid` being its own; a discarded value where there is none.
inline nlohmann::json announced(const std::string& folder, pid_t pid) {
  return nlohmann::json::parse(read_file(announcement_path(folder, pid, own_start_ticks()).c_str()), nullptr,
                               false);
}

}  // namespace plimsoll::appprof
