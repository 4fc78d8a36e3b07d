#include "symbolizer/process/zygote.h"

#include <linux/sched.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>
#include <utility>

#include "symbolizer/process/child.h"
#include "symbolizer/process/spawn.h"

namespace plimsoll::symbolizer {
namespace {

using Descriptors = std::array<int, 3>;  // request, said, table

// A message of one byte, with room for the descriptors that go with it. Not movable: it points into itself.
class DescriptorMessage {
 public:
  DescriptorMessage() {
    header_.msg_iov = &content_;
    header_.msg_iovlen = 1;
    header_.msg_control = control_.data();
    header_.msg_controllen = control_.size();
  }
  DescriptorMessage(const DescriptorMessage&) = delete;
  DescriptorMessage& operator=(const DescriptorMessage&) = delete;

  void put(const Descriptors& descriptors) {
    cmsghdr* const control = CMSG_FIRSTHDR(&header_);
    control->cmsg_level = SOL_SOCKET;
    control->cmsg_type = SCM_RIGHTS;
    control->cmsg_len = CMSG_LEN(sizeof(descriptors));
    std::memcpy(CMSG_DATA(control), descriptors.data(), sizeof(descriptors));
  }

  std::optional<Descriptors> descriptors() {
    const cmsghdr* const control = CMSG_FIRSTHDR(&header_);
    Descriptors descriptors{};
    if (control == nullptr || control->cmsg_type != SCM_RIGHTS ||
        control->cmsg_len != CMSG_LEN(sizeof(descriptors))) {
      return std::nullopt;
    }
    std::memcpy(descriptors.data(), CMSG_DATA(control), sizeof(descriptors));
    return descriptors;
  }

  msghdr* header() { return &header_; }

 private:
  char byte_ = 0;
  iovec content_{&byte_, 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(Descriptors))> control_{};
  msghdr header_{};
};

// Nothing at the end.
Result<std::optional<Descriptors>> take_descriptors() {
  DescriptorMessage message;
  const ssize_t got = ::recvmsg(STDIN_FILENO, message.header(), MSG_CMSG_CLOEXEC);
  if (got == 0) {
    return std::nullopt;
  }
  const auto descriptors = got < 0 ? std::nullopt : message.descriptors();
  return descriptors ? Result<std::optional<Descriptors>>(descriptors)
                     : with_hint(fail(ErrorCode::kInvalid, "standard input holds no descriptors"),
                                 "this command is for plimsoll itself");
}

// As a child of our parent, which waits for it and learns how it ended. fork() knows no such thing; what it does besides is for threads
// and for handlers of which there are none.
pid_t clone_as_sibling() {
  return static_cast<pid_t>(::syscall(SYS_clone, CLONE_PARENT | SIGCHLD, nullptr, nullptr, nullptr, nullptr));
}

[[noreturn]] void become_child(const Descriptors& descriptors) {
  const auto& [request, said, table] = descriptors;
  // None of the three was 0 to 2, so that none is closed before it is duplicated, if kTableDescriptor comes last.
  const bool are_in_place = ::dup2(request, STDIN_FILENO) >= 0 && ::dup2(said, STDOUT_FILENO) >= 0 &&
                            ::dup2(table, kTableDescriptor) >= 0 &&
                            ::close_range(kTableDescriptor + 1, ~0U, 0) == 0;
  ::_exit(are_in_place && run_table_child() ? 0 : 1);
}

}  // namespace

Result<Zygote> Zygote::start(const std::vector<std::string>& argv) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return fail_errno(errno, "making a socket");
  }
  UniqueFd ours(ends[0]);
  auto theirs = out_of_the_way(UniqueFd(ends[1]));
  if (!theirs) {
    return propagate(theirs);
  }
  const auto pid = spawn(argv, std::array{FileAt{theirs->get(), STDIN_FILENO}});
  return pid ? Result<Zygote>(Zygote(*pid, std::move(ours))) : propagate(pid);
}

Zygote::Zygote(Zygote&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), socket_(std::move(other.socket_)), children_(other.children_) {}

Zygote::~Zygote() {
  if (pid_ > 0) {
    socket_ = UniqueFd();  // which it takes for the end
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
}

Result<pid_t> Zygote::make_child(const ChildDescriptors& descriptors) {
  DescriptorMessage message;
  message.put({descriptors.request.get(), descriptors.said.get(), descriptors.table.get()});
  pid_t child = -1;
  // Whoever calls holds a lock meanwhile: the answer belongs to this request, and takes as long as a clone().
  if (::sendmsg(socket_.get(), message.header(), MSG_NOSIGNAL) != 1 ||
      // NOLINTNEXTLINE(clang-analyzer-unix.BlockInCriticalSection)
      ::recv(socket_.get(), &child, sizeof(child), 0) != sizeof(child)) {
    return fail(ErrorCode::kUnavailable, "the process that makes those that parse is gone");
  }
  if (child < 0) {
    return fail_errno(-child, "making a process");
  }
  ++children_;
  return child;
}

Status run_zygote() {
  while (true) {
    const auto taken = take_descriptors();
    if (!taken) {
      return propagate(taken);
    }
    const std::optional<Descriptors>& descriptors = *taken;
    if (!descriptors) {
      return {};  // the end
    }
    const pid_t child = clone_as_sibling();
    if (child == 0) {
      become_child(*descriptors);
    }
    const pid_t answer = child < 0 ? -errno : child;
    for (const int descriptor : *descriptors) {
      ::close(descriptor);
    }
    if (::send(STDIN_FILENO, &answer, sizeof(answer), MSG_NOSIGNAL) != sizeof(answer)) {
      return {};  // nobody is there any more
    }
  }
}

}  // namespace plimsoll::symbolizer
