// ELF images made in code, so that a test shows what is in them.
#pragma once

#include <elf.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll::elf {

template <typename T>
std::string object_bytes(const T& object) {
  return {reinterpret_cast<const char*>(&object), sizeof object};
}

inline std::string note(std::string name, uint32_t type, std::string_view description) {
  name.push_back('\0');
  const Elf64_Nhdr header{static_cast<uint32_t>(name.size()), static_cast<uint32_t>(description.size()),
                          type};
  std::string bytes = object_bytes(header) + name;
  bytes.resize((bytes.size() + 3) / 4 * 4);
  bytes += description;
  bytes.resize((bytes.size() + 3) / 4 * 4);
  return bytes;
}

// Header, program headers, contents, section headers, in this order. The address of a segment with content is its file
// offset.
class ElfImage {
 public:
  struct Load {
    uint32_t flags;
    uint64_t file_offset, address, file_bytes;
  };

  void load(const Load& load) {
    segments_.push_back({PT_LOAD, load.flags, load.file_offset, load.address, load.address, load.file_bytes,
                         load.file_bytes, 0x1000});
  }
  void segment(uint32_t type, const std::string& content) {
    segments_.push_back({type, PF_R, 0, 0, 0, content.size(), content.size(), 4});
    segment_contents_.push_back({segments_.size() - 1, content});
  }
  // Returns the section's index.
  uint32_t section(std::string_view name, uint32_t type, const std::string& content, uint32_t link = 0,
                   uint64_t entry_bytes = 0) {
    sections_.push_back({.name = std::string(name),
                         .type = type,
                         .link = link,
                         .entry_bytes = entry_bytes,
                         .content = content,
                         .size_bytes = content.size()});
    return static_cast<uint32_t>(sections_.size());
  }
  // One with content, loaded at that address.
  void loaded_content(std::string_view name, uint64_t address, const std::string& content) {
    sections_.push_back({.name = std::string(name),
                         .type = SHT_PROGBITS,
                         .flags = SHF_ALLOC,
                         .address = address,
                         .content = content,
                         .size_bytes = content.size()});
  }
  // One with code, loaded at that address. Returns its index.
  uint32_t code(std::string_view name, uint64_t address, const std::string& content) {
    loaded_content(name, address, content);
    sections_.back().flags |= SHF_EXECINSTR;
    return static_cast<uint32_t>(sections_.size());
  }
  // One that says where it is loaded (SHF_*), and has no content here. Returns its index.
  uint32_t loaded_section(std::string_view name, uint64_t flags, uint64_t address, uint64_t size_bytes) {
    sections_.push_back({.name = std::string(name),
                         .type = SHT_NOBITS,
                         .flags = flags,
                         .address = address,
                         .size_bytes = size_bytes});
    return static_cast<uint32_t>(sections_.size());
  }

  // With `extended` numbering the first section header holds how many there are and which one has the names.
  std::string bytes(bool extended = false) const {
    std::vector<Elf64_Phdr> segments = segments_;
    std::string contents;
    const uint64_t contents_offset = sizeof(Elf64_Ehdr) + segments.size() * sizeof(Elf64_Phdr);
    const auto place = [&](const std::string& content) {
      const uint64_t offset = contents_offset + contents.size();
      contents += content;
      contents.resize((contents.size() + 7) / 8 * 8);
      return offset;
    };
    for (const auto& [index, content] : segment_contents_) {
      segments[index].p_offset = place(content);
      segments[index].p_vaddr = segments[index].p_offset;
    }
    std::string names(1, '\0');
    std::vector<Elf64_Shdr> headers(1);
    for (const Part& part : sections_) {
      const auto name = static_cast<uint32_t>(names.size());
      names.append(part.name).push_back('\0');
      headers.push_back({name, part.type, part.flags, part.address, place(part.content), part.size_bytes,
                         part.link, 0, 1, part.entry_bytes});
    }
    headers.push_back({0, SHT_STRTAB, 0, 0, place(names), names.size(), 0, 0, 1, 0});
    Elf64_Ehdr header{};
    std::copy_n(ELFMAG, SELFMAG, header.e_ident);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_phoff = sizeof header;
    header.e_phentsize = sizeof(Elf64_Phdr);
    header.e_phnum = static_cast<uint16_t>(segments.size());
    header.e_shoff = contents_offset + contents.size();
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = static_cast<uint16_t>(headers.size());
    header.e_shstrndx = static_cast<uint16_t>(headers.size() - 1);
    if (extended) {
      headers[0].sh_size = headers.size();
      headers[0].sh_link = header.e_shstrndx;
      header.e_shnum = 0;
      header.e_shstrndx = SHN_XINDEX;
    }
    std::string image = object_bytes(header);
    for (const Elf64_Phdr& segment : segments) {
      image += object_bytes(segment);
    }
    image += contents;
    for (const Elf64_Shdr& section : headers) {
      image += object_bytes(section);
    }
    return image;
  }

 private:
  struct Part {
    std::string name;
    uint32_t type;
    uint64_t flags = 0;
    uint64_t address = 0;
    uint32_t link = 0;
    uint64_t entry_bytes = 0;
    std::string content = {};
    uint64_t size_bytes = 0;
  };
  struct SegmentContent {
    size_t index;
    std::string content;
  };
  std::vector<Elf64_Phdr> segments_;
  std::vector<SegmentContent> segment_contents_;
  std::vector<Part> sections_;
};

}  // namespace plimsoll::elf
