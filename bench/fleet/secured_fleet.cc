#include "bench/fleet/secured_fleet.h"

#include <fmt/format.h>

#include <cstdlib>

#include "http/token.h"

namespace plimsoll::bench {
namespace {

constexpr std::string_view kEnrolment = "simulated-permit-to-enrol";

}  // namespace

Result<SecuredFleet> SecuredFleet::make() {
  auto folder = ScratchFolder::create();
  if (!folder) {
    return propagate(folder);
  }
  const std::string command = fmt::format(
      "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout {0}key.pem -out "
      "{0}certificate.pem -days 2 -subj /CN=server -addext subjectAltName=IP:127.0.0.1 2>/dev/null",
      *folder / "");
  if (std::system(command.c_str()) != 0) {
    return fail(ErrorCode::kIo, "making a certificate with: {}", command);
  }
  auto trust = TlsTrust::load(*folder / "certificate.pem");
  return trust ? SecuredFleet(std::move(*folder), std::move(*trust)) : Result<SecuredFleet>(propagate(trust));
}

std::string SecuredFleet::settings() const {
  return fmt::format(
      "certificate = \"{0}certificate.pem\"\nkey = \"{0}key.pem\"\n"
      "[[access.tokens]]\nname = \"simulated\"\nsha256 = \"{1}\"\nrole = \"enrol\"\n",
      folder_ / "", http::token_hash(kEnrolment));
}

std::string SecuredFleet::headers(uint32_t daemon, std::string_view method_and_path) const {
  std::string lines = fmt::format("Authorization: Bearer simulated-token-of-daemon-{}\r\n", daemon);
  if (method_and_path == "POST /fleet/v1/register") {
    lines += fmt::format("{}: {}\r\n", http::kEnrolmentHeader, kEnrolment);
  }
  return lines;
}

}  // namespace plimsoll::bench
