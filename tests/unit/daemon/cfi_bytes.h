// Call frame information made by hand.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace plimsoll::unwind {

// Entries made by hand: a CIE as compilers write it, and an FDE for the 0x100 bytes from 0x1000 on.
inline std::string table_bytes(std::string_view fde_program, std::string_view augmentation = "zR") {
  const auto entry = [](uint32_t id, std::string body) {
    body.resize((body.size() + 7) / 8 * 8);  // with nops, which are 0
    const uint32_t length = static_cast<uint32_t>(body.size() + sizeof id);
    return std::string(reinterpret_cast<const char*>(&length), 4) +
           std::string(reinterpret_cast<const char*>(&id), 4) + body;
  };
  std::string cie("\x01", 1);
  cie += std::string(augmentation) + '\0';
  cie += std::string("\x01\x78\x10\x01\x00",
                     5);  // code alignment 1, data alignment -8, ra 16, absolute addresses
  cie += std::string("\x0c\x07\x08\x90\x01", 5);  // CFA = rsp + 8; ra at CFA - 8
  const std::string first = entry(0, cie);
  std::string fde("\x00\x10\0\0\0\0\0\0\x00\x01\0\0\0\0\0\0\x00", 17);
  fde += fde_program;
  return first + entry(static_cast<uint32_t>(first.size() + 4), fde) + std::string(4, '\0');
}

}  // namespace plimsoll::unwind
