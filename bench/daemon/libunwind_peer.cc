#include "bench/daemon/libunwind_peer.h"

#include <elf.h>
#include <libunwind.h>

#include <algorithm>

#include "base/file.h"
#include "bench/daemon/parts.h"
#include "capture/unwind/registers.h"
#include "capture/unwind/stack_copy.h"
#include "elf/elf_file.h"

// What libunwind's own readers of tables end in; exported for others, but declared in no header of its own.
extern "C" int UNW_OBJ(dwarf_search_unwind_table)(unw_addr_space_t space, unw_word_t ip,
                                                  unw_dyn_info_t* table, unw_proc_info_t* found,
                                                  int need_unwind_info, void* arg);

namespace plimsoll::bench {
namespace {

constexpr size_t kMaxFrames = 1024;
constexpr size_t kCachedRules = 8192;  // as our walker kept at most

// .eh_frame_hdr (LSB Core): version 1, encodings udata4 or sdata4 relative to the header for its table, the count of
// entries after a pointer to .eh_frame.
struct EhFrameHeader {
  uint8_t version, pointer_encoding, count_encoding, table_encoding;
  int32_t eh_frame;
  uint32_t count;
};
constexpr uint64_t kTableEntryBytes = 8;

}  // namespace

struct LibunwindPeer::File {
  MappedFile mapped;
  Bytes bytes;
  std::vector<elf::Segment> segments;
  uint64_t header_address = 0;  // of .eh_frame_hdr; 0: there is none
  uint64_t count = 0;

  // What the file holds for an ELF address; nothing where it holds nothing.
  Bytes at(uint64_t address, uint64_t size_bytes) const {
    for (const elf::Segment& segment : segments) {
      const uint64_t offset = address - segment.address;
      if (segment.type == PT_LOAD && address >= segment.address && offset < segment.file_bytes &&
          size_bytes <= segment.file_bytes - offset) {
        return slice(bytes, segment.file_offset + offset, size_bytes, "segment").value_or(Bytes());
      }
    }
    return {};
  }
};

struct LibunwindPeer::Image {
  uint64_t start;  // of the executable mapping
  uint64_t end;
  uint64_t bias;  // process address minus ELF address
  const File* file;
};

struct LibunwindPeer::Space {
  std::vector<Image> images;
  unw_addr_space_t space = nullptr;
  // The sample that is being unwound.
  unwind::Registers registers;
  unwind::StackCopy stack;

  ~Space() { ::unw_destroy_addr_space(space); }

  static Space& of(void* arg) { return *static_cast<Space*>(arg); }

  static int find_proc_info(unw_addr_space_t space, unw_word_t ip, unw_proc_info_t* found,
                            int need_unwind_info, void* arg) {
    for (const Image& image : of(arg).images) {
      if (ip < image.start || ip >= image.end || image.file->header_address == 0) {
        continue;
      }
      unw_dyn_info_t table{};
      table.format = UNW_INFO_FORMAT_REMOTE_TABLE;
      table.start_ip = image.start;
      table.end_ip = image.end;
      table.u.rti.segbase = image.file->header_address + image.bias;
      table.u.rti.table_data = table.u.rti.segbase + sizeof(EhFrameHeader);
      table.u.rti.table_len = image.file->count * kTableEntryBytes / sizeof(unw_word_t);
      return UNW_OBJ(dwarf_search_unwind_table)(space, ip, &table, found, need_unwind_info, arg);
    }
    return -UNW_ENOINFO;
  }

  static int access_mem(unw_addr_space_t, unw_word_t address, unw_word_t* value, int write, void* arg) {
    const Space& self = of(arg);
    if (write != 0) {
      return -UNW_EINVAL;
    }
    if (const auto word = self.stack.word(address)) {
      *value = *word;
      return 0;
    }
    for (const Image& image : self.images) {
      const Bytes bytes = image.file->at(address - image.bias, sizeof *value);
      if (!bytes.empty()) {
        std::memcpy(value, bytes.data(), sizeof *value);
        return 0;
      }
    }
    return -UNW_EINVAL;
  }

