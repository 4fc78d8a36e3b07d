// By what the daemon knows its server, and what it shows of itself.
#pragma once

#include <string>

#include "base/result.h"
#include "config/daemon_config.h"
#include "http/client.h"

namespace plimsoll {

struct DaemonCredentials {
  http::Credentials own;
  std::string
      enrolment;  // a token that permits the machine to make its own known; empty: none, as far as is known
};

// Where the configuration names a token to enrol with, the machine has one of its own: made when it is first asked for, kept in
// state_dir, readable by the daemon alone (kDenied where others may look into its folder), the same for as long as that folder is. The token to enrol with may be gone once
// the machine has.
Result<DaemonCredentials> daemon_credentials(const config::DaemonConfig& config);

}  // namespace plimsoll
