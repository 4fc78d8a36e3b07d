#include "formats/perf_data/recorded_kernel.h"

#include <algorithm>

#include "capture/identity/processes.h"
#include "capture/identity/workload.h"

namespace plimsoll::perf_data {
namespace {

constexpr std::string_view kKernelPath = "[kernel.kallsyms]";
// No kernel's code is larger; old versions of perf say that it reaches to the end of the address space.
constexpr uint64_t kMaxKernelBytes = uint64_t{1} << 30;
constexpr uint64_t kPageBytes = 4096;

bool is_kernel_itself(std::string_view path) {
  return path.starts_with(kKernelPath);
}

// Where perf had the kernel's symbols from. Mappings never name the kernel so.
bool is_kernel_file(std::string_view path) {
  const std::string_view name = identity::base_name(path);
  return name.starts_with("vmlinux") || name == "[kernel.vmlinux]" || name == "kcore" ||
         name == "[kernel.kcore]";
}

// "[xfs]" and "/lib/modules/6.1/kernel/fs/xfs.ko.xz" are xfs. The kernel knows names of modules with '_' only.
std::string image_name(std::string_view path) {
  if (is_kernel_itself(path)) {
    return std::string(identity::kKernelExecutable);
  }
  std::string_view name = identity::base_name(path);
  if (name.starts_with('[') && name.ends_with(']')) {
    name = name.substr(1, name.size() - 2);
  }
  std::string result(name.substr(0, name.find(".ko")));
  std::ranges::replace(result, '-', '_');
  return result;
}

// The address of _text. The record tells that of a symbol near it: _text itself, or _stext, which follows it in its page.
uint64_t text_address(const KernelMmapRecord& record) {
  const uint64_t symbol = record.file_offset == 0 ? record.start : record.file_offset;
  return record.path.ends_with("_stext") ? symbol / kPageBytes * kPageBytes : symbol;
}

}  // namespace

RecordedKernel::RecordedKernel(const std::vector<RecordedBuildId>& build_ids, const Limits& limits)
    : max_parts_(limits.max_kernel_parts) {
  for (const RecordedBuildId& told : build_ids) {
    if (told.is_kernel) {
      build_ids_.add(is_kernel_file(told.path) ? identity::kKernelExecutable : image_name(told.path),
                     told.build_id);
    }
  }
}

const identity::KernelImage* RecordedKernel::keep(identity::KernelImage image) {
  if (image.build_id.empty()) {
    image.build_id = build_ids_.of(image.name);
  }
  const ImageKey key{image.name, image.start, image.build_id};
  const auto known = images_.find(key);
  if (known != images_.end()) {
    return known->second.get();
  }
  if (images_.size() >= max_parts_) {
    return nullptr;
  }
  return images_.emplace(key, std::make_unique<identity::KernelImage>(std::move(image))).first->second.get();
}

void RecordedKernel::apply(const KernelMmapRecord& record) {
  identity::KernelImage image;
  image.name = image_name(record.path);
  image.build_id = record.build_id;
  if (is_kernel_itself(record.path)) {
    image.start = text_address(record);
    image.end = record.start + std::min(record.size_bytes, UINT64_MAX - record.start);
    image.end = std::min(image.end, image.start + std::min(kMaxKernelBytes, UINT64_MAX - image.start));
    kernel_ = keep(std::move(image));
    return;
  }
  image.start = record.start;
  image.end = record.start + std::min(record.size_bytes, UINT64_MAX - record.start);
  if (const auto* module = keep(std::move(image))) {
    modules_[module->start] = module;
  }
}

void RecordedKernel::apply(const KernelSymbolRecord& record) {
  if (record.is_removed) {
    stubs_.erase(record.start);
  } else if (kept_stubs_.size() < max_parts_) {
    const uint64_t end = record.start + std::min(record.size_bytes, UINT64_MAX - record.start);
    kept_stubs_.push_back(std::make_unique<Stub>(Stub{{record.start, record.name}, end}));
    stubs_[record.start] = kept_stubs_.back().get();
  }
}

std::optional<identity::KernelCode::Place> RecordedKernel::find(uint64_t address) const {
  const auto stub = stubs_.upper_bound(address);
  if (stub != stubs_.begin() && address < std::prev(stub)->second->end) {
    return Place{nullptr, &std::prev(stub)->second->stub, address - std::prev(stub)->first};
  }
  const auto module = modules_.upper_bound(address);
  if (module != modules_.begin() && address < std::prev(module)->second->end) {
    return Place{std::prev(module)->second, nullptr, address - std::prev(module)->first};
  }
  if (kernel_ != nullptr && address >= kernel_->start && address < kernel_->end) {
    return Place{kernel_, nullptr, address - kernel_->start};
  }
  return std::nullopt;
}

}  // namespace plimsoll::perf_data
