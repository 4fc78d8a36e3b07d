#include "daemon/credentials.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "base/durable_file.h"
#include "http/token.h"

namespace plimsoll {
namespace {

// Somebody else's folder, or one that others may look into, was there before the daemon: so may its token have been.
Status check_private(const std::string& path) {
  struct stat found{};
  if (::lstat(path.c_str(), &found) != 0) {
    return fail_errno(errno, "checking the folder {}", path);
  }
  const bool is_private = S_ISDIR(found.st_mode) && found.st_uid == ::geteuid() && (found.st_mode & 077) == 0;
  return is_private ? Status()
                    : with_hint(fail(ErrorCode::kDenied, "{} is accessible to other users", path),
                                "remove it: the daemon creates a new token. Or, if the token cannot have "
                                "been read, chown it to the daemon's user and chmod it to 0700");
}

// A folder for nobody else: the file that is made in it need not be.
Status make_private_folder(const std::string& path) {
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
  return ::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST
             ? check_private(path)
             : with_hint(fail_errno(errno, "creating the folder {}", path),
                         "set daemon.state_dir to a folder of this daemon");
}

Result<std::string> kept_token(const std::string& state_dir) {
  const std::string folder = state_dir + "/enrolment";
  const std::string path = folder + "/token";
  if (auto made = make_private_folder(folder); !made) {
    return propagate(made);
  }
  auto kept = http::read_token(path);
  if (kept || kept.error().code != ErrorCode::kNotFound) {
    return kept;
  }
  std::string token = http::make_token();
  const auto written = write_file_durably(path, as_bytes(token + "\n"));
  return written ? Result<std::string>(std::move(token)) : propagate(written, "storing this machine's token");
}

}  // namespace

Result<DaemonCredentials> daemon_credentials(const config::DaemonConfig& config) {
  DaemonCredentials credentials;
  credentials.own = {.ca = config.server_ca, .certificate = config.certificate, .key = config.key};
  if (config.enrolment_file.empty()) {
    return credentials;
  }
  auto own = kept_token(config.state_dir);
  if (!own) {
    return propagate(own);
  }
  credentials.own.token = *std::move(own);
  auto enrolment = http::read_token(config.enrolment_file);
  if (enrolment) {
    credentials.enrolment = *std::move(enrolment);
  } else if (enrolment.error().code != ErrorCode::kNotFound) {
    return with_field(propagate(enrolment), "daemon.enrolment_file");
  }
  return credentials;
}

}  // namespace plimsoll
