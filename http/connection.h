// What libmicrohttpd's connections give and take, in our terms.
#pragma once

#include <optional>
#include <string>

#include "http/connection_watch.h"
#include "http/message.h"
#include "http/served_certificate.h"

struct MHD_Connection;

namespace plimsoll::http {

// What there is of a request before its body. `with_certificates`: clients are asked for certificates, and a name that they vouch for is
// part of it. May throw std::bad_alloc.
Request read_head(MHD_Connection* connection, const char* url, const char* method, bool with_certificates);

// Begins to send. `closes`: the connection, when all is sent. False: it cannot be sent, and the connection is to be ended.
bool send_response(MHD_Connection* connection, Response response, bool closes);

// To be called when a connection has begun, and again when it has ended: makes and deletes what is kept from request to request, and has
// the connection watched. Borrows `certificate`.
void keep_with_connection(MHD_Connection* connection, void** kept, bool has_begun, ConnectionWatch& watch,
                          const ServedCertificate& certificate) noexcept;

// The function of type gnutls_certificate_retrieve_function3 that gives what was kept with the connection.
void* certificate_function();

// The connection among those that are watched; nothing where memory was short when it began.
std::optional<ConnectionWatch::Handle> watched(MHD_Connection* connection);

}  // namespace plimsoll::http
