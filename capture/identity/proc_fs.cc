#include "capture/identity/proc_fs.h"

#include <fmt/format.h>
#include <limits.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <filesystem>
#include <optional>
#include <ranges>

#include "base/file.h"
#include "base/mapped_path.h"

namespace plimsoll::identity {
namespace {

constexpr uint64_t kMaxMapsBytes = uint64_t{16} << 20;

// Takes a number off the front of `text`, and the separator after it.
std::optional<uint64_t> take_number(std::string_view& text, int base, char separator) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end == text.data() + text.size() || *end != separator) {
    return std::nullopt;
  }
  text.remove_prefix(static_cast<size_t>(end - text.data()) + 1);
  return value;
}

// start-end perms offset major:minor inode          path
std::optional<MapsEntry> parse_maps_line(std::string_view line) {
  MapsEntry entry;
  const auto start = take_number(line, 16, '-');
  const auto end = take_number(line, 16, ' ');
  if (!start || !end || *end <= *start || line.size() < 5) {
    return std::nullopt;
  }
  entry.executable = line[2] == 'x';
  line.remove_prefix(5);
  const auto offset = take_number(line, 16, ' ');
  const auto device_major = take_number(line, 16, ':');
  const auto device_minor = take_number(line, 16, ' ');
  if (!offset || !device_major || !device_minor) {
    return std::nullopt;
  }
  const auto [inode_end, error] = std::from_chars(line.data(), line.data() + line.size(), entry.file.inode);
  if (error != std::errc()) {
    return std::nullopt;
  }
  line.remove_prefix(static_cast<size_t>(inode_end - line.data()));
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  entry.start = *start;
  entry.end = *end;
  entry.file_offset = *offset;
  entry.file.device_major = static_cast<uint32_t>(*device_major);
  entry.file.device_minor = static_cast<uint32_t>(*device_minor);
  entry.path = without_deleted(line);
  entry.deleted = entry.path.size() < line.size();
  return entry;
}

// Fields of /proc/PID/stat, counted from the state (0) on.
constexpr int kParentField = 1;
constexpr int kFlagsField = 6;
constexpr int kThreadsField = 17;
constexpr int kStartTimeField = 19;

// 0 where there is no such field.
uint64_t stat_field(std::string_view stat, int index) {
  // pid (comm) state ppid pgrp session tty tpgid flags ...: the name may hold spaces and parentheses.
  stat.remove_prefix(std::min(stat.rfind(')'), stat.size()));
  for (int field = 0; field <= index && !stat.empty(); ++field) {
    stat.remove_prefix(std::min(stat.find(' '), stat.size() - 1) + 1);
  }
  uint64_t value = 0;
  std::from_chars(stat.data(), stat.data() + stat.size(), value);
  return value;
}

// Of a comm file: all but the line break at its end. A name may have line breaks of its own.
std::string name_in(const Result<std::string>& content) {
  if (!content) {
    return {};
  }
  std::string_view name = *content;
  name.remove_suffix(name.ends_with('\n') ? 1 : 0);
  return printable(name);
}

}  // namespace

std::vector<MapsEntry> parse_maps(std::string_view text) {
  std::vector<MapsEntry> entries;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    if (auto entry = parse_maps_line(text.substr(0, end))) {
      entries.push_back(std::move(*entry));
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return entries;
}

std::string ProcFs::entry(uint32_t pid, std::string_view name) const {
  return fmt::format("{}/{}/{}", root_, pid, name);
}

std::vector<uint32_t> ProcFs::numbered_entries(const std::string& folder) {
  std::vector<uint32_t> numbers;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    uint32_t number = 0;
    const auto [parsed_end, parse_error] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (parse_error == std::errc() && parsed_end == name.data() + name.size()) {
      numbers.push_back(number);
    }
  }
  return numbers;
}

std::vector<uint32_t> ProcFs::pids() const {
  return numbered_entries(root_);
}

std::string ProcFs::comm(uint32_t pid) const {
  return name_in(read_file(entry(pid, "comm"), 4096));
}

std::vector<NamedThread> ProcFs::threads(uint32_t pid) const {
  constexpr size_t kMaxThreads = 10'000;
  std::vector<NamedThread> threads;
  for (const uint32_t tid : numbered_entries(entry(pid, "task")) | std::views::take(kMaxThreads)) {
    if (tid != pid) {
      threads.push_back({tid, name_in(read_file(entry(pid, fmt::format("task/{}/comm", tid)), 4096))});
    }
  }
  return threads;
}

std::string ProcFs::executable(uint32_t pid) const {
  std::array<char, PATH_MAX> target{};
  const ssize_t length = ::readlink(entry(pid, "exe").c_str(), target.data(), target.size());
  const std::string_view path(target.data(), length < 0 ? 0 : static_cast<size_t>(length));
  return printable(without_deleted(path));
}

