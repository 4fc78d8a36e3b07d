// Giving up at start what plimsolld does not need: capabilities, another user's identity, system calls.
#pragma once

#include <string>

#include "base/result.h"

namespace plimsoll {

struct ConfinementOptions {
  std::string user;  // to become, by name or number; empty: stay who we are
  bool filter_system_calls = true;
};

// For good, and in this order: limits of resources; the user; all capabilities but the four (capabilities.h); nothing may be
// gained by exec (PR_SET_NO_NEW_PRIVS); no other user may look into this process (PR_SET_DUMPABLE); the filter of system calls.
// Call once, in main(), before any thread is made and before anything untrusted is read. A missing capability is no failure:
// what cannot be done without it says so when it is tried.
//
// Root stays user 0 unless `user` says otherwise, but without CAP_DAC_OVERRIDE: it writes where files and folders of root
// may be written by their modes, and nowhere else.
Status confine(const ConfinementOptions& options);

}  // namespace plimsoll
