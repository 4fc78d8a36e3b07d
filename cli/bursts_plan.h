// `plimsoll bursts plan`: which burst-config fits some requests.
#pragma once

#include "base/result.h"

namespace plimsoll::cli {

struct BurstsPlanOptions {
  double request_ms = 0;
  double max_share = 0.01;
  double clock_error_ms = 0;
  bool is_json = false;
};

Status run_bursts_plan(const BurstsPlanOptions& options);

}  // namespace plimsoll::cli
