// The command line of burst_shop.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace plimsoll::testing {

struct ShopOptions {
  std::string role = {};
  std::string listen = "127.0.0.1";
  std::string store = {};
  std::string properties = {};
  std::string front = {};
  std::string machine = {};
  std::string story = {};
  uint64_t config_bits = 0;
  uint64_t first_request = 1;
  unsigned clients = 6;
};

// Nothing: it is wrong.
std::optional<ShopOptions> parse_shop_options(int argc, char** argv);

}  // namespace plimsoll::testing
