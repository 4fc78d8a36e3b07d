#include "http/connection.h"

#include <fcntl.h>
#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>
#include <microhttpd.h>
#include <poll.h>

#include <memory>
#include <new>
#include <optional>

#include "base/log.h"
#include "base/time.h"
#include "http/address.h"
#include "http/tls.h"

namespace plimsoll::http {
namespace {

// Signatures are checked once a connection, not with each request.
struct Kept {
  std::optional<CertifiedName> certified_name;
  std::optional<ConnectionWatch::Handle> watched = {};
  const ServedCertificate* certificate = nullptr;
};

struct FieldSink {
  Fields fields;
  bool complete = true;
};

MHD_Result append_field(void* sink, MHD_ValueKind /*kind*/, const char* name, size_t name_size,
                        const char* value, size_t value_size) noexcept {
  auto& target = *static_cast<FieldSink*>(sink);
  try {
    target.fields.emplace_back(std::string(name, name_size),
                               value == nullptr ? std::string() : std::string(value, value_size));
    return MHD_YES;
  } catch (...) {
    target.complete = false;
    return MHD_NO;
  }
}

Fields fields_of(MHD_Connection* connection, MHD_ValueKind kind) {
  FieldSink sink;
  MHD_get_connection_values_n(connection, kind, &append_field, &sink);
  if (!sink.complete) {
    throw std::bad_alloc();
  }
  return std::move(sink.fields);
}

// Nobody else reads from the connection while its handler runs.
bool has_gone(int connection_fd) {
  pollfd polled{.fd = connection_fd, .events = POLLRDHUP, .revents = 0};
  return ::poll(&polled, 1, 0) > 0 && (polled.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

// From 1.0 on libmicrohttpd answers every question about a connection in the same place: the next one takes the answer away.
Kept* kept_of(MHD_Connection* connection) {
  const auto* const info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
  return info == nullptr ? nullptr : static_cast<Kept*>(info->socket_context);
}

std::string certified_name_of(MHD_Connection* connection) {
  Kept* const kept = kept_of(connection);
  if (kept == nullptr) {
    return {};
  }
  if (!kept->certified_name) {
    const auto* const info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    if (info == nullptr) {
      return {};
    }
    kept->certified_name = certified_name(info->tls_session);
  }
  return kept->certified_name->at(wall_now_ns());  // a connection may outlive the certificate
}

void free_body(void* body) {
  delete static_cast<std::string*>(body);
}

MHD_Response* reply_of_body(std::string text) {
  auto* const body = new std::string(std::move(text));  // free_body() deletes it
  MHD_Response* const reply =
      MHD_create_response_from_buffer_with_free_callback_cls(body->size(), body->data(), &free_body, body);
  if (reply == nullptr) {
    free_body(body);
  }
  return reply;
}

// The reply closes its descriptor.
MHD_Response* reply_of_file(const FilePart& part) {
  UniqueFd fd(::fcntl(part.fd->get(), F_DUPFD_CLOEXEC, 0));
  MHD_Response* const reply =
      fd.valid() ? MHD_create_response_from_fd_at_offset64(part.bytes, fd.get(), part.offset) : nullptr;
  if (reply != nullptr) {
    fd.release();
  }
  return reply;
}

void add_header(MHD_Response* reply, const std::string& name, const std::string& value) {
  if (MHD_add_response_header(reply, name.c_str(), value.c_str()) != MHD_YES) {
    log_error("leaving out response header {}: not a header", name);
  }
}

// libmicrohttpd sets its connection as the session's pointer.
int give_certificate(gnutls_session_t session, const gnutls_cert_retr_st* /*info*/, gnutls_pcert_st** chain,
                     unsigned* count, gnutls_ocsp_data_st** /*ocsp*/, unsigned* /*ocsp_count*/,
                     gnutls_privkey_t* key, unsigned* /*flags*/) noexcept {
  auto* const connection = static_cast<MHD_Connection*>(gnutls_session_get_ptr(session));
  const Kept* const kept = connection == nullptr ? nullptr : kept_of(connection);
  return kept == nullptr || kept->certificate == nullptr ? -1 : kept->certificate->give(chain, count, key);
}

}  // namespace

Request read_head(MHD_Connection* connection, const char* url, const char* method, bool with_certificates) {
  Request request;
  request.method = method;
  request.path = url;
  request.query = fields_of(connection, MHD_GET_ARGUMENT_KIND);
  request.headers = fields_of(connection, MHD_HEADER_KIND);
  if (const auto* const info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS)) {
    request.peer = text_of(info->client_addr);
  }
  if (const auto* const info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)) {
    request.is_abandoned = [fd = info->connect_fd] { return has_gone(fd); };
  }
  if (with_certificates) {
    request.certified_name = certified_name_of(connection);
  }
  return request;
}

bool send_response(MHD_Connection* connection, Response response, bool closes) {
  MHD_Response* const reply = response.file && response.file->bytes > 0
                                  ? reply_of_file(*response.file)
                                  : reply_of_body(std::move(response.body));
  if (reply == nullptr) {
    return false;
  }
  if (!response.content_type.empty()) {
    add_header(reply, MHD_HTTP_HEADER_CONTENT_TYPE, response.content_type);
  }
  for (const auto& [name, value] : response.headers) {
    add_header(reply, name, value);
  }
  if (closes) {
    add_header(reply, MHD_HTTP_HEADER_CONNECTION, "close");
  }
  const MHD_Result queued = MHD_queue_response(connection, response.status, reply);
  MHD_destroy_response(reply);
  return queued == MHD_YES;
}

void keep_with_connection(MHD_Connection* connection, void** kept, bool has_begun, ConnectionWatch& watch,
                          const ServedCertificate& certificate) noexcept {
  if (!has_begun) {
    const std::unique_ptr<Kept> ended(static_cast<Kept*>(std::exchange(*kept, nullptr)));
    if (const auto handle = ended ? ended->watched : std::nullopt) {
      watch.end(*handle);
    }
    return;
  }
  auto* const begun = new (std::nothrow) Kept;
  *kept = begun;
  if (begun != nullptr) {
    begun->certificate = &certificate;
  }
  const auto* const info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  if (begun == nullptr || info == nullptr) {
    return;
  }
  try {
    begun->watched = watch.begin(info->connect_fd);
  } catch (const std::bad_alloc&) {
    begun->watched.reset();  // nobody watches it
  }
}

void* certificate_function() {
  return reinterpret_cast<void*>(&give_certificate);
}

std::optional<ConnectionWatch::Handle> watched(MHD_Connection* connection) {
  const Kept* const kept = kept_of(connection);
  return kept == nullptr ? std::nullopt : kept->watched;
}

}  // namespace plimsoll::http
