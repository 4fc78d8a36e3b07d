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

// The bytes of the GNU build ID among the notes; empty: none.
std::string_view find_build_id(const void* notes, size_t size, size_t alignment) noexcept {
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
      return {name + name_bytes, note.n_descsz};
    }
    const size_t whole = sizeof(note) + name_bytes + padded(note.n_descsz);
    if (whole > static_cast<size_t>(end - at)) {
      break;
    }
    at += whole;
  }
  return {};
}

std::string hex_of(std::string_view bytes) {
  std::string hex;
  for (const char byte : bytes) {
    const auto bits = static_cast<unsigned char>(byte);
    hex += "0123456789abcdef"[bits >> 4];
    hex += "0123456789abcdef"[bits & 15];
  }
  return hex;
}

// An object as the loader tells of it; its path and build ID stand in `texts`, one after the other.
struct ToldObject {
  uintptr_t bias = 0;
  uintptr_t begin = UINTPTR_MAX;
  uintptr_t end = 0;
  size_t path_bytes = 0;
  size_t build_id_bytes = 0;
};

struct ToldObjects {
  std::vector<ToldObject> objects;
  std::string texts;
  // What all of them need.
  size_t wanted_objects = 0;
  size_t wanted_bytes = 0;
};

// Allocates nothing, since the loader's lock is held: an allocator that takes stacks by libunwind waits for that lock with its own held
// (tcmalloc does where it is linked statically). So there is room before, or the object is only counted.
int add_object(dl_phdr_info* info, size_t, void* argument) {
  auto& told = *static_cast<ToldObjects*>(argument);
  ToldObject object;
  object.bias = info->dlpi_addr;
  for (size_t i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    if (segment.p_type == PT_LOAD) {
      object.begin = std::min(object.begin, object.bias + segment.p_vaddr);
      object.end = std::max(object.end, object.bias + segment.p_vaddr + segment.p_memsz);
    }
  }
  if (object.begin >= object.end) {
    return 0;
  }
  std::string_view build_id;
  for (size_t i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    // Notes outside of what is loaded have no memory.
    if (segment.p_type == PT_NOTE && object.bias + segment.p_vaddr >= object.begin &&
        object.bias + segment.p_vaddr + segment.p_memsz <= object.end && build_id.empty()) {
      // NOLINTNEXTLINE(performance-no-int-to-ptr): the loader tells addresses as numbers
      build_id = find_build_id(reinterpret_cast<const void*>(object.bias + segment.p_vaddr), segment.p_memsz,
                               segment.p_align);
    }
  }
  const std::string_view path = info->dlpi_name == nullptr ? "" : info->dlpi_name;
  object.path_bytes = path.size();
  object.build_id_bytes = build_id.size();
  const size_t bytes = path.size() + build_id.size();
  told.wanted_objects += 1;
  told.wanted_bytes += bytes;
  if (told.objects.size() < told.objects.capacity() && told.texts.capacity() - told.texts.size() >= bytes) {
    told.objects.push_back(object);
    told.texts.append(path).append(build_id);
  }
  return 0;
}

std::vector<LoadedObject> loaded_objects() {
  ToldObjects told;
  size_t objects = 64;
  size_t bytes = size_t{16} << 10;
  do {
    told = {};
    told.objects.reserve(objects);
    told.texts.reserve(bytes);
    ::dl_iterate_phdr(&add_object, &told);
    // Also for those that are loaded meanwhile.
    objects = 2 * told.wanted_objects;
    bytes = 2 * told.wanted_bytes;
  } while (told.objects.size() < told.wanted_objects);
  std::vector<LoadedObject> loaded;
  std::string_view texts = told.texts;
  const auto take = [&texts](size_t size) {
    const std::string_view text = texts.substr(0, size);
    texts.remove_prefix(size);
    return text;
  };
  for (const ToldObject& object : told.objects) {
    LoadedObject& one = loaded.emplace_back();
    one.bias = object.bias;
    one.begin = object.begin;
    one.end = object.end;
    one.path = take(object.path_bytes);
    one.build_id = hex_of(take(object.build_id_bytes));
  }
  return loaded;
}

}  // namespace

std::string build_id_of_notes(const void* notes, size_t size, size_t alignment) {
  return hex_of(find_build_id(notes, size, alignment));
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
  map.objects_ = loaded_objects();
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
