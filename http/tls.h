// What a listener that speaks TLS needs, by GnuTLS, which libmicrohttpd stands on.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace plimsoll::http {

// Files in PEM. All empty: no TLS.
struct TlsFiles {
  std::string certificate = {};  // the server's, those that vouch for it after it
  std::string key = {};
  std::string client_ca = {};  // who signs clients' certificates; empty: they are not asked for any

  bool are_given() const { return !certificate.empty() || !key.empty() || !client_ca.empty(); }
};

// What they hold.
struct TlsTexts {
  std::string certificate;
  std::string key;
  std::string client_ca;
};

// kInvalid where a file is missing among them, where one is not PEM, or the key is not that of the certificate.
Result<TlsTexts> load_tls(const TlsFiles& files);

// The name in a certificate, and its expiry.
struct CertifiedName {
  std::string name = {};  // empty: none
  int64_t until_ns = 0;   // by the wall clock

  std::string at(int64_t now_ns) const { return now_ns <= until_ns ? name : std::string(); }
};

// The common name in the certificate that the client has shown, if a trusted authority has signed it, it is valid today, says
// that it is for clients, and is no authority's own; one that has no common name, several, or one with control characters, gives none.
// Checks signatures: once a connection. `session` is a gnutls_session_t.
CertifiedName certified_name(void* session);

}  // namespace plimsoll::http
