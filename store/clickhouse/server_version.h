// Which ClickHouse a server is: what it can do decides what it is asked.
#pragma once

#include <string_view>

#include "base/result.h"

namespace plimsoll::store::clickhouse {

struct ServerVersion {
  int major = 0;
  int minor = 0;

  // Codecs of columns; Debian 12 has 18.16, without them.
  bool has_codecs() const { return major >= 20; }
  // select_sequential_consistency that survives DROP PARTITION, and insert_quorum_parallel, which must be 0 for it. What is older answers no
  // more such question once a partition was dropped (error 289).
  bool has_sequential_reads() const { return major >= 21; }
};

// "26.7.1.1". kUnsupported for what is no version.
Result<ServerVersion> parse_version(std::string_view text);

}  // namespace plimsoll::store::clickhouse
