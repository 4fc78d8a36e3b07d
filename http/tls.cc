#include "http/tls.h"

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>

#include <array>
#include <memory>

#include "base/file.h"

namespace plimsoll::http {
namespace {

// A chain of certificates, or the authorities of a large company.
constexpr size_t kMaxPemBytes = size_t{1} << 20;

template <typename Handle, auto kFree>
struct Freeing {
  using pointer = Handle;
  void operator()(Handle handle) const { kFree(handle); }
};

gnutls_datum_t datum_of(std::string& text) {
  return {reinterpret_cast<unsigned char*>(text.data()), static_cast<unsigned>(text.size())};
}

Result<std::string> read_pem(const std::string& path, std::string_view what) {
  if (path.empty()) {
    return with_hint(fail(ErrorCode::kInvalid, "TLS without {}", what), "name its file, in PEM");
  }
  auto text = read_file(path, kMaxPemBytes);
  return text ? std::move(text) : propagate(text, "reading {}", what);
}

// GnuTLS says best whether they belong together when it takes them.
Status check(TlsTexts& texts, const TlsFiles& files) {
  gnutls_certificate_credentials_t made = nullptr;
  if (gnutls_certificate_allocate_credentials(&made) < 0) {
    return fail(ErrorCode::kIo, "no memory for credentials of TLS");
  }
  const std::unique_ptr<gnutls_certificate_credentials_t,
                        Freeing<gnutls_certificate_credentials_t, gnutls_certificate_free_credentials>>
      credentials(made);
  const gnutls_datum_t certificate = datum_of(texts.certificate);
  const gnutls_datum_t key = datum_of(texts.key);
  if (const int code =
          gnutls_certificate_set_x509_key_mem(credentials.get(), &certificate, &key, GNUTLS_X509_FMT_PEM);
      code < 0) {
    return with_hint(fail(ErrorCode::kInvalid, "{} and {} are no certificate and its key: {}",
                          files.certificate, files.key, gnutls_strerror(code)),
                     "both are to be in PEM, and the key without a password");
  }
  if (texts.client_ca.empty()) {
    return {};
  }
  const gnutls_datum_t trusted = datum_of(texts.client_ca);
  const int taken = gnutls_certificate_set_x509_trust_mem(credentials.get(), &trusted, GNUTLS_X509_FMT_PEM);
  return taken > 0
             ? Status()
             : fail(ErrorCode::kInvalid, "{} holds no certificate of an authority, in PEM", files.client_ca);
}

bool is_trusted(gnutls_session_t session) {
  std::string purpose = GNUTLS_KP_TLS_WWW_CLIENT;
  gnutls_typed_vdata_st for_clients{GNUTLS_DT_KEY_PURPOSE_OID,
                                    reinterpret_cast<unsigned char*>(purpose.data()),
                                    static_cast<unsigned>(purpose.size())};
  unsigned problems = 0;
  return gnutls_certificate_verify_peers(session, &for_clients, 1, &problems) == GNUTLS_E_SUCCESS &&
         problems == 0;
}

std::string common_name(const gnutls_datum_t& der) {
  gnutls_x509_crt_t made = nullptr;
  if (gnutls_x509_crt_init(&made) < 0) {
    return {};
  }
  const std::unique_ptr<gnutls_x509_crt_t, Freeing<gnutls_x509_crt_t, gnutls_x509_crt_deinit>> certificate(
      made);
  std::array<char, 256> name{};
  size_t size = name.size();
  const bool is_read = gnutls_x509_crt_import(certificate.get(), &der, GNUTLS_X509_FMT_DER) >= 0 &&
                       gnutls_x509_crt_get_dn_by_oid(certificate.get(), GNUTLS_OID_X520_COMMON_NAME, 0, 0,
                                                     name.data(), &size) >= 0;
  return is_read ? std::string(name.data(), size) : std::string();
}

}  // namespace

Result<TlsTexts> load_tls(const TlsFiles& files) {
  auto certificate = read_pem(files.certificate, "the server's certificate");
  if (!certificate) {
    return propagate(certificate);
  }
  auto key = read_pem(files.key, "the server's key");
  if (!key) {
    return propagate(key);
  }
  TlsTexts texts{std::move(*certificate), std::move(*key), {}};
  if (!files.client_ca.empty()) {
    auto client_ca = read_pem(files.client_ca, "who signs clients' certificates");
    if (!client_ca) {
      return propagate(client_ca);
    }
    texts.client_ca = std::move(*client_ca);
  }
  const Status checked = check(texts, files);
  return checked ? Result<TlsTexts>(std::move(texts)) : propagate(checked);
}

std::string certified_name(void* session) {
  auto* const tls = static_cast<gnutls_session_t>(session);
  unsigned count = 0;
  const gnutls_datum_t* const shown = gnutls_certificate_get_peers(tls, &count);
  return shown != nullptr && count > 0 && is_trusted(tls) ? common_name(*shown) : std::string();
}

}  // namespace plimsoll::http
