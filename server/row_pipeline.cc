#include "server/row_pipeline.h"

#include "symbolizer/worker/worker.h"

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

Status bind_names(store::Ingest& ingest, const symbolizer::SymbolRoots& roots, PipelineReport& report) {
  std::vector<symbolizer::UnboundBinary> unbound;
  const auto found = ingest.write_catalogue([&](sqlite::Database& catalogue) -> Status {
    auto binaries = symbolizer::find_unbound(catalogue);
    if (!binaries) {
      return propagate(binaries);
    }
    unbound = std::move(*binaries);
    return {};
  });
  if (!found || unbound.empty()) {
    return found;
  }
  const auto looked_up = symbolizer::look_up(unbound, roots);
  for (const symbolizer::LookedUpBinary& binary : looked_up) {
    report.locations += binary.bindings.size();
    for (const store::Binding& binding : binary.bindings) {
      report.named += binding.frames.empty() ? 0 : 1;
    }
    if (!binary.missing_reason.empty()) {
      report.missing.push_back(fmt::format("{}: {}", binary.path, binary.missing_reason));
    }
  }
  return ingest.write_catalogue(
      [&](sqlite::Database& catalogue) { return symbolizer::write_bindings(catalogue, looked_up); });
}

}  // namespace

Result<PipelineReport> run_pipeline(store::Ingest& ingest, const symbolizer::SymbolRoots& roots) {
  PipelineReport report;
  if (auto built = build_rows(ingest, report); !built) {
    return propagate(built);
  }
  if (auto bound = bind_names(ingest, roots, report); !bound) {
    return propagate(bound, "naming locations");
  }
  return report;
}

}  // namespace plimsoll::server
