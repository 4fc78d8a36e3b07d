#include "daemon/identity/proc_fs.h"

#include <fmt/format.h>
#include <limits.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <filesystem>
#include <optional>

#include "base/file.h"

namespace plimsoll::identity {
namespace {

constexpr uint64_t kMaxMapsBytes = uint64_t{16} << 20;
constexpr std::string_view kDeleted = " (deleted)";

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
  if (!offset || !take_number(line, 16, ':') || !take_number(line, 16, ' ')) {
    return std::nullopt;
  }
  uint64_t inode = 0;
  const auto [inode_end, error] = std::from_chars(line.data(), line.data() + line.size(), inode);
  if (error != std::errc()) {
    return std::nullopt;
  }
  line.remove_prefix(static_cast<size_t>(inode_end - line.data()));
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  entry.start = *start;
  entry.end = *end;
  entry.file_offset = *offset;
  entry.inode = inode;
  entry.deleted = line.ends_with(kDeleted);
  entry.path = line.substr(0, line.size() - (entry.deleted ? kDeleted.size() : 0));
  return entry;
}

// The length of the valid UTF-8 sequence at the front of `text`; 0 where there is none.
size_t utf8_sequence_length(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) {
    return first >= 0x20 && first != 0x7F ? 1 : 0;
  }
  const size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) {
    return 0;
  }
  uint32_t code_point = first & (0x7FU >> length);
  for (size_t i = 1; i < length; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    if ((next & 0xC0U) != 0x80) {
      return 0;
    }
    code_point = code_point << 6U | (next & 0x3FU);
  }
  constexpr std::array<uint32_t, 5> kSmallest{0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = code_point >= 0xD800 && code_point <= 0xDFFF;
  return code_point >= kSmallest[length] && code_point <= 0x10FFFF && !is_surrogate ? length : 0;
}

std::string first_line(const Result<std::string>& text) {
  return text ? printable(std::string_view(*text).substr(0, text->find('\n'))) : std::string();
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

std::string printable(std::string_view bytes) {
  std::string text;
  while (!bytes.empty()) {
    const size_t length = utf8_sequence_length(bytes);
    text += length == 0 ? std::string_view("?") : bytes.substr(0, length);
    bytes.remove_prefix(std::max<size_t>(length, 1));
  }
  return text;
}

std::string ProcFs::entry(uint32_t pid, std::string_view name) const {
  return fmt::format("{}/{}/{}", root_, pid, name);
}

std::vector<uint32_t> ProcFs::pids() const {
  std::vector<uint32_t> pids;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(root_, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    uint32_t pid = 0;
    const auto [parsed_end, parse_error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (parse_error == std::errc() && parsed_end == name.data() + name.size()) {
      pids.push_back(pid);
    }
  }
  return pids;
}

std::string ProcFs::comm(uint32_t pid) const {
  return first_line(read_file(entry(pid, "comm"), 4096));
}

std::string ProcFs::thread_name(uint32_t pid, uint32_t tid) const {
  return first_line(read_file(entry(pid, fmt::format("task/{}/comm", tid)), 4096));
}

std::string ProcFs::executable(uint32_t pid) const {
  std::array<char, PATH_MAX> target{};
  const ssize_t length = ::readlink(entry(pid, "exe").c_str(), target.data(), target.size());
  std::string_view path(target.data(), length < 0 ? 0 : static_cast<size_t>(length));
  if (path.ends_with(kDeleted)) {
    path.remove_suffix(kDeleted.size());
  }
  return printable(path);
}

bool ProcFs::is_kernel_thread(uint32_t pid) const {
  // pid (comm) state ppid pgrp session tty tpgid flags: the name may hold spaces and parentheses.
  const auto stat = read_file(entry(pid, "stat"), 4096);
  if (!stat) {
    return false;
  }
  std::string_view rest(*stat);
  rest.remove_prefix(std::min(rest.rfind(')'), rest.size()));
  for (int field = 0; field < 7; ++field) {
    rest.remove_prefix(std::min(rest.find(' '), rest.size() - 1) + 1);
  }
  constexpr uint64_t kKernelThread = 0x00200000;  // PF_KTHREAD of the kernel's sched.h
  uint64_t flags = 0;
  std::from_chars(rest.data(), rest.data() + rest.size(), flags);
  return (flags & kKernelThread) != 0;
}

std::string ProcFs::cgroup(uint32_t pid) const {
  return read_file(entry(pid, "cgroup"), 1 << 16).value_or(std::string());
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
