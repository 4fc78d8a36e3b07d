// The configuration file of the command line: the server that a user asks, so that it need not be named each time.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/views/answer_source.h"
#include "config/settings.h"

namespace plimsoll::cli {

struct UserConfig {
  std::string server;
  std::string token_file;
  std::string server_ca;

  std::vector<config::Key> keys();
};

// plimsoll/config.toml in XDG_CONFIG_HOME, where that is an absolute path, else in ~/.config (XDG Base Directory Specification);
// empty where neither is known.
std::string user_config_path();

// The file at `path`; paths in it are absolute, relative to its folder, or begin with "~/". Nothing is configured where there is
// no such file. kInvalid where it is no TOML, has an unknown key (the hint is the nearest one), or may be written by other
// users, who could have tokens sent to a server of their own; kDenied where other users may read the token file.
Result<UserConfig> load_user_config(const std::string& path);

// Completes what flags left open of a source that is a server: from PLIMSOLL_SERVER, then from the user's configuration file.
// The file's token is not read where PLIMSOLL_TOKEN is set. Does nothing where the source is a data directory.
Status complete_source(AnswerSource& source);

}  // namespace plimsoll::cli
