// Where the parts of the recorded machine's kernel lay, as its records tell.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "capture/identity/kernel.h"
#include "formats/perf_data/header_build_ids.h"
#include "formats/perf_data/limits.h"
#include "formats/perf_data/metadata.h"
#include "formats/perf_data/side_records.h"

namespace plimsoll::perf_data {

// One thread. What find() gives stays valid as long as this lives.
class RecordedKernel : public identity::KernelCode {
 public:
  // `build_ids` are the recording's; those of its kernel are used.
  RecordedKernel(const std::vector<RecordedBuildId>& build_ids, const Limits& limits);

  void apply(const KernelMmapRecord& record);
  void apply(const KernelSymbolRecord& record);

  std::optional<Place> find(uint64_t address) const override;

  // Of the kernel itself, binary; empty where the recording does not tell.
  std::string build_id() const { return kernel_ == nullptr ? std::string() : kernel_->build_id; }
  // Parts of which the header tells several build IDs, and so none.
  uint64_t ambiguous_build_ids() const { return build_ids_.ambiguous(); }

 private:
  const identity::KernelImage* keep(identity::KernelImage image);

  struct Stub {
    identity::KernelStub stub;
    uint64_t end;
  };
  const size_t max_parts_;
  HeaderBuildIds build_ids_;                                           // by name of the image
  using ImageKey = std::tuple<std::string, uint64_t, std::string>;     // name, start, build ID
  std::map<ImageKey, std::unique_ptr<identity::KernelImage>> images_;  // all that ever were
  const identity::KernelImage* kernel_ = nullptr;
  std::map<uint64_t, const identity::KernelImage*> modules_;  // by start
  std::vector<std::unique_ptr<Stub>> kept_stubs_;
  std::map<uint64_t, const Stub*> stubs_;  // by start
};

}  // namespace plimsoll::perf_data
