#include "daemon/scrape/unix_sockets.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <system_error>
#include <utility>

namespace plimsoll::scrape {
namespace {

constexpr uint32_t kListeningFlag = 1U << 16U;  // __SO_ACCEPTCON of the kernel's net.h
constexpr std::string_view kStream = "0001";    // SOCK_STREAM
constexpr const char* kPermissionHint =
    "permit the daemon's user to reach the socket and to write to it (docs/application-profiles.md), or run "
    "the daemon as the application's user";

// The next part of the line that is not empty.
std::string_view take_field(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  const std::string_view field = line.substr(0, line.find(' '));
  line.remove_prefix(field.size());
  return field;
}

template <typename T>
bool is_number(std::string_view text, int base, T& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  return error == std::errc() && end == text.data() + text.size();
}

// Num RefCount Protocol Flags Type St Inode Path
std::optional<ListeningUnixSocket> parse_unix_socket(std::string_view line) {
  std::array<std::string_view, 7> fields;
  for (std::string_view& field : fields) {
    field = take_field(line);
  }
  ListeningUnixSocket socket;
  uint32_t flags = 0;
  // One blank stands before the path, which may begin with others.
  if (!line.starts_with(" /") || fields[4] != kStream || !is_number(fields[3], 16, flags) ||
      (flags & kListeningFlag) == 0 || !is_number(fields[6], 10, socket.inode)) {
    return std::nullopt;
  }
  socket.path = line.substr(1);
  return socket;
}

std::unexpected<Error> not_found(int error_number, const std::string& path) {
  auto failure = fail_errno(error_number, "looking for the Unix socket {}", path);
  return error_number == EACCES ? with_hint(std::move(failure), kPermissionHint) : failure;
}

// The socket's file, whatever is bound to its path afterwards.
Result<UniqueFd> find_socket_file(const std::string& root, const std::string& path) {
  const UniqueFd folder(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!folder.valid()) {
    return fail_errno(errno, "looking for the Unix socket {} in {}", path, root);
  }
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  UniqueFd file(static_cast<int>(::syscall(SYS_openat2, folder.get(), path.c_str(), &how, sizeof(how))));
  struct stat status{};
  if (!file.valid() || ::fstat(file.get(), &status) != 0) {
    return not_found(errno, path);
  }
  if (!S_ISSOCK(status.st_mode)) {
    return fail(ErrorCode::kInvalid, "{} is not a Unix socket", path);
  }
  return file;
}

std::unexpected<Error> refused_connection(int error_number, const std::string& path) {
  if (error_number == EAGAIN) {
    return with_hint(
        fail(ErrorCode::kUnavailable, "connecting to the Unix socket {}: too many clients wait", path),
        "try again later; check that the application accepts connections");
  }
  if (error_number == EACCES) {
    return with_hint(fail_errno(error_number, "connecting to the Unix socket {}", path), kPermissionHint);
  }
  return with_hint(fail(ErrorCode::kUnavailable, "connecting to the Unix socket {}: {}", path,
                        std::generic_category().message(error_number)),
                   "check that the application listens there");
}

}  // namespace

std::vector<ListeningUnixSocket> parse_listening_unix_sockets(std::string_view text) {
  std::vector<ListeningUnixSocket> sockets;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    if (auto socket = parse_unix_socket(text.substr(0, end))) {
      sockets.push_back(std::move(*socket));
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return sockets;
}

Result<std::vector<ListeningUnixSocket>> listening_unix_sockets(const identity::ProcFs& proc_fs,
                                                                uint32_t pid) {
  const bool is_ours = proc_fs.other_network(pid).empty();
  const auto text = proc_fs.network_file("unix", is_ours ? std::nullopt : std::optional(pid));
  if (!text) {
    return propagate(text, "looking for Unix sockets");
  }
  return parse_listening_unix_sockets(*text);
}

Status check_unix_listener(const identity::ProcFs& proc_fs, uint32_t pid, const std::string& path) {
  const auto sockets = listening_unix_sockets(proc_fs, pid);
  if (!sockets) {
    return propagate(sockets);
  }
  // Sorted: many sockets may have been bound to one path, one after the other.
  std::vector<uint64_t> held = proc_fs.socket_inodes(pid);
  std::ranges::sort(held);
  bool is_there = false;
  for (const ListeningUnixSocket& socket : *sockets) {
    if (socket.path == path) {
      is_there = true;
      if (std::ranges::binary_search(held, socket.inode)) {
        return {};
      }
    }
  }
  if (!is_there) {
    return fail(ErrorCode::kNotFound, "no process listens on the Unix socket {}", path);
  }
  return with_hint(fail(ErrorCode::kDenied, "process {} does not listen on the Unix socket {}", pid, path),
                   "run the daemon as root, or as the application's user, where it does");
}

Result<UnixConnection> connect_to_unix_socket(const std::string& root, const std::string& path) {
  const auto file = find_socket_file(root, path);
  if (!file) {
    return propagate(file);
  }
  UnixConnection connection{UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)), 0};
  if (!connection.fd.valid()) {
    return fail_errno(errno, "connecting to the Unix socket {}", path);
  }
  // By the file that was found: paths below another process's root may be longer than an address.
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string link = fmt::format("/proc/self/fd/{}", file->get());
  std::memcpy(address.sun_path, link.c_str(), link.size() + 1);
  if (::connect(connection.fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return refused_connection(errno, path);
  }
  ucred peer{};
  socklen_t size = sizeof(peer);
  if (::getsockopt(connection.fd.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
    return fail_errno(errno, "reading which process listens on the Unix socket {}", path);
  }
  connection.peer = peer.pid > 0 ? static_cast<uint32_t>(peer.pid) : 0;
  return connection;
}

}  // namespace plimsoll::scrape
