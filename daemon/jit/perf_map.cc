#include "daemon/jit/perf_map.h"

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
#include "capture/identity/safe_open.h"

namespace plimsoll::identity {
namespace {

constexpr uint64_t kMaxMapBytes = uint64_t{64} << 20;
// Some of the longest lines.
constexpr uint64_t kBlockBytes = uint64_t{1} << 20;

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
    return fail(ErrorCode::kCorrupt, "the status of process {} has no user or no PID", pid);
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

// Takes a text from its end to its beginning: the first name that an address gets is the one that holds.
class BackwardLookUp {
 public:
  explicit BackwardLookUp(std::span<const uint64_t> addresses)
      : addresses_(addresses), next_(addresses.size() + 1) {
    found_.names.resize(addresses.size());
    std::iota(next_.begin(), next_.end(), 0);
  }

  // Lines with their ends, that stand before those of the last call.
  void add(std::string_view lines) {
    while (!lines.empty()) {
      lines.remove_suffix(1);
      const size_t before = lines.rfind('\n');
      const size_t begin = before == std::string_view::npos ? 0 : before + 1;
      add_line(lines.substr(begin));
      lines = lines.substr(0, begin);
    }
  }
  void add_malformed() { ++found_.malformed; }

  PerfMapNames take() { return std::move(found_); }

 private:
  void add_line(std::string_view line) {
    const auto entry = line.size() <= kLongestPerfMapLine ? parse_entry(line) : std::nullopt;
    if (!entry) {
      return add_malformed();
    }
    const auto first = std::ranges::lower_bound(addresses_, entry->start) - addresses_.begin();
    for (size_t i = next_free(next_, static_cast<size_t>(first));
         i < addresses_.size() && addresses_[i] <= entry->last; i = next_free(next_, i)) {
      found_.names[i] = entry->name;
      next_[i] = i + 1;
    }
  }

  const std::span<const uint64_t> addresses_;
  PerfMapNames found_;
  std::vector<size_t> next_;
};

Status read_exactly(const UniqueFd& fd, uint64_t offset, std::span<char> into, const std::string& name) {
  for (size_t done = 0; done < into.size();) {
    const ssize_t size =
        ::pread(fd.get(), into.data() + done, into.size() - done, static_cast<off_t>(offset + done));
    if (size < 0) {
      return fail_errno(errno, "reading {}", name);
    }
    if (size == 0) {
      return fail(ErrorCode::kUnavailable, "{} was truncated", name);
    }
    done += static_cast<size_t>(size);
  }
  return {};
}

}  // namespace

PerfMapNames look_up_perf_map(std::string_view text, std::span<const uint64_t> addresses) {
  BackwardLookUp look_up(addresses);
  const size_t end = text.rfind('\n');
  look_up.add(text.substr(0, end == std::string_view::npos ? 0 : end + 1));
  return look_up.take();
}

Result<PerfMapNames> PerfMap::names_at(std::span<const uint64_t> addresses) const {
  BackwardLookUp look_up(addresses);
  // What lies before `end` is still to be read. Whether it stands in a line that is left out: at first the one that nothing ends.
  uint64_t end = size_bytes_;
  bool is_in_left_out = true;
  while (end > 0) {
    const uint64_t begin = end - std::min<uint64_t>(end, kBlockBytes);
    std::string block(end - begin, '\0');
    if (auto read = read_exactly(fd_, begin, block, name_); !read) {
      return propagate(read);
    }
    if (is_in_left_out) {
      block.resize(block.rfind('\n') + 1);  // npos + 1 is 0
      is_in_left_out = block.empty();
    }
    const size_t first_line = begin == 0 ? 0 : block.find('\n') + 1;
    if (first_line < block.size()) {
      look_up.add(std::string_view(block).substr(first_line));
      end = begin + first_line;
    } else if (block.size() == kBlockBytes) {
      look_up.add_malformed();  // a line that is longer than a block
      is_in_left_out = true;
      end = begin;
    } else {
      end = begin + block.size();
    }
  }
  return look_up.take();
}

Result<PerfMap> PerfMap::open(const ProcFs& proc_fs, uint32_t pid) {
  const auto status = read_status(proc_fs, pid);
  if (!status) {
    return propagate(status);
  }
  const std::string root = proc_fs.path_in_root(pid, "");
  const std::string path = fmt::format("tmp/perf-{}.map", status->namespace_pid);
  auto fd = open_in_root(root, path);
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
  if (static_cast<uint64_t>(attributes.st_size) > kMaxMapBytes) {
    return fail(ErrorCode::kTooLarge, "{}/{} has over {} bytes", root, path, kMaxMapBytes);
  }
  return PerfMap(std::move(*fd), root + "/" + path, static_cast<uint64_t>(attributes.st_size));
}

}  // namespace plimsoll::identity
