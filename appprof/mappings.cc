#include "appprof/mappings.h"

#include <elf.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <sstream>
#include <string_view>

#include "appprof/text_sink.h"

namespace plimsoll::appprof {
namespace {

// The kernel says so of a file that was removed or replaced.
std::string without_deleted(std::string path) {
  constexpr std::string_view kDeleted = " (deleted)";
  if (path.ends_with(kDeleted)) {
    path.resize(path.size() - kDeleted.size());
  }
  return path;
}

std::string executable_path() {
  std::array<char, 4096> path{};
  const ssize_t size = ::readlink("/proc/self/exe", path.data(), path.size());
  return without_deleted({path.data(), size > 0 ? static_cast<size_t>(size) : 0});
}

int add_object(dl_phdr_info* info, size_t, void* argument) {
  auto& objects = *static_cast<std::vector<LoadedObject>*>(argument);
  LoadedObject object;
  object.bias = info->dlpi_addr;
  object.begin = UINTPTR_MAX;
  for (size_t i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    if (segment.p_type == PT_LOAD) {
      object.begin = std::min(object.begin, object.bias + segment.p_vaddr);
      object.end = std::max(object.end, object.bias + segment.p_vaddr + segment.p_memsz);
    }
  }
  for (size_t i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    // Notes outside of what is loaded have no memory.
    if (segment.p_type == PT_NOTE && object.bias + segment.p_vaddr >= object.begin &&
        object.bias + segment.p_vaddr + segment.p_memsz <= object.end && object.build_id.empty()) {
      // NOLINTNEXTLINE(performance-no-int-to-ptr): the loader tells addresses as numbers
      object.build_id = build_id_of_notes(reinterpret_cast<const void*>(object.bias + segment.p_vaddr),
                                          segment.p_memsz, segment.p_align);
    }
  }
  object.path = info->dlpi_name == nullptr ? "" : info->dlpi_name;
  if (object.begin < object.end) {
    objects.push_back(std::move(object));
  }
  return 0;
}

}  // namespace

std::string build_id_of_notes(const void* notes, size_t size, size_t alignment) {
  const auto* at = static_cast<const char*>(notes);
  const char* end = at + size;
  const size_t step = alignment == 8 ? 8 : 4;
  const auto padded = [step](size_t bytes) { return (bytes + step - 1) / step * step; };
  while (static_cast<size_t>(end - at) >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    std::memcpy(&note, at, sizeof(note));
    const size_t left = static_cast<size_t>(end - at) - sizeof(note);
    const size_t name_bytes = padded(note.n_namesz);
    if (note.n_namesz > left || note.n_descsz > left || name_bytes > left ||
        note.n_descsz > left - name_bytes) {
      break;
    }
    const char* name = at + sizeof(note);
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(name, "GNU", 4) == 0) {
      std::string hex;
      for (const char byte : std::string_view(name + name_bytes, note.n_descsz)) {
        const auto bits = static_cast<unsigned char>(byte);
        hex += "0123456789abcdef"[bits >> 4];
        hex += "0123456789abcdef"[bits & 15];
      }
      return hex;
    }
    const size_t whole = sizeof(note) + name_bytes + padded(note.n_descsz);
    if (whole > static_cast<size_t>(end - at)) {
      break;
    }
    at += whole;
  }
  return {};
}

std::vector<Mapping> parse_maps(const std::string& text) {
  std::vector<Mapping> mappings;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    Mapping mapping;
    char dash = 0;
    std::string permissions, device, inode;
    fields >> std::hex >> mapping.begin >> dash >> mapping.end >> permissions >> mapping.file_offset >>
        device >> inode;
    std::getline(fields >> std::ws, mapping.path);
    mapping.path = without_deleted(std::move(mapping.path));
    if (permissions.size() >= 3 && permissions[2] == 'x') {
      mappings.push_back(std::move(mapping));
    }
  }
  return mappings;
}

std::string read_file(const char* path) {
  StringSink sink;
  copy_file(path, sink);
  return sink.take();
}

CodeMap CodeMap::read() {
  CodeMap map;
  ::dl_iterate_phdr(&add_object, &map.objects_);
  const std::string executable = executable_path();
  for (LoadedObject& object : map.objects_) {
    if (object.path.empty()) {
      object.is_program = true;
      object.path = executable;  // the main program has no name there
    }
  }
  const std::vector<Mapping> found = parse_maps(read_file("/proc/self/maps"));
  for (const bool is_program : {true, false}) {
    for (const Mapping& mapping : found) {
      if ((mapping.path == executable) == is_program) {
        const LoadedObject* object = map.find_object(mapping.begin);
        map.mappings_.push_back(mapping);
        map.mappings_.back().build_id = object == nullptr ? "" : object->build_id;
      }
    }
  }
  return map;
}

size_t CodeMap::find_mapping(uintptr_t address) const {
  const auto found = std::ranges::find_if(mappings_, [address](const Mapping& mapping) {
    return mapping.begin <= address && address < mapping.end;
  });
  return static_cast<size_t>(found - mappings_.begin());
}

const LoadedObject* CodeMap::find_object(uintptr_t address) const {
  const auto found = std::ranges::find_if(objects_, [address](const LoadedObject& object) {
    return object.begin <= address && address < object.end;
  });
  return found == objects_.end() ? nullptr : &*found;
}

}  // namespace plimsoll::appprof
