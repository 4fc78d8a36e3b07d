#include "server/row_pipeline.h"

namespace plimsoll::server {
namespace {

Status build_rows(store::Ingest& ingest, PipelineReport& report) {
  while (true) {
    const auto built = ingest.build_pending();
    if (!built) {
      return propagate(built, "building rows");
    }
    if (built->profiles + built->unbuildable == 0) {
      return {};
    }
    report.profiles += built->profiles;
    report.rows += built->rows;
    report.unbuildable += built->unbuildable;
  }
}

}  // namespace

Result<PipelineReport> run_pipeline(store::Ingest& ingest, symbolizer::Symbolizer& symbolizer,
                                    bool look_for_better) {
  PipelineReport report;
  if (auto built = build_rows(ingest, report); !built) {
    return propagate(built);
  }
  auto named = symbolizer.run(
      [&](const symbolizer::CatalogueWork& work) { return ingest.write_catalogue(work); }, look_for_better);
  if (!named) {
    return propagate(named, "naming locations");
  }
  report.names = std::move(*named);
  return report;
}

}  // namespace plimsoll::server
