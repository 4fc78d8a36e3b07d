// What libmicrohttpd's connections give and take, in our terms.
#pragma once

#include <string>

#include "http/message.h"

struct MHD_Connection;

namespace plimsoll::http {

// What there is of a request before its body. `with_certificates`: clients are asked for certificates, and a name that they vouch for is
// part of it. May throw std::bad_alloc.
Request read_head(MHD_Connection* connection, const char* url, const char* method, bool with_certificates);

// Begins to send. `closes`: the connection, when all is sent. False: it cannot be sent, and the connection is to be ended.
bool send_response(MHD_Connection* connection, Response response, bool closes);

// To be called when a connection has begun, and again when it has ended: makes and deletes what is kept from request to request.
void keep_with_connection(void** kept, bool has_begun) noexcept;

}  // namespace plimsoll::http
