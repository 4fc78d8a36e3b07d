#include "symbolizer/process/spawn.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "base/spawn_settings.h"
#include "symbolizer/process/confinement.h"

namespace plimsoll::symbolizer {
namespace {

constexpr int kFirstFreeDescriptor = 10;

}  // namespace

Result<UniqueFd> out_of_the_way(UniqueFd fd) {
  UniqueFd moved(::fcntl(fd.get(), F_DUPFD_CLOEXEC, kFirstFreeDescriptor));
  return moved.valid() ? Result<UniqueFd>(std::move(moved)) : fail_errno(errno, "duplicating a descriptor");
}

Result<pid_t> spawn(const std::vector<std::string>& argv, std::span<const FileAt> files) {
  SpawnSettings settings;
  settings.set_default(SIGPIPE);
  settings.open(STDOUT_FILENO, "/dev/null", O_WRONLY);
  for (const FileAt& file : files) {
    settings.duplicate(file.fd, file.number);
  }
  // What a library says when it gives up is not for our users; what a sanitizer says is for us.
  if (!kIsSanitized) {
    settings.open(STDERR_FILENO, "/dev/null", O_WRONLY);
  }
  return settings.start(argv, false);
}

}  // namespace plimsoll::symbolizer
