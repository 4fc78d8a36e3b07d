// What the rules of profiles are made of: for the sources of wire::validate() alone. Pure functions.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "base/result.h"
#include "proto/profile.pb.h"

namespace plimsoll::wire {

inline constexpr size_t kMaxTextBytes = 4096;
inline constexpr uint64_t kMaxHits = uint64_t{1} << 56;  // so that sums of many profiles stay within 64 bits

template <typename... Args>
std::unexpected<Error> invalid(std::string field, fmt::format_string<Args...> format, Args&&... args) {
  return with_field(fail(ErrorCode::kCorrupt, "the profile is inconsistent: {}",
                         fmt::format(format, std::forward<Args>(args)...)),
                    std::move(field));
}

// Whether check_text() lets it pass; for those who would have to put a field's name together for it.
inline bool is_text(std::string_view text) {
  return text.size() <= kMaxTextBytes && text.find('\0') == std::string_view::npos;
}

inline Status check_text(std::string_view text, std::string field) {
  if (text.size() > kMaxTextBytes) {
    return invalid(std::move(field), "text of {} bytes, over {}", text.size(), kMaxTextBytes);
  }
  if (text.find('\0') != std::string_view::npos) {
    return invalid(std::move(field), "text with a zero byte");
  }
  return {};
}

// Every entry of a column below `size`.
template <typename Column>
Status check_indexes(const Column& column, uint64_t size, std::string_view field) {
  for (int i = 0; i < column.size(); ++i) {
    if (column[i] >= size) {
      return invalid(fmt::format("{}[{}]", field, i), "index {} of {}", column[i], size);
    }
  }
  return {};
}

inline Status check_length(int length, int expected, std::string field) {
  if (length != expected) {
    return invalid(std::move(field), "a column of {} entries beside one of {}", length, expected);
  }
  return {};
}

// The first failure, or success.
inline Status first_failure(std::initializer_list<Status> checks) {
  for (const Status& check : checks) {
    if (!check) {
      return check;
    }
  }
  return {};
}

inline Status check_labels(const google::protobuf::Map<std::string, std::string>& labels,
                           const std::string& field) {
  for (const auto& [key, value] : labels) {
    if (auto ok = first_failure({check_text(key, field), check_text(value, field)}); !ok) {
      return ok;
    }
  }
  return {};
}

}  // namespace plimsoll::wire
