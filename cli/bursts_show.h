// `plimsoll bursts show`: what a recording of bursts has.
#pragma once

#include <string>

#include "base/result.h"

namespace plimsoll::cli {

struct BurstsShowOptions {
  std::string file;
  bool is_json = false;
};

Status run_bursts_show(const BurstsShowOptions& options);

}  // namespace plimsoll::cli
