#include "bench/fleet/tls_session.h"

#include <gnutls/gnutls.h>

#include <cerrno>

namespace plimsoll::bench {
namespace {

gnutls_session_t session_of(void* session) {
  return static_cast<gnutls_session_t>(session);
}

// -1, and errno as a system call would have it.
ssize_t failed(ssize_t code) {
  const bool waits = code == GNUTLS_E_AGAIN || code == GNUTLS_E_INTERRUPTED;
  errno = waits ? EAGAIN : code == GNUTLS_E_PREMATURE_TERMINATION ? ECONNRESET : EPROTO;
  return -1;
}

}  // namespace

Result<std::shared_ptr<TlsTrust>> TlsTrust::load(const std::string& path) {
  std::shared_ptr<TlsTrust> trust(new TlsTrust);
  gnutls_certificate_credentials_t credentials = nullptr;
  if (gnutls_certificate_allocate_credentials(&credentials) < 0) {
    return fail(ErrorCode::kIo, "no memory for credentials of TLS");
  }
  trust->credentials_ = credentials;
  if (const int taken =
          gnutls_certificate_set_x509_trust_file(credentials, path.c_str(), GNUTLS_X509_FMT_PEM);
      taken <= 0) {
    return fail(ErrorCode::kInvalid, "{} holds no certificate", path);
  }
  return trust;
}

TlsTrust::~TlsTrust() {
  gnutls_certificate_free_credentials(static_cast<gnutls_certificate_credentials_t>(credentials_));
}

void TlsSession::Free::operator()(void* session) const {
  gnutls_deinit(session_of(session));
}

Result<TlsSession> TlsSession::create(std::shared_ptr<TlsTrust> trust, int fd) {
  gnutls_session_t session = nullptr;
  if (gnutls_init(&session, GNUTLS_CLIENT | GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL) < 0) {
    return fail(ErrorCode::kIo, "no memory for a session of TLS");
  }
  void* const credentials = trust->credentials_;
  TlsSession made(std::move(trust), session);
  gnutls_transport_set_int(session, fd);
  if (gnutls_set_default_priority(session) < 0 ||
      gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, credentials) < 0) {
    return fail(ErrorCode::kIo, "preparing a session of TLS");
  }
  gnutls_session_set_verify_cert(session, "127.0.0.1", 0);
  return made;
}

bool TlsSession::shake_hands() {
  if (!has_shaken_hands_) {
    const int code = gnutls_handshake(session_of(session_.get()));
    if (code < 0) {
      failed(gnutls_error_is_fatal(code) != 0 ? code : GNUTLS_E_AGAIN);
      return false;
    }
    has_shaken_hands_ = true;
  }
  return true;
}

ssize_t TlsSession::send(std::string_view bytes) {
  if (!shake_hands()) {
    return -1;
  }
  const ssize_t sent = gnutls_record_send(session_of(session_.get()), bytes.data(), bytes.size());
  return sent >= 0 ? sent : failed(sent);
}

ssize_t TlsSession::receive(std::span<char> buffer) {
  if (!shake_hands()) {
    return -1;
  }
  const ssize_t received = gnutls_record_recv(session_of(session_.get()), buffer.data(), buffer.size());
  return received >= 0 ? received : failed(received);
}

}  // namespace plimsoll::bench
