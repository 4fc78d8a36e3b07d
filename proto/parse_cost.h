// What a message takes in memory, known before it is parsed.
#pragma once

#include <cstdint>

#include "base/byte_reader.h"
#include "base/result.h"

namespace google::protobuf {
class Descriptor;
}

namespace plimsoll::wire {

struct ParseCost {
  // An upper bound of what Protobuf allocates to parse the message once it has no unknown fields (unknown_fields.h). At most twice or thrice of
  // what it really is.
  uint64_t bytes = 0;
  bool has_unknown_fields = false;
};

// kTooLarge beyond `max_bytes`, kCorrupt where it is malformed or nested over 100 deep. Builds nothing; about as fast as parsing.
Result<ParseCost> parse_cost(Bytes message, const google::protobuf::Descriptor& type, uint64_t max_bytes);

}  // namespace plimsoll::wire
