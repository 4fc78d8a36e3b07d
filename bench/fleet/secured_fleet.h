// What a server and simulated daemons need to speak TLS and to know each other.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "bench/fleet/tls_session.h"
#include "bench/harness/scratch_folder.h"

namespace plimsoll::bench {

// Every daemon enrols with the same token, and has one of its own from then on, as real ones do.
class SecuredFleet {
 public:
  // Makes a certificate, with openssl's command line.
  static Result<SecuredFleet> make();

  // For the server's configuration: [server] is open when it begins, as in ServerUnderTest::start().
  std::string settings() const;
  const std::shared_ptr<TlsTrust>& trust() const { return trust_; }
  // Lines of the head of a request of that daemon, "NAME: VALUE\r\n" each.
  std::string headers(uint32_t daemon, std::string_view method_and_path) const;

 private:
  SecuredFleet(ScratchFolder folder, std::shared_ptr<TlsTrust> trust)
      : folder_(std::move(folder)), trust_(std::move(trust)) {}

  ScratchFolder folder_;
  std::shared_ptr<TlsTrust> trust_;
};

}  // namespace plimsoll::bench
