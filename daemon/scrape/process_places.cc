#include "daemon/scrape/process_places.h"

#include <algorithm>

namespace plimsoll::scrape {

uint32_t add_binary(const identity::BinaryInfo& info, wire::RawProfile& profile) {
  const auto known = std::ranges::find_if(profile.binaries(), [&](const wire::Binary& binary) {
    return binary.identity_kind() == info.identity_kind && binary.identity() == info.identity &&
           binary.path() == info.path;
  });
  const auto index = static_cast<uint32_t>(known - profile.binaries().begin());
  if (known == profile.binaries().end()) {
    *profile.add_binaries() = identity::binary_message(info);
  }
  return index;
}

formats::CodePlace ProcessPlaces::find(const formats::Location& location, wire::RawProfile& profile) {
  const identity::Mapping* mapping = live_.find(location.address);
  if (mapping == nullptr) {
    return told_.find(location, profile);
  }
  if (mapping->binary == nullptr) {
    return {wire::JIT, 0, location.address};
  }
  const auto [entry, is_new] = binaries_.try_emplace(mapping->binary, 0);
  if (is_new) {
    entry->second = add_binary(*mapping->binary, profile);
  }
  const uint64_t file_offset = location.address - mapping->start + mapping->file_offset;
  const auto elf_address = elf::address_of(mapping->binary->segments, file_offset);
  return elf_address ? formats::CodePlace{wire::ELF, entry->second, *elf_address}
                     : formats::CodePlace{wire::ELF_FILE_OFFSET, entry->second, file_offset};
}

}  // namespace plimsoll::scrape
