// The flags of `plimsoll store`.
#pragma once

#include "base/result.h"
#include "cli/store_care.h"
#include "cli/store_compact.h"
#include "cli/store_copy.h"
#include "cli/store_rollup.h"
#include "cli/store_status.h"

namespace CLI {
class App;
}

namespace plimsoll::cli {

struct StoreOptions {
  StoreCompactOptions compact;
  StoreRollupOptions rollup;
  StoreStatusOptions status;
  StoreCheckOptions check;
  StoreBackupOptions backup;
  StoreRestoreOptions restore;
  StoreRepairOptions repair;
  StoreCopyOptions copy;
};

void add_store_command(CLI::App& app, StoreOptions& options);

// The subcommand that was given.
Status run_store_command(const CLI::App& app, const StoreOptions& options);

}  // namespace plimsoll::cli
