// `plimsoll help TOPIC`: what several commands have in common.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace plimsoll::cli {

struct Topic {
  std::string_view name;
  std::string_view summary;
};

std::span<const Topic> topics();

// Absent: there is no topic of that name.
std::optional<std::string> topic_text(std::string_view name);

}  // namespace plimsoll::cli
