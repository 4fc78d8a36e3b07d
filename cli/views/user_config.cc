#include "cli/views/user_config.h"

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "base/file_modes.h"

namespace plimsoll::cli {
namespace {

std::string_view variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string_view() : value;
}

bool others_may_write(const std::string& path) {
  struct stat found{};
  return ::stat(path.c_str(), &found) == 0 && (found.st_mode & (S_IWGRP | S_IWOTH)) != 0;
}

// An absolute path; an empty one stays.
std::string resolved_path(const std::string& path, const std::filesystem::path& folder) {
  if (path.empty()) {
    return path;
  }
  if (path.starts_with("~/")) {
    return std::string(variable("HOME")) + path.substr(1);
  }
  return folder / path;  // an absolute path stays as it is
}

}  // namespace

std::vector<config::Key> UserConfig::keys() {
  return {
      {"server", "Address of the server that commands ask without --server and --data.", &server},
      {"token_file", "File with your token for the server, readable by you only (chmod 600).", &token_file},
      {"server_ca", "PEM file of the authority that signs the server's certificate.", &server_ca},
  };
}

std::string user_config_path() {
  constexpr std::string_view kName = "/plimsoll/config.toml";
  const std::string_view base = variable("XDG_CONFIG_HOME");
  if (base.starts_with('/')) {
    return std::string(base) + std::string(kName);
  }
  const std::string_view home = variable("HOME");
  return home.empty() ? "" : std::string(home) + "/.config" + std::string(kName);
}

Result<UserConfig> load_user_config(const std::string& path) {
  UserConfig config;
  if (path.empty() || !std::filesystem::exists(path)) {
    return config;
  }
  if (others_may_write(path)) {
    return with_hint(
        fail(ErrorCode::kInvalid,
             "{} may be written by other users, who could redirect your token to their server", path),
        fmt::format("chmod 600 {}", path));
  }
  // Its variables differ from the keys' usual ones, and are read by complete_source().
  const auto loaded = config::load(
      config.keys(), {.path = path, .environment = [](const char*) -> const char* { return nullptr; }});
  if (!loaded) {
    return propagate(loaded, "reading the configuration of the command line");
  }
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  config.token_file = resolved_path(config.token_file, folder);
  config.server_ca = resolved_path(config.server_ca, folder);
  if (others_may_read(config.token_file)) {
    return with_hint(fail(ErrorCode::kDenied, "the token file {} in {} is readable by other users",
                          config.token_file, path),
                     fmt::format("chmod 600 {}", config.token_file));
  }
  return config;
}

Status complete_source(AnswerSource& source) {
  if (!source.data_dir.empty()) {
    return {};
  }
  if (source.server.empty()) {
    source.server = variable("PLIMSOLL_SERVER");
  }
  auto config = load_user_config(user_config_path());
  if (!config) {
    return propagate(config);
  }
  const auto complete = [](std::string& value, std::string& configured) {
    if (value.empty()) {
      value = std::move(configured);
    }
  };
  complete(source.server, config->server);
  complete(source.server_ca, config->server_ca);
  if (variable("PLIMSOLL_TOKEN").empty()) {
    complete(source.token_file, config->token_file);
  }
  return {};
}

}  // namespace plimsoll::cli
