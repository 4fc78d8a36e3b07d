// Compressed answers (Content-Encoding: gzip).
#pragma once

#include "http/message.h"

namespace plimsoll::http {

// Whether the client takes gzip (RFC 9110, 12.5.3).
bool accepts_gzip(const Request& request);

// Compresses the body where the client takes that and it is long enough to be worth it: about 10 ms for each megabyte of JSON, which becomes
// a tenth. Sets Content-Encoding and Vary.
void compress(const Request& request, Response& response);

}  // namespace plimsoll::http
