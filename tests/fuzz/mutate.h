// Damaged copies of bytes, for feeding to readers of untrusted input. The same generator state gives the same damage.
#pragma once

#include <algorithm>
#include <random>
#include <string>
#include <string_view>

namespace plimsoll::fuzz {

// One to eight of: flipped bits, random and extreme bytes, a cut, a part removed, doubled, or copied over another.
inline std::string mutated(std::string_view original, std::mt19937_64& random) {
  std::string bytes(original);
  // A number below `end`, which may be 0.
  const auto below = [&](size_t end) { return end == 0 ? 0 : static_cast<size_t>(random() % end); };
  for (size_t steps = 1 + below(8); steps > 0 && !bytes.empty(); --steps) {
    const size_t at = below(bytes.size());
    const size_t length = 1 + below(std::min<size_t>(bytes.size() - at, 16));
    switch (random() % 10) {
      case 0:
      case 1:
      case 2:
        bytes[at] = static_cast<char>(bytes[at] ^ 1 << below(8));
        break;
      case 3:
      case 4:
        bytes[at] = static_cast<char>(random());
        break;
      case 5:
        bytes.replace(at, length, length, random() % 2 == 0 ? '\xff' : '\0');
        break;
      case 6:
        bytes.replace(below(bytes.size()), length, bytes.substr(at, length));
        break;
      case 7:
        bytes.erase(at, length);
        break;
      case 8:
        bytes.insert(at, bytes.substr(at, length));
        break;
      default:
        if (random() % 4 == 0) {
          bytes.resize(at);
        }
    }
  }
  return bytes;
}

}  // namespace plimsoll::fuzz