std::optional<ProcessStat> ProcFs::stat(uint32_t pid) const {
  constexpr uint64_t kKernelThread = 0x00200000;  // PF_KTHREAD of the kernel's sched.h
  const auto text = read_file(entry(pid, "stat"), 4096);
  if (!text) {
    return std::nullopt;
  }
  const int64_t ns_per_tick = 1'000'000'000 / ::sysconf(_SC_CLK_TCK);
  ProcessStat stat;
  const bool overflows =
      __builtin_mul_overflow(stat_field(*text, kStartTimeField), ns_per_tick, &stat.started_ns);
  stat.started_ns = overflows ? 0 : stat.started_ns;
  stat.threads = static_cast<uint32_t>(stat_field(*text, kThreadsField));
  stat.is_kernel_thread = (stat_field(*text, kFlagsField) & kKernelThread) != 0;
  return stat;
}

uint32_t ProcFs::parent(uint32_t pid) const {
  return static_cast<uint32_t>(
      stat_field(read_file(entry(pid, "stat"), 4096).value_or(std::string()), kParentField));
}

int64_t ProcFs::started_ns(uint32_t pid) const {
  return stat(pid).value_or(ProcessStat{}).started_ns;
}

bool ProcFs::sees_all_processes() const {
  // PROC_PID_INIT_INO of the kernel's proc_ns.h: the same on every machine.
  constexpr std::string_view kInitialNamespace = "pid:[4026531836]";
  std::error_code error;
  const auto own = std::filesystem::read_symlink(root_ + "/self/ns/pid", error);
  return error || own == kInitialNamespace;
}

Status ProcFs::check_namespace() const {
  // Our PIDs, in the namespace that was mounted and in those nested in it, down to ours.
  constexpr std::string_view kPids = "\nNSpid:\t";
  const std::string status = read_file(root_ + "/self/status", 1 << 16).value_or(std::string());
  const size_t at = status.find(kPids);
  const size_t begin = at == std::string::npos ? status.size() : at + kPids.size();
  if (status.substr(begin, status.find('\n', begin) - begin).find('\t') == std::string::npos) {
    return {};
  }
  return with_hint(
      fail(ErrorCode::kUnsupported, "{} belongs to another PID namespace than this program", root_),
      "mount a /proc of this namespace (unshare --mount-proc), or use the machine's PID namespace (hostPID: "
      "true, --pid=host)");
}

Result<std::string> ProcFs::network_file(std::string_view name, std::optional<uint32_t> pid) const {
  const std::string file = fmt::format("net/{}", name);
  return read_file(pid ? entry(*pid, file) : fmt::format("{}/{}", root_, file), kMaxMapsBytes);
}

std::string ProcFs::other_network(uint32_t pid) const {
  std::error_code error;
  const auto own = std::filesystem::read_symlink(root_ + "/self/ns/net", error);
  const auto others = error ? own : std::filesystem::read_symlink(entry(pid, "ns/net"), error);
  return error || own == others ? std::string() : others.string();
}

bool ProcFs::shares_root(uint32_t pid) const {
  std::error_code error;
  const bool is_same = std::filesystem::equivalent(root_ + "/self/root", entry(pid, "root"), error);
  return error || is_same;
}

std::vector<uint64_t> ProcFs::socket_inodes(uint32_t pid) const {
  constexpr std::string_view kPrefix = "socket:[";
  std::vector<uint64_t> inodes;
  std::error_code error;
  for (std::filesystem::directory_iterator file(entry(pid, "fd"), error), end; !error && file != end;
       file.increment(error)) {
    std::error_code ignored;
    const std::string target = std::filesystem::read_symlink(file->path(), ignored).string();
    uint64_t inode = 0;
    if (target.starts_with(kPrefix) &&
        std::from_chars(target.data() + kPrefix.size(), target.data() + target.size(), inode).ec ==
            std::errc()) {
      inodes.push_back(inode);
    }
  }
  return inodes;
}

std::string ProcFs::cgroup(uint32_t pid) const {
  return read_file(entry(pid, "cgroup"), 1 << 16).value_or(std::string());
}

std::string ProcFs::environment(uint32_t pid) const {
  constexpr size_t kMaxBytes = 128 << 10;
  return read_beginning(entry(pid, "environ"), kMaxBytes).value_or(std::string());
}

Result<std::string> ProcFs::status(uint32_t pid) const {
  return read_file(entry(pid, "status"), 1 << 16);
}

Result<std::vector<MapsEntry>> ProcFs::maps(uint32_t pid) const {
  const auto text = read_file(entry(pid, "maps"), kMaxMapsBytes);
  if (!text) {
    return propagate(text);
  }
  return parse_maps(*text);
}

std::string ProcFs::path_in_root(uint32_t pid, std::string_view path) const {
  return entry(pid, "root") + std::string(path);
}

}  // namespace plimsoll::identity
