// A machine as tests register it.
#pragma once

#include <cstdint>
#include <string>

#include "proto/machine.pb.h"

namespace plimsoll::store {

inline wire::Machine machine(const std::string& id, const std::string& boot_id, uint32_t cores = 4) {
  wire::Machine made;
  made.set_id(id);
  made.set_boot_id(boot_id);
  made.set_cores(cores);
  return made;
}

}  // namespace plimsoll::store
