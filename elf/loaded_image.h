// The loaded part of an ELF image whose bytes lie elsewhere: in a file that may shrink while it is read, or in the memory
// of another process. Reads what is asked for, and maps nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "elf/compressed_section.h"
#include "elf/elf_file.h"

namespace plimsoll::elf {

// Exactly `size_bytes` bytes from `offset` on, or an error.
using ReadAt = std::function<Result<std::string>(uint64_t offset, uint64_t size_bytes)>;

// A section with call frame information, not read yet.
struct CallFrames {
  enum class Format { kEhFrame, kDebugFrame };
  Format format = Format::kEhFrame;
  ReadAt read = {};         // takes offsets in the section, and keeps open what it reads from
  uint64_t size_bytes = 0;  // of .eh_frame, which ends itself: how far it can reach at most
  uint64_t address = 0;     // ELF address of its first byte; 0 of .debug_frame, which is not loaded
  bool is_go = false;       // written by the Go toolchain, whose rules leave out where rbp is saved
};

// One thread. Untrusted bytes: counts and sizes are bounded.
class LoadedImage {
 public:
  // `read` takes file offsets.
  static Result<LoadedImage> from_file(ReadAt read);
  // `read` takes addresses of the process; the ELF header is mapped at `header_address`.
  static Result<LoadedImage> from_memory(ReadAt read, uint64_t header_address);

  // The PT_LOAD ones.
  const std::vector<Segment>& segments() const { return segments_; }
  // The GNU build ID's bytes; empty where there is none.
  const std::string& build_id() const { return build_id_; }
  // A program of the Go toolchain, by its build note.
  bool is_go() const { return is_go_; }
  // The JSON of the loaded note that packages leave (`.note.package`), as it stands there; empty where there is none.
  const std::string& package_metadata() const { return package_metadata_; }

  // ELF address of the first instruction of a program or loader; 0: it has none.
  uint64_t entry_point() const { return entry_point_; }

  // Where the call frame information lies, .eh_frame first; none where the image has none. .debug_frame is found in files
  // alone, and read when it is compressed. Fails where all that the image says of is out of reach.
  Result<std::vector<CallFrames>> call_frames() const;

  // The bytes of the first section of that name that has any, decompressed; kNotFound where there is none, or this is memory,
  // which has no section headers; kTooLarge beyond `max_bytes`.
  Result<std::string> section_bytes(std::string_view name, uint64_t max_bytes) const;

  // Bytes by ELF address, within one segment.
  Result<std::string> read(uint64_t address, uint64_t size_bytes) const;

 private:
  LoadedImage(ReadAt read, std::optional<uint64_t> header_address)
      : read_(std::move(read)), header_address_(header_address) {}
  Status read_headers();
  bool takes_initial_stack(uint64_t entry_point) const;
  void read_notes(uint64_t address, uint64_t file_offset, uint64_t size_bytes);
  const Segment* segment_of(uint64_t address) const;
  // ELF address; 0: there is none.
  Result<uint64_t> eh_frame_address() const;
  Status add_debug_frame(std::vector<CallFrames>& sections) const;

  struct Section {
    uint64_t address = 0;
    uint64_t file_offset = 0;
    uint64_t size_bytes = 0;
    Compression compression = Compression::kNone;
  };
  // By the section headers, which memory has none of.
  std::optional<Section> find_section(std::string_view name) const;
  Result<std::string> bytes_of(const Section& section, Compression compression, uint64_t max_bytes) const;
  // Where `read_` finds the byte at an ELF address of that segment.
  uint64_t place_of(uint64_t address, const Segment& segment) const {
    return header_address_ ? address + bias_ : segment.file_offset + (address - segment.address);
  }

  ReadAt read_;
  std::optional<uint64_t> header_address_;  // in memory; else a file
  uint64_t bias_ = 0;                       // process address minus ELF address, in memory
  std::vector<Segment> segments_;
  std::string build_id_;
  std::string package_metadata_;
  bool is_go_ = false;
  uint64_t entry_point_ = 0;
  uint64_t eh_frame_hdr_ = 0;  // ELF address; 0: none
  uint64_t section_headers_offset_ = 0;
  uint16_t section_count_ = 0;
  uint16_t section_names_ = 0;
};

// A file's bytes by pread, `name` for errors. Also serves /proc/PID/mem, whose offsets are addresses.
ReadAt read_at_of(std::shared_ptr<const UniqueFd> fd, std::string name);
// Bytes in memory as a file, borrowed.
ReadAt read_at_of(Bytes file);

}  // namespace plimsoll::elf
