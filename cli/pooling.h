// `plimsoll pooling`: what services would need if they shared CPUs.
#pragma once

#include <string>

#include "base/result.h"
#include "query/table/table.h"

namespace CLI {
class App;
}

namespace plimsoll::cli {

struct PoolingOptions {
  std::string file;  // "-": standard input
  double share = 0.99;
  std::string max_lag;  // a duration; empty: 20 steps
  uint64_t seed = 1;
  query::TableForm form = query::TableForm::kText;
};

Status run_pooling(const PoolingOptions& options);

}  // namespace plimsoll::cli
