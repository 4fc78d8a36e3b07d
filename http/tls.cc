#include "http/tls.h"

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>

#include <array>
#include <memory>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/file_modes.h"
#include "base/log.h"
#include "base/printable.h"
#include "base/time.h"

namespace plimsoll::http {
namespace {

// A chain of certificates, or the authorities of a large company.
constexpr size_t kMaxPemBytes = size_t{1} << 20;

// Tags of ASN.1 whose bytes are text as we know it.
constexpr unsigned long kUtf8String = 12;
constexpr unsigned long kPrintableString = 19;
constexpr unsigned long kIa5String = 22;

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
    return with_hint(fail(ErrorCode::kInvalid, "TLS without {}", what), "give a PEM file");
  }
  auto text = read_file(path, kMaxPemBytes);
  return text ? std::move(text) : propagate(text, "reading {}", what);
}

// GnuTLS says best whether they belong together when it takes them.
Status check(TlsTexts& texts, const TlsFiles& files) {
  gnutls_certificate_credentials_t made = nullptr;
  if (gnutls_certificate_allocate_credentials(&made) < 0) {
    return fail(ErrorCode::kExhausted, "no memory for TLS credentials");
  }
  const std::unique_ptr<gnutls_certificate_credentials_t,
                        Freeing<gnutls_certificate_credentials_t, gnutls_certificate_free_credentials>>
      credentials(made);
  const gnutls_datum_t certificate = datum_of(texts.certificate);
  const gnutls_datum_t key = datum_of(texts.key);
  if (const int code =
          gnutls_certificate_set_x509_key_mem(credentials.get(), &certificate, &key, GNUTLS_X509_FMT_PEM);
      code < 0) {
    return with_hint(fail(ErrorCode::kInvalid, "{} and {} are not a certificate and its key: {}",
                          files.certificate, files.key, gnutls_strerror(code)),
                     "both must be PEM, the key without a password");
  }
  if (texts.client_ca.empty()) {
    return {};
  }
  const gnutls_datum_t trusted = datum_of(texts.client_ca);
  const int taken = gnutls_certificate_set_x509_trust_mem(credentials.get(), &trusted, GNUTLS_X509_FMT_PEM);
  return taken > 0
             ? Status()
             : fail(ErrorCode::kInvalid, "{} has no certificate of an authority in PEM", files.client_ca);
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

using Certificate = std::unique_ptr<gnutls_x509_crt_t, Freeing<gnutls_x509_crt_t, gnutls_x509_crt_deinit>>;

Certificate parsed(const gnutls_datum_t& der) {
  gnutls_x509_crt_t made = nullptr;
  if (gnutls_x509_crt_init(&made) < 0) {
    return nullptr;
  }
  Certificate certificate(made);
  return gnutls_x509_crt_import(made, &der, GNUTLS_X509_FMT_DER) >= 0 ? std::move(certificate) : nullptr;
}

std::string_view text_of(const gnutls_datum_t& datum) {
  return {reinterpret_cast<const char*>(datum.data), datum.size};
}

// GnuTLS counts the NUL at the end of an object's identifier in some versions.
std::string_view without_end(std::string_view text) {
  return text.substr(0, text.find('\0'));
}

// GnuTLS takes a certificate that does not say what it is for as one for everything.
bool says_for_clients(gnutls_x509_crt_t certificate) {
  for (unsigned index = 0;; ++index) {
    std::array<char, 128> purpose{};
    size_t size = purpose.size();
    const int code = gnutls_x509_crt_get_key_purpose_oid(certificate, index, purpose.data(), &size, nullptr);
    if (code == 0 && std::string_view(purpose.data()) == GNUTLS_KP_TLS_WWW_CLIENT) {
      return true;
    }
    if (code < 0 && code != GNUTLS_E_SHORT_MEMORY_BUFFER) {
      return false;
    }
  }
}

bool is_authority(gnutls_x509_crt_t certificate) {
  return gnutls_x509_crt_get_ca_status(certificate, nullptr) > 0;
}

// All of them, as they are: the text that GnuTLS makes of a name has characters of it escaped.
std::vector<gnutls_x509_ava_st> common_names(gnutls_x509_dn_t subject) {
  std::vector<gnutls_x509_ava_st> names;
  gnutls_x509_ava_st part{};
  for (int set = 0; gnutls_x509_dn_get_rdn_ava(subject, set, 0, &part) == 0; ++set) {
    for (int index = 0; gnutls_x509_dn_get_rdn_ava(subject, set, index, &part) == 0; ++index) {
      if (without_end(text_of(part.oid)) == GNUTLS_OID_X520_COMMON_NAME) {
        names.push_back(part);
      }
    }
  }
  return names;
}

bool is_text(const gnutls_x509_ava_st& part) {
  const std::string_view text = text_of(part.value);
  return (part.value_tag == kUtf8String || part.value_tag == kPrintableString ||
          part.value_tag == kIa5String) &&
         printable(text) == text;
}

std::string common_name(gnutls_x509_crt_t certificate) {
  gnutls_x509_dn_t subject = nullptr;  // part of the certificate
  if (gnutls_x509_crt_get_subject(certificate, &subject) < 0) {
    return {};
  }
  const auto names = common_names(subject);
  return names.size() == 1 && is_text(names.front()) ? std::string(text_of(names.front().value))
                                                     : std::string();
}

CertifiedName no_name(std::string_view why) {
  log_warning("a client's certificate from a trusted authority {}: it is ignored", why);
  return {};
}

CertifiedName name_in(gnutls_x509_crt_t certificate) {
  if (!says_for_clients(certificate)) {
    return no_name("is not for clients (extendedKeyUsage clientAuth is missing)");
  }
  if (is_authority(certificate)) {
    return no_name("belongs to an authority");
  }
  std::string name = common_name(certificate);
  if (name.empty()) {
    return no_name("has no common name, several, or one that is not plain text");
  }
  return {std::move(name), int64_t{gnutls_x509_crt_get_expiration_time(certificate)} * kNsPerSecond};
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
  warn_if_others_may_read(files.key, "the server's key");
  TlsTexts texts{std::move(*certificate), std::move(*key), {}};
  if (!files.client_ca.empty()) {
    auto client_ca = read_pem(files.client_ca, "the authorities of clients' certificates");
    if (!client_ca) {
      return propagate(client_ca);
    }
    texts.client_ca = std::move(*client_ca);
  }
  const Status checked = check(texts, files);
  return checked ? Result<TlsTexts>(std::move(texts)) : propagate(checked);
}

CertifiedName certified_name(void* session) {
  auto* const tls = static_cast<gnutls_session_t>(session);
  unsigned count = 0;
  const gnutls_datum_t* const shown = gnutls_certificate_get_peers(tls, &count);
  if (shown == nullptr || count == 0 || !is_trusted(tls)) {
    return {};
  }
  const Certificate certificate = parsed(*shown);
  return certificate ? name_in(certificate.get()) : CertifiedName();
}

}  // namespace plimsoll::http