  // libunwind numbers registers as DWARF does.
  static int access_reg(unw_addr_space_t, unw_regnum_t number, unw_word_t* value, int write, void* arg) {
    const unwind::Registers& registers = of(arg).registers;
    if (write != 0 || number < 0 || !registers.knows(static_cast<uint64_t>(number))) {
      return -UNW_EBADREG;
    }
    *value = registers[static_cast<uint64_t>(number)];
    return 0;
  }

  static unw_accessors_t accessors() {
    unw_accessors_t functions{};
    functions.find_proc_info = find_proc_info;
    functions.put_unwind_info = [](unw_addr_space_t, unw_proc_info_t*, void*) {};
    functions.get_dyn_info_list_addr = [](unw_addr_space_t, unw_word_t*, void*) { return -UNW_ENOINFO; };
    functions.access_mem = access_mem;
    functions.access_reg = access_reg;
    functions.access_fpreg = [](unw_addr_space_t, unw_regnum_t, unw_fpreg_t*, int, void*) {
      return -UNW_EBADREG;
    };
    functions.resume = [](unw_addr_space_t, unw_cursor_t*, void*) { return -UNW_EINVAL; };
    functions.get_proc_name = [](unw_addr_space_t, unw_word_t, char*, size_t, unw_word_t*, void*) {
      return -UNW_EINVAL;
    };
    return functions;
  }
};

LibunwindPeer::LibunwindPeer() = default;
LibunwindPeer::~LibunwindPeer() = default;

const LibunwindPeer::File& LibunwindPeer::file_of(const identity::BinaryInfo& binary) {
  auto& file = files_[&binary];
  if (file != nullptr) {
    return *file;
  }
  file = std::make_unique<File>();
  if (binary.path == identity::kVdso) {
    file->bytes = elf::own_vdso_bytes().value_or(Bytes());
  } else if (auto mapped = MappedFile::open(binary.path, kMaxFileBytes)) {
    file->mapped = std::move(*mapped);
    file->bytes = file->mapped.bytes();
  }
  const auto parsed = elf::ElfFile::parse(file->bytes);
  if (!parsed) {
    return *file;
  }
  file->segments = parsed->segments();
  const auto header = ByteReader(parsed->section_bytes(".eh_frame_hdr")).read<EhFrameHeader>();
  const auto section = std::ranges::find(parsed->sections(), ".eh_frame_hdr", &elf::Section::name);
  if (header.version == 1 && header.count_encoding == 0x03 && header.table_encoding == 0x3b) {
    file->header_address = section->address;
    file->count = header.count;
  }
  return *file;
}

LibunwindPeer::Space& LibunwindPeer::space_of(const identity::Process& process) {
  auto& space = spaces_[process.mappings.get()];
  if (space != nullptr) {
    return *space;
  }
  space = std::make_unique<Space>();
  static unw_accessors_t accessors = Space::accessors();
  space->space = ::unw_create_addr_space(&accessors, 0);
  ::unw_set_caching_policy(space->space, UNW_CACHE_GLOBAL);
  ::unw_set_cache_size(space->space, kCachedRules, 0);
  for (const auto& [start, mapping] : process.mappings->all()) {
    const auto address = mapping.binary == nullptr
                             ? std::nullopt
                             : elf::address_of(mapping.binary->segments, mapping.file_offset);
    if (address) {
      space->images.push_back({start, mapping.end, start - *address, &file_of(*mapping.binary)});
    }
  }
  return *space;
}

void LibunwindPeer::unwind(const CapturedSample& captured, std::vector<uint64_t>& instructions) {
  instructions.clear();
  Space& space = space_of(captured.process);
  const perf::SampleRecord& sample = captured.sample;
  space.registers = unwind::registers_from_perf(perf::kUserRegisterMask, sample.user_registers);
  space.stack = {.start = space.registers[unwind::kRsp], .bytes = sample.user_stack};
  unw_cursor_t cursor{};
  if (::unw_init_remote(&cursor, space.space, &space) != 0) {
    return;
  }
  do {
    unw_word_t ip = 0;
    if (::unw_get_reg(&cursor, UNW_REG_IP, &ip) != 0 || ip == 0) {
      return;
    }
    instructions.push_back(ip);
  } while (instructions.size() < kMaxFrames && ::unw_step(&cursor) > 0);
}

}  // namespace plimsoll::bench
