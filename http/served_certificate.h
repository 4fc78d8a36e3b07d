// The certificate that a listener shows, which may be renewed while it runs.
#pragma once

#include <gnutls/abstract.h>

#include <memory>
#include <mutex>
#include <vector>

#include "base/result.h"
#include "http/tls.h"

namespace plimsoll::http {

// Any thread may call. Keeps what it was given before until it ends, since handshakes that are under way borrow it: some kilobytes each
// time.
class ServedCertificate {
 public:
  ServedCertificate();
  ServedCertificate(const ServedCertificate&) = delete;
  ServedCertificate& operator=(const ServedCertificate&) = delete;
  ~ServedCertificate();

  // From now on connections are shown this one. kInvalid where they are not a certificate and its key.
  Status set(TlsTexts texts);

  // For gnutls_certificate_set_retrieve_function3(): 0, and all three are set; borrowed until this ends.
  int give(gnutls_pcert_st** certificates, unsigned* count, gnutls_privkey_t* key) const;

 private:
  struct Generation;
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Generation>> generations_;  // guarded by mutex_; the newest last
};

}  // namespace plimsoll::http
