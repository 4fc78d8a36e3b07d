// A data directory whose profiles have locations in binaries and kernels, and what binds those to names.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "store/ingest.h"
#include "store/store.h"
#include "symbolizer/worker/worker.h"
#include "tests/places.h"
#include "tests/profile_fixture.h"
#include "tests/temporary_directory.h"
#include "tests/unit/symbolizer/table_worker.h"

namespace plimsoll::symbolizer {

inline wire::Binary binary(std::string_view identity, const std::string& path) {
  wire::Binary made;
  made.set_identity_kind(wire::GNU_BUILD_ID);
  made.set_identity(std::string(identity));
  made.set_path(path);
  return made;
}

inline constexpr uint64_t kFirstKernelOffset = 0x1000;
inline constexpr uint64_t kKernelFunctionBytes = 0x100;

// As a daemon brings them with the profile's newest binary, a kernel: these functions one behind the other, from
// kFirstKernelOffset on.
inline void add_kernel_symbols(wire::RawProfile& profile, const std::vector<std::string>& functions) {
  wire::KernelImage& image = *profile.mutable_kernel_symbols()->add_images();
  image.set_binary(static_cast<uint32_t>(profile.binaries_size() - 1));
  std::string names;
  for (const std::string& function : functions) {
    image.add_offset_delta(names.empty() ? kFirstKernelOffset : kKernelFunctionBytes);
    names += function + '\0';
  }
  image.set_names(names);
}

class BindingTest : public ::testing::Test {
 protected:
  void ingest(const wire::RawProfile& profile) {
    ASSERT_TRUE(ingest_->accept(as_bytes(wire::encode(profile)), {}));
    ASSERT_TRUE(ingest_->build_pending());
  }

  Symbolizer symbolizer_for(const SymbolRoots& roots) const {
    return Symbolizer(loader_in(folder_ / "data", roots));
  }

  // By a process that has just started.
  SymbolizeReport bind(const SymbolRoots& roots = {{built_file()}}) {
    Symbolizer symbolizer = symbolizer_for(roots);
    return bind(symbolizer);
  }

  SymbolizeReport bind(Symbolizer& symbolizer, bool look_for_better = true) {
    const auto blocks = *store::symbols_of(*ingest_)->blocks();
    const auto report = symbolizer.run(*blocks.back(), look_for_better);
    EXPECT_TRUE(report) << report.error().text();
    return report.value_or(SymbolizeReport());
  }

  plimsoll::testing::TemporaryDirectory folder_;
  std::string catalogue_path_ = folder_ / "data/blocks/000001/catalogue.db";
  std::unique_ptr<store::Ingest> ingest_ = *store::Ingest::open(folder_ / "data");
};

}  // namespace plimsoll::symbolizer
