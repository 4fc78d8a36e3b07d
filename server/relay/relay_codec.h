// Batches as bytes, and their answers. Pure functions.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/byte_reader.h"
#include "base/result.h"
#include "http/message.h"
#include "proto/relay.pb.h"

namespace plimsoll::server {

// Of bytes that an ingest server sent; what is in an entry is for its route to check. kTooLarge for more entries than a batch has, before they
// are parsed; kCorrupt for what is no message; kUnsupported for another version, or fields of a newer one.
Result<wire::RelayRequest> decode_relay_request(Bytes body);

// Of bytes that the primary sent: a reply for each of so many entries, each with a status that HTTP has.
Result<wire::RelayReply> decode_relay_reply(std::string_view body, size_t entries);

// An answer of the primary's routes, and what the daemon gets of it.
wire::RelayedReply relayed(http::Response response);
http::Response response_of(wire::RelayedReply reply);

}  // namespace plimsoll::server
