#include "daemon/identity/perf_map.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <numeric>
#include <optional>

#include "base/unique_fd.h"
#include "daemon/identity/safe_open.h"

namespace plimsoll::identity {
namespace {

constexpr size_t kMaxMapBytes = size_t{64} << 20;

struct Entry {
  uint64_t start;
  uint64_t last;
  std::string_view name;
};

// A hexadecimal number and the space after it, off the front of `text`.
std::optional<uint64_t> take_hex(std::string_view& text) {
  if (text.starts_with("0x")) {
    text.remove_prefix(2);
  }
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc() || end == text.data() + text.size() || *end != ' ') {
    return std::nullopt;
  }
  text.remove_prefix(static_cast<size_t>(end - text.data()) + 1);
  return value;
}

std::optional<Entry> parse_entry(std::string_view line) {
  const auto start = take_hex(line);
  const auto size = start ? take_hex(line) : std::nullopt;
  if (!size || *size == 0 || *size - 1 > UINT64_MAX - *start || line.empty()) {
    return std::nullopt;
  }
  return Entry{*start, *start + (*size - 1), line};
}

// Finds the next index without a name, skipping those that have one.
size_t next_free(std::vector<size_t>& next, size_t index) {
  size_t free = index;
  while (next[free] != free) {
    free = next[free];
  }
  while (next[index] != free) {
    index = std::exchange(next[index], free);
  }
  return free;
}

struct ProcessStatus {
  uint32_t namespace_pid = 0;  // in the process's own PID namespace
  uint32_t uid = 0;
};

// The last number of a line that starts with `name`.
std::optional<uint32_t> last_number(std::string_view status, std::string_view name) {
  const size_t at = status.starts_with(name) ? 0 : status.find("\n" + std::string(name));
  if (at == std::string_view::npos) {
    return std::nullopt;
  }
  std::string_view line = status.substr(at + (at == 0 ? 0 : 1));
  line = line.substr(0, line.find('\n'));
  const size_t begin = line.find_last_of(" \t");
  uint32_t value = 0;
  const char* const end = line.data() + line.size();
  const auto parsed =
      std::from_chars(line.data() + (begin == std::string_view::npos ? 0 : begin + 1), end, value);
  return parsed.ec == std::errc() && parsed.ptr == end ? std::optional(value) : std::nullopt;
}

Result<ProcessStatus> read_status(const ProcFs& proc_fs, uint32_t pid) {
  const auto text = proc_fs.status(pid);
  if (!text) {
    return propagate(text);
  }
  // "Uid: real effective saved file": files are made with the last.
  const auto uid = last_number(*text, "Uid:");
  const auto namespace_pid = last_number(*text, "NSpid:");
  if (!uid || !namespace_pid) {
    return fail(ErrorCode::kCorrupt, "the status of process {} names no user or no PID", pid);
  }
  return ProcessStatus{*namespace_pid, *uid};
}

// Opens below a process's root, so that no link on the way leads out of it; a link at the end is no regular file.
Result<UniqueFd> open_in_root(const std::string& root, const std::string& path) {
  const UniqueFd root_fd(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root_fd.valid()) {
    return fail_errno(errno, "opening {}", root);
  }
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC | O_NOFOLLOW;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  const UniqueFd place(
      static_cast<int>(::syscall(SYS_openat2, root_fd.get(), path.c_str(), &how, sizeof(how))));
  if (!place.valid()) {
    return fail_errno(errno, "opening {}/{}", root, path);
  }
  return reopen_regular_file(place, root + "/" + path);
}

Result<std::string> read_bounded(const UniqueFd& fd, const std::string& name) {
  std::string text;
  while (true) {
    const size_t used = text.size();
    text.resize(std::min(kMaxMapBytes + 1, std::max<size_t>(used * 2, 64 << 10)));
    const ssize_t size = ::read(fd.get(), text.data() + used, text.size() - used);
    if (size < 0) {
      return fail_errno(errno, "reading {}", name);
    }
    text.resize(used + static_cast<size_t>(size));
    if (size == 0) {
      return text;
    }
    if (text.size() > kMaxMapBytes) {
      return fail(ErrorCode::kTooLarge, "{} has over {} bytes", name, kMaxMapBytes);
    }
  }
}

}  // namespace

PerfMapNames look_up_perf_map(std::string_view text, std::span<const uint64_t> addresses) {
  PerfMapNames found;
  found.names.resize(addresses.size());
  std::vector<size_t> next(addresses.size() + 1);
  std::iota(next.begin(), next.end(), 0);
  // Backwards: the first name that an address gets is the one that holds.
  size_t end = text.rfind('\n');
  while (end != std::string_view::npos) {
    const size_t before = end == 0 ? std::string_view::npos : text.rfind('\n', end - 1);
    const size_t begin = before == std::string_view::npos ? 0 : before + 1;
    const auto entry = parse_entry(text.substr(begin, end - begin));
    end = before;
    if (!entry) {
      ++found.malformed;
      continue;
    }
    const auto first = std::ranges::lower_bound(addresses, entry->start) - addresses.begin();
    for (size_t i = next_free(next, static_cast<size_t>(first));
         i < addresses.size() && addresses[i] <= entry->last; i = next_free(next, i)) {
      found.names[i] = entry->name;
      next[i] = i + 1;
    }
  }
  return found;
}

Result<std::string> read_perf_map(const ProcFs& proc_fs, uint32_t pid) {
  const auto status = read_status(proc_fs, pid);
  if (!status) {
    return propagate(status);
  }
  const std::string root = proc_fs.path_in_root(pid, "");
  const std::string path = fmt::format("tmp/perf-{}.map", status->namespace_pid);
  const auto fd = open_in_root(root, path);
  if (!fd) {
    return propagate(fd);
  }
  struct stat attributes{};
  if (::fstat(fd->get(), &attributes) != 0) {
    return fail_errno(errno, "asking about {}/{}", root, path);
  }
  if (attributes.st_uid != status->uid && attributes.st_uid != 0) {
    return fail(ErrorCode::kDenied, "{}/{} is not a file of the process's user", root, path);
  }
  return read_bounded(*fd, root + "/" + path);
}

}  // namespace plimsoll::identity
