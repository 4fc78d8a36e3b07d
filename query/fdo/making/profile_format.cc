#include "query/fdo/making/profile_format.h"

#include "query/fdo/profile/gcov.h"
#include "query/fdo/profile/llvm_binary.h"
#include "query/fdo/profile/llvm_text.h"

namespace plimsoll::fdo {

std::string bytes_of(const SampleProfile& profile, ProfileFormat format) {
  if (profile.functions.empty()) {
    return {};
  }
  switch (format) {
    case ProfileFormat::kText:
      return write_llvm_text(profile);
    case ProfileFormat::kBinary:
      return write_llvm_binary(profile);
    case ProfileFormat::kGcov:
      break;
  }
  return write_gcov(profile);
}

}  // namespace plimsoll::fdo
