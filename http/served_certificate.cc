#include "http/served_certificate.h"

#include <gnutls/gnutls.h>

#include <array>

namespace plimsoll::http {
namespace {

constexpr unsigned kMaxInChain = 16;

gnutls_datum_t pem_of(std::string& text) {
  return {reinterpret_cast<unsigned char*>(text.data()), static_cast<unsigned>(text.size())};
}

}  // namespace

struct ServedCertificate::Generation {
  Generation() = default;
  Generation(const Generation&) = delete;
  Generation& operator=(const Generation&) = delete;
  ~Generation() {
    for (unsigned i = 0; i < count; ++i) {
      gnutls_pcert_deinit(&chain[i]);
    }
    if (key != nullptr) {
      gnutls_privkey_deinit(key);
    }
  }

  // GnuTLS's code.
  int read(TlsTexts& texts) {
    unsigned room = kMaxInChain;
    const gnutls_datum_t certificate = pem_of(texts.certificate);
    int code = gnutls_pcert_list_import_x509_raw(chain.data(), &room, &certificate, GNUTLS_X509_FMT_PEM, 0);
    if (code < 0) {
      return code;
    }
    count = room;
    code = gnutls_privkey_init(&key);
    const gnutls_datum_t secret = pem_of(texts.key);
    return code < 0 ? code : gnutls_privkey_import_x509_raw(key, &secret, GNUTLS_X509_FMT_PEM, nullptr, 0);
  }

  std::array<gnutls_pcert_st, kMaxInChain> chain{};
  unsigned count = 0;
  gnutls_privkey_t key = nullptr;
};

ServedCertificate::ServedCertificate() = default;
ServedCertificate::~ServedCertificate() = default;

Status ServedCertificate::set(TlsTexts texts) {
  auto generation = std::make_unique<Generation>();
  if (const int code = generation->read(texts); code < 0) {
    return fail(ErrorCode::kInvalid, "reading the server's certificate and its key: {}",
                gnutls_strerror(code));
  }
  const std::lock_guard lock(mutex_);
  generations_.push_back(std::move(generation));
  return {};
}

int ServedCertificate::give(gnutls_pcert_st** certificates, unsigned* count, gnutls_privkey_t* key) const {
  const std::lock_guard lock(mutex_);
  if (generations_.empty()) {
    return -1;
  }
  Generation& newest = *generations_.back();
  *certificates = newest.chain.data();
  *count = newest.count;
  *key = newest.key;
  return 0;
}

}  // namespace plimsoll::http
