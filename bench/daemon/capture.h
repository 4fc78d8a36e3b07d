// Samples of what runs on this machine, kept with all that unwinding them needs, so that they can be unwound again and again.
#pragma once

#include <memory>
#include <vector>

#include "capture/identity/binaries.h"
#include "capture/identity/image.h"
#include "capture/identity/processes.h"
#include "capture/perf/records.h"

namespace plimsoll::bench {

struct CapturedSample {
  std::vector<std::byte> record;  // which `sample` borrows from
  perf::SampleRecord sample;
  identity::Process process;  // as it was at the time of the sample
};

// Not copied nor moved: its parts borrow from each other, and samples from all of them.
class Capture {
 public:
  Capture() : images_(proc_fs_), binaries_(images_), processes_(proc_fs_, binaries_) {}
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  // Samples every CPU and keeps, of each program, the first `max_of_one` samples that have user registers.
  Status run(double seconds, size_t max_of_one);

  const std::vector<CapturedSample>& samples() const { return samples_; }
  const identity::ImageSource& images() const { return images_; }

 private:
  void consume(Bytes bytes, size_t max_of_one);

  identity::ProcFs proc_fs_;
  identity::LiveImages images_;
  identity::BinaryTable binaries_;
  identity::ProcessTable processes_;
  std::vector<CapturedSample> samples_;
  std::map<std::string, size_t> kept_;  // by executable
};

}  // namespace plimsoll::bench
