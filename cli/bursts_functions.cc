#include "cli/bursts_functions.h"

#include <algorithm>
#include <string_view>

#include "base/hex.h"
#include "cli/symbol_tables.h"
#include "symbolizer/worker/table_folder.h"

namespace plimsoll::cli {
namespace {

// So that a URL has some KiB.
constexpr size_t kPlacesAtOnce = 200;

}  // namespace

Result<BurstFunctions> BurstFunctions::open(const std::vector<std::string>& binaries, AnswerSource source) {
  BurstFunctions functions(std::move(source));
  for (const std::string& binary : binaries) {
    TableSource table;
    table.files.binary = binary;
    auto made = make_table(table);
    if (!made) {
      return with_field(propagate(made), "--binary");
    }
    auto mapped = std::move(made->mapped);
    if (mapped.has_value()) {
      std::string build_id(mapped->table.identity());
      functions.tables_.emplace(std::move(build_id), std::move(mapped));
    }
  }
  return functions;
}

const symbolizer::Symtab* BurstFunctions::table_of(const std::string& build_id) {
  const auto [found, is_new] = tables_.try_emplace(build_id);
  if (is_new && source_.server.empty() && !source_.data_dir.empty()) {
    if (auto table = symbolizer::read_table(source_.data_dir, build_id)) {
      found->second.emplace(std::move(*table));
    }
  }
  const auto& known = found->second;
  return known.has_value() ? &known->table : nullptr;
}

Result<std::vector<std::string>> BurstFunctions::functions_in(const std::string& build_id,
                                                              std::span<const symbolizer::CodePlace> places) {
  if (const symbolizer::Symtab* const table = table_of(build_id); table != nullptr) {
    return symbolizer::functions_at(*table, places);
  }
  std::vector<std::string> functions;
  while (!source_.server.empty() && functions.size() < places.size() && !unknown_builds_.contains(build_id)) {
    const size_t count = std::min(places.size() - functions.size(), kPlacesAtOnce);
    auto some = ask_for(build_id, places.subspan(functions.size(), count));
    if (!some) {
      return propagate(some, "naming functions");
    }
    some->resize(count);
    functions.insert(functions.end(), some->begin(), some->end());
  }
  functions.resize(places.size());
  return functions;
}

Result<std::vector<std::string>> BurstFunctions::ask_for(const std::string& build_id,
                                                         std::span<const symbolizer::CodePlace> places) {
  const auto answer = ask_server(source_, "/api/v1/functions/" + to_hex(build_id),
                                 {{"at", symbolizer::text_of_places(places)}});
  std::vector<std::string> functions;
  // A server that is older than these questions knows no build, either.
  if (!answer && answer.error().code == ErrorCode::kNotFound) {
    unknown_builds_.insert(build_id);
    return functions;
  }
  if (!answer) {
    return propagate(answer);
  }
  std::string_view rest = *answer;
  for (size_t end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
    functions.emplace_back(rest.substr(0, end));
    rest.remove_prefix(end + 1);
  }
  return functions;
}

Status BurstFunctions::name(traces::BurstRecording& recording) {
  traces::BurstStacks& stacks = recording.stacks;
  std::map<std::string, std::vector<uint32_t>> unnamed;  // frames by build ID
  for (uint32_t i = 0; i < stacks.frames.size(); ++i) {
    const traces::BurstFrame& frame = stacks.frames[i];
    const std::string& build_id = stacks.binaries[frame.binary].build_id;
    if (frame.function.empty() && frame.kind != traces::BurstAddressKind::kKernel && !build_id.empty()) {
      unnamed[build_id].push_back(i);
    }
  }
  for (const auto& [build_id, frames] : unnamed) {
    std::vector<symbolizer::CodePlace> places;
    for (const uint32_t frame : frames) {
      places.push_back(
          {.address = stacks.frames[frame].address,
           .is_file_offset = stacks.frames[frame].kind == traces::BurstAddressKind::kFileOffset});
    }
    auto functions = functions_in(build_id, places);
    if (!functions) {
      return propagate(functions);
    }
    for (size_t i = 0; i < frames.size(); ++i) {
      stacks.frames[frames[i]].function = std::move((*functions)[i]);
    }
  }
  return {};
}

}  // namespace plimsoll::cli
