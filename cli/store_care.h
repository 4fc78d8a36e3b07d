// `plimsoll store check`, `backup`, `restore` and `repair`: the care of a data directory.
#pragma once

#include <string>

#include "base/result.h"

namespace plimsoll::cli {

struct StoreCheckOptions {
  std::string data_dir;
  bool is_json = false;
};

// Prints what was found, and how much was looked at; on standard error, where that is a terminal, how far it is. Fails where something is
// damaged.
Status run_store_check(const StoreCheckOptions& options);

struct StoreBackupOptions {
  std::string data_dir;
  std::string output;
};

Status run_store_backup(const StoreBackupOptions& options);

struct StoreRestoreOptions {
  // A backup, or the address of an object store (objects::StoreAddress), with what follows data_dir.
  std::string backup;
  std::string data_dir;
  std::string endpoint = {};
  std::string region = "us-east-1";
  std::string credentials_file = {};
  std::string ca = {};
};

Status run_store_restore(const StoreRestoreOptions& options);

struct StoreRepairOptions {
  std::string data_dir;
  std::string forgotten;  // empty: nothing is given up
  std::string rebuilt;    // empty: nothing is rebuilt
};

Status run_store_repair(const StoreRepairOptions& options);

}  // namespace plimsoll::cli
