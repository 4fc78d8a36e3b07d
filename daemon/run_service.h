// `plimsolld --server ADDR` or `--config FILE`: the daemon for good, with its signals and its service manager.
#pragma once

#include "base/result.h"
#include "config/daemon_config.h"
#include "config/settings.h"

namespace plimsoll {

// Until SIGTERM or SIGINT: then the running window ends, and what is queued is sent if the server answers. `config` is what
// `inputs` gave; SIGHUP reads them again. A new configuration begins with a new agent in the same process: the running
// window ends early and its profile is queued, so that every profile was taken under one configuration and none is lost. One that
// is wrong, or changes what cannot change while the daemon runs, is refused as a whole: the daemon goes on as it was, and the
// log and the heartbeats say why. Call from main(), before any thread, when confined (confine()).
Status run_service(config::DaemonConfig config, const config::LoadInputs& inputs);

// Whether a running daemon can go over from one to the other; the error names the first key that forbids it.
Status check_reload(const config::DaemonConfig& current, const config::DaemonConfig& next);

}  // namespace plimsoll
