#include "appprof/announcement.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string_view>

#include "appprof/mappings.h"

namespace plimsoll::appprof {
namespace {

// Bytes of the UTF-8 character that the text begins with; 0: it begins with none (RFC 3629).
size_t utf8_size(std::string_view text) {
  const auto byte = [text](size_t i) -> unsigned {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  const unsigned first = byte(0);
  const size_t size = first < 0x80                    ? 1
                      : first >= 0xC2 && first < 0xE0 ? 2
                      : first >= 0xE0 && first < 0xF0 ? 3
                      : first >= 0xF0 && first < 0xF5 ? 4
                                                      : 0;
  for (size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xC0) != 0x80) {
      return 0;
    }
  }
  // Longer than need be, halves of pairs, beyond the last character.
  const unsigned second = byte(1);
  const bool is_wrong = (first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) ||
                        (first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F);
  return is_wrong ? 0 : size;
}

// A label may have any bytes, JSON none but UTF-8's.
std::string quoted(std::string_view text) {
  std::string json = "\"";
  while (!text.empty()) {
    const char c = text.front();
    const size_t size = utf8_size(text);
    if (size == 0) {
      json += "\\ufffd";
    } else if (c == '"' || c == '\\') {
      json += '\\';
      json += c;
    } else if (size == 1 && static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof(escape), "\\u%04x", static_cast<unsigned>(c));
      json += escape;
    } else {
      json += text.substr(0, size);
    }
    text.remove_prefix(std::max<size_t>(size, 1));
  }
  return json + "\"";
}

std::string list_of(const std::vector<std::string>& texts) {
  std::string json;
  for (const std::string& text : texts) {
    json += (json.empty() ? "" : ", ") + quoted(text);
  }
  return "[" + json + "]";
}

}  // namespace

std::string to_json(const Announcement& announcement) {
  // No stream: its numbers would be those of the program's locale ("12.345").
  std::string json = "{\"format\": 1, \"pid\": " + std::to_string(announcement.pid) +
                     ", \"start_ticks\": " + std::to_string(announcement.start_ticks) +
                     ", \"address\": " + quoted(announcement.address) +
                     ", \"requires_token\": " + (announcement.requires_token ? "true" : "false") +
                     ", \"kinds\": " + list_of(announcement.kinds) +
                     ", \"problems\": " + list_of(announcement.problems) + ", \"labels\": {";
  for (size_t i = 0; i < announcement.labels.size(); ++i) {
    json += (i == 0 ? "" : ", ") + quoted(announcement.labels[i].first) + ": " +
            quoted(announcement.labels[i].second);
  }
  return json + "}}\n";
}

std::string announcement_path(const std::string& folder, pid_t pid, uint64_t start_ticks) {
  return folder + "/" + std::to_string(pid) + "-" + std::to_string(start_ticks) + ".json";
}

std::string announce(const std::string& folder, const Announcement& announcement) {
  const std::string path = announcement_path(folder, announcement.pid, announcement.start_ticks);
  const std::string draft = path + ".new";
  const std::string json = to_json(announcement);
  ::unlink(draft.c_str());  // of an earlier process of this number
  // The folder may be writable for all: never through a link that another user has put there.
  const int file = ::open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
  const bool is_written =
      file >= 0 && ::write(file, json.data(), json.size()) == static_cast<ssize_t>(json.size());
  if (file >= 0) {
    ::close(file);
  }
  if (!is_written || ::rename(draft.c_str(), path.c_str()) != 0) {
    const std::string why = "cannot announce in " + path + ": " + ::strerrordesc_np(errno);
    ::unlink(draft.c_str());
    return why;
  }
  return {};
}

std::string default_announcement_folder() {
  const char* folder = ::secure_getenv("PLIMSOLL_APPPROF_DIR");
  return folder != nullptr && *folder != '\0' ? folder : "/run/plimsoll/appprof";
}

uint64_t own_start_ticks() {
  const std::string stat = read_file("/proc/self/stat");
  const size_t close = stat.rfind(')');  // a name may have blanks and brackets
  if (close == std::string::npos) {
    return 0;
  }
  std::istringstream fields(stat.substr(close + 1));
  std::string skipped;
  for (int field = 3; field < 22; ++field) {
    fields >> skipped;
  }
  uint64_t ticks = 0;
  fields >> ticks;
  return ticks;
}

}  // namespace plimsoll::appprof
