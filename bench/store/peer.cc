#include "bench/store/peer.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <filesystem>

#include "bench/harness/child.h"

namespace plimsoll::bench {
namespace {

// In the child, after fork: only what may be called there.
[[noreturn]] void become_node(const char* script, const char* packages, const char* folder, int socket,
                              pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() == parent && ::dup2(socket, STDIN_FILENO) >= 0 && ::dup2(socket, STDOUT_FILENO) >= 0) {
    ::execlp("node", "node", script, packages, folder, nullptr);
  }
  ::_exit(127);
}

Status send_all(int socket, std::string_view text) {
  while (!text.empty()) {
    const ssize_t sent = ::send(socket, text.data(), text.size(), MSG_NOSIGNAL);
    if (sent < 0) {
      return fail_errno(errno, "sending a command");
    }
    text.remove_prefix(static_cast<size_t>(sent));
  }
  return {};
}

}  // namespace

Result<Peer> Peer::start(const std::string& name, const std::string& folder) {
  const std::string packages = sibling_program("../bench-packages");
  if (!std::filesystem::exists(packages + "/node_modules")) {
    return with_hint(fail(ErrorCode::kNotFound, "{} is missing: there is no {}/node_modules", name, packages),
                     "scripts/install.sh --bench fetches DuckDB and ClickHouse with npm");
  }
  std::array<int, 2> sockets{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()) != 0) {
    return fail_errno(errno, "making a socket");
  }
  UniqueFd ours(sockets[0]);
  const UniqueFd theirs(sockets[1]);
  const std::string script = fmt::format("{}/{}.mjs", PLIMSOLL_PEER_SCRIPTS, name);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) {
    return fail_errno(errno, "starting {}", name);
  }
  if (pid == 0) {
    become_node(script.c_str(), packages.c_str(), folder.c_str(), theirs.get(), parent);
  }
  Peer peer(name, pid, std::move(ours));
  const auto version = peer.ask("version");
  if (!version) {
    return with_hint(propagate(version, "starting {}", name),
                     "scripts/install.sh --bench fetches it with npm");
  }
  peer.name_ = fmt::format("{} {}", name, *version);
  return peer;
}

Peer::~Peer() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
}

Result<std::string> Peer::read_line() {
  std::array<char, 4096> buffer{};
  while (read_.find('\n') == std::string::npos) {
    const ssize_t count = ::read(socket_.get(), buffer.data(), buffer.size());
    if (count <= 0) {
      return fail(ErrorCode::kIo, "{} has ended", name_);
    }
    read_.append(buffer.data(), static_cast<size_t>(count));
  }
  const size_t end = read_.find('\n');
  std::string line = read_.substr(0, end);
  read_.erase(0, end + 1);
  return line;
}

Result<std::string> Peer::ask(const std::string& command) {
  if (const Status sent = send_all(socket_.get(), command + "\n"); !sent) {
    return propagate(sent, "{}", name_);
  }
  auto line = read_line();
  if (line && line->starts_with("error ")) {
    return fail(ErrorCode::kInvalid, "{}: {}: {}", name_, command, line->substr(6));
  }
  return line;
}

Result<double> Peer::ask_number(const std::string& command) {
  const auto line = ask(command);
  if (!line) {
    return propagate(line);
  }
  double number = 0;
  const auto [end, error] = std::from_chars(line->data(), line->data() + line->size(), number);
  return error == std::errc() ? Result<double>(number)
                              : fail(ErrorCode::kInvalid, "{}: {} gave \"{}\"", name_, command, *line);
}

}  // namespace plimsoll::bench
