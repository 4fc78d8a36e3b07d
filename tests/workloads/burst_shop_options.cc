#include "tests/workloads/burst_shop_options.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

namespace plimsoll::testing {
namespace {

constexpr std::array<std::string_view, 4> kRoles{"front", "store", "properties", "load"};

uint64_t number_in(std::string_view text) {
  uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

bool set_option(ShopOptions& options, std::string_view name, const std::string& value) {
  if (name == "--listen") {
    options.listen = value;
  } else if (name == "--store") {
    options.store = value;
  } else if (name == "--properties") {
    options.properties = value;
  } else if (name == "--front") {
    options.front = value;
  } else if (name == "--machine") {
    options.machine = value;
  } else if (name == "--story") {
    options.story = value;
  } else if (name == "--config-bits") {
    options.config_bits = number_in(value);
  } else if (name == "--first-request") {
    options.first_request = number_in(value);
  } else if (name == "--clients") {
    options.clients = static_cast<unsigned>(number_in(value));
  } else {
    return false;
  }
  return true;
}

}  // namespace

std::optional<ShopOptions> parse_shop_options(int argc, char** argv) {
  ShopOptions options{.role = argc > 1 ? argv[1] : ""};
  for (int i = 2; i + 1 < argc; i += 2) {
    if (!set_option(options, argv[i], argv[i + 1])) {
      return std::nullopt;
    }
  }
  return std::ranges::find(kRoles, options.role) != kRoles.end() ? std::optional(options) : std::nullopt;
}

}  // namespace plimsoll::testing
