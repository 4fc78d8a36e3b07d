// What a message takes in memory, known before it is parsed.
#pragma once

#include <cstdint>

#include "base/byte_reader.h"
#include "base/result.h"

namespace google::protobuf {
class Descriptor;
}

namespace plimsoll::wire {

// An upper bound, in bytes, of what Protobuf allocates to parse the message, unknown fields among it: those are kept as a list, of
// some 50 bytes for each two of the message, and so a few kilobytes could become gigabytes. At most twice or thrice of what it really is.
// kTooLarge beyond `max_bytes`, kCorrupt where it is malformed or nested over 100 deep. Builds nothing; about as fast as parsing.
Result<uint64_t> parse_cost(Bytes message, const google::protobuf::Descriptor& type, uint64_t max_bytes);

}  // namespace plimsoll::wire
