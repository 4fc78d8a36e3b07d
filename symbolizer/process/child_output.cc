#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "symbolizer/process/child.h"
#include "symbolizer/process/messages.h"

namespace plimsoll::symbolizer {

Status write_all(int fd, std::string_view content, const char* what) {
  while (!content.empty()) {
    const ssize_t written = ::write(fd, content.data(), content.size());
    if (written < 0 && errno != EINTR) {
      return fail_errno(errno, "writing {}", what);
    }
    content.remove_prefix(static_cast<size_t>(std::max<ssize_t>(written, 0)));
  }
  return {};
}

Status say(const wire::TableEvent& event) {
  return write_all(STDOUT_FILENO, framed(event), "the reply");
}

Status say_error(const Error& error) {
  wire::TableEvent event;
  wire::TableError& said = *event.mutable_error();
  said.set_code(static_cast<uint32_t>(error.code));
  said.set_message(error.message);
  said.set_hint(error.hint);
  return say(event);
}

}  // namespace plimsoll::symbolizer
