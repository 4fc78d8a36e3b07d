// Call frame information made by hand.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "elf/loaded_image.h"

namespace plimsoll::unwind {

// An entry with its length, padded as the formats want it.
inline std::string frame_entry(uint32_t id, std::string body) {
  body.resize((body.size() + 7) / 8 * 8);  // with nops, which are 0
  const uint32_t length = static_cast<uint32_t>(body.size() + sizeof id);
  return std::string(reinterpret_cast<const char*>(&length), 4) +
         std::string(reinterpret_cast<const char*>(&id), 4) + body;
}

// What compilers write into a CIE: code alignment 1, data alignment -8, return address in column 16, absolute addresses;
// CFA = rsp + 8, return address at CFA - 8.
inline std::string common_entry_body(std::string_view augmentation = "zR") {
  std::string body("\x01", 1);
  body += std::string(augmentation) + '\0' + std::string("\x01\x78\x10", 3);
  body += augmentation.starts_with('z') ? std::string("\x01\x00", 2) : "";
  return body + std::string("\x0c\x07\x08\x90\x01", 5);
}

// What an FDE says of the code from `begin` on.
inline std::string function_body(uint64_t begin, uint64_t size_bytes, std::string_view program,
                                 bool has_augmentation = true) {
  std::string body(reinterpret_cast<const char*>(&begin), 8);
  body += std::string(reinterpret_cast<const char*>(&size_bytes), 8);
  body += has_augmentation ? std::string(1, '\0') : "";
  return body + std::string(program);
}

// .eh_frame with one CIE, and an FDE for the 0x100 bytes from 0x1000 on.
inline std::string eh_frame_bytes(std::string_view program, std::string_view augmentation = "zR") {
  const std::string common = frame_entry(0, common_entry_body(augmentation));
  return common +
         frame_entry(static_cast<uint32_t>(common.size() + 4), function_body(0x1000, 0x100, program)) +
         std::string(4, '\0');
}

// Sections whose bytes are held with them.
inline elf::CallFrames section_of(std::string bytes, elf::CallFrames::Format format, uint64_t address = 0) {
  auto kept = std::make_shared<const std::string>(std::move(bytes));
  return {
      .format = format,
      .read = [kept](uint64_t offset,
                     uint64_t size_bytes) { return elf::read_at_of(as_bytes(*kept))(offset, size_bytes); },
      .size_bytes = kept->size(),
      .address = address};
}
inline elf::CallFrames eh_frame(std::string bytes) {
  return section_of(std::move(bytes), elf::CallFrames::Format::kEhFrame, 0x400000);
}
inline elf::CallFrames debug_frame(std::string bytes) {
  return section_of(std::move(bytes), elf::CallFrames::Format::kDebugFrame);
}

}  // namespace plimsoll::unwind
