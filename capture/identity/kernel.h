// The running kernel's addresses: where its parts lie now, and the names in them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace plimsoll::identity {

// The kernel or a loaded module.
struct KernelImage {
  std::string name;      // "[kernel]" or the module's name
  std::string build_id;  // binary; empty where unknown
  uint64_t start = 0;    // address now (KASLR included): of _text, or where the module was loaded
  uint64_t end = 0;
  struct Symbol {
    uint64_t offset;  // from start
    std::string name;
  };
  std::vector<Symbol> symbols;  // of code, by offset; one name for each
};

// Code that belongs to no image: BPF programs, trampolines.
struct KernelStub {
  uint64_t start;
  std::string name;
};

// Which part of a kernel lies where.
class KernelCode {
 public:
  struct Place {
    const KernelImage* image = nullptr;  // null: in `stub`
    const KernelStub* stub = nullptr;
    uint64_t offset = 0;
  };
  virtual ~KernelCode() = default;
  virtual std::optional<Place> find(uint64_t address) const = 0;
};

// The running kernel. Immutable; made once and kept. About 10 MB for a kernel of 150,000 symbols, a quarter of a second to read.
class KernelMap : public KernelCode {
 public:
  // From /proc/kallsyms, /proc/modules and /sys. Fails with kDenied where addresses are hidden (CAP_SYSLOG).
  static Result<KernelMap> read_running();

  // From texts in the formats of these files. `build_id_of` gives a module's build ID.
  static Result<KernelMap> parse(std::string_view kallsyms, std::string_view modules,
                                 std::string kernel_build_id,
                                 const std::map<std::string, std::string>& module_build_ids);

  const std::vector<KernelImage>& images() const { return images_; }

  std::optional<Place> find(uint64_t address) const override;

 private:
  std::vector<KernelImage> images_;  // by start
  std::vector<KernelStub> stubs_;    // by start
};

// The build ID in /sys/kernel/notes, as bytes; empty where unreadable.
std::string running_kernel_build_id();

}  // namespace plimsoll::identity
