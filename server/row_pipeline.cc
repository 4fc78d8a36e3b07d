#include "server/row_pipeline.h"

namespace plimsoll::server {
namespace {

// Until nothing is pending.
Result<store::BuildReport> build_rows(store::Ingest& ingest) {
  store::BuildReport all;
  while (true) {
    const auto built = ingest.build_pending();
    if (!built) {
      return propagate(built, "building rows");
    }
    if (built->profiles + built->unbuildable == 0) {
      return all;
    }
    all.profiles += built->profiles;
    all.rows += built->rows;
    all.unbuildable += built->unbuildable;
  }
}

}  // namespace

Result<PipelineReport> run_pipeline(store::Ingest& ingest, SymbolPasses& passes) {
  const auto rows = build_rows(ingest);
  if (!rows) {
    return propagate(rows);
  }
  auto names = passes.run(true);
  if (!names) {
    return propagate(names);
  }
  return PipelineReport{*rows, std::move(*names)};
}

}  // namespace plimsoll::server
