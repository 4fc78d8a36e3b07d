// Where this process's code lies: /proc/self/maps, and the loaded objects with their build IDs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace plimsoll::appprof {

struct Mapping {
  uintptr_t begin = 0;
  uintptr_t end = 0;
  uint64_t file_offset = 0;
  std::string path;      // "[vdso]" and the like too; without " (deleted)"
  std::string build_id;  // hex; empty: none
};

struct LoadedObject {
  uintptr_t bias = 0;  // address = bias + what the ELF file says
  uintptr_t begin = 0;
  uintptr_t end = 0;  // of all segments
  std::string path;
  std::string build_id;
  bool is_program = false;

  // The program's is its own file still after another was put at its path.
  std::string opened_path() const { return is_program ? "/proc/self/exe" : path; }
};

// As they are now. Objects are listed by dl_iterate_phdr, which holds the loader's lock for some microseconds, in which nothing is
// allocated; notes are read from memory, so no file is opened but maps. The server's threads alone.
class CodeMap {
 public:
  static CodeMap read();

  // Executable mappings; the main program's first.
  const std::vector<Mapping>& mappings() const { return mappings_; }
  // Index of the mapping; mappings().size() where nothing is there (unloaded since, JIT code).
  size_t find_mapping(uintptr_t address) const;
  const LoadedObject* find_object(uintptr_t address) const;

 private:
  std::vector<Mapping> mappings_;
  std::vector<LoadedObject> objects_;
};

// The executable lines of text such as /proc/PID/maps.
std::vector<Mapping> parse_maps(const std::string& text);

// The GNU build ID, as hex, among the notes in memory; empty: none.
std::string build_id_of_notes(const void* notes, size_t size, size_t alignment);

std::string read_file(const char* path);

}  // namespace plimsoll::appprof
