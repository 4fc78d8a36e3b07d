// `plimsoll config`: what a server or a daemon would read here, and whether it would work.
#pragma once

#include <string>

#include "base/result.h"
#include "query/table/table.h"

namespace plimsoll::cli {

struct ConfigOptions {
  std::string path;             // of the configuration file; empty: none
  bool is_daemon = false;       // plimsolld's; else the server's
  std::string role = "server";  // that a check is for, as ServerOptions has it
  query::TableForm form = query::TableForm::kText;
};

// Prints every key with its value and where it came from: default, file and line, or environment variable.
Status show_config(const ConfigOptions& options);

// Prints what is wrong, and what would surprise. Fails where something is wrong.
Status check_config(const ConfigOptions& options);

}  // namespace plimsoll::cli
