// A file that libdw has opened, with its supplementary file.
#pragma once

#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_reader.h"
#include "base/result.h"
#include "elf/elf_file.h"
#include "elf/module_layout.h"

namespace plimsoll::symbolizer {

struct EndElf {
  void operator()(Elf* elf) const { ::elf_end(elf); }
};
struct EndDwarf {
  void operator()(Dwarf* dwarf) const { ::dwarf_end(dwarf); }
};
struct EndDwfl {
  void operator()(Dwfl* dwfl) const { ::dwfl_end(dwfl); }
};

struct OpenedDwarf {
  std::unique_ptr<Elf, EndElf> elf;
  std::unique_ptr<Dwarf, EndDwarf> dwarf;
};

// One thread. Borrows the bytes of both files.
class DwarfFile {
 public:
  static Result<std::unique_ptr<DwarfFile>> open(Bytes debug, Bytes supplement);

  Dwarf* dwarf() const { return dwarf_.get(); }
  // Of dwz; null where there was none.
  Dwarf* supplement() const { return supplement_.dwarf.get(); }

  // Gives back the memory of all that libdw has parsed so far, which it otherwise keeps. Texts stay valid, entries do not.
  Status renew();

  // The address in the table of one that the DWARF says: another only in relocatable files. Nothing where no code stays loaded.
  std::optional<uint64_t> address_of(uint64_t said) const;

  // The text that begins there. Empty where that is in no section of either file, or does not end in it.
  std::string_view text_at(const char* at) const;

 private:
  explicit DwarfFile(elf::ElfFile file) : file_(std::move(file)), layout_(file_) {}
  Status open_linked(Bytes debug);
  Status open_relocatable(Bytes debug);
  Status open_stand_in();
  Status open_supplement(Bytes supplement);
  void add_texts(Elf* elf);
  void add_places();

  // A section with code that stays loaded.
  struct Place {
    uint64_t said;  // where libdwfl has put it
    uint64_t size_bytes;
    uint64_t address;
  };

  elf::ElfFile file_;
  elf::ModuleLayout layout_;
  std::string relocated_;  // the relocatable file, which libdwfl writes to
  // What libdw reads in place of files with compressed sections, and of a supplement that is not there.
  std::string decompressed_;
  std::string decompressed_supplement_;
  std::string stand_in_file_;
  std::unique_ptr<Dwfl, EndDwfl> dwfl_;
  std::unique_ptr<Elf, EndElf> linked_;
  Elf* elf_ = nullptr;  // of dwfl_, or linked_
  OpenedDwarf stand_in_;
  OpenedDwarf supplement_;  // empty: there is none
  std::unique_ptr<Dwarf, EndDwarf> dwarf_;
  std::vector<Place> places_;            // of a relocatable file, by `said`
  std::vector<std::string_view> texts_;  // sections of DWARF
};

}  // namespace plimsoll::symbolizer
