#include "cli/bursts_functions.h"

#include <utility>

#include "cli/symbol_tables.h"
#include "symbolizer/names/demangle.h"
#include "symbolizer/worker/table_folder.h"

namespace plimsoll::cli {
namespace {

std::string function_at(const symbolizer::Symtab& table, const traces::BurstFrame& frame) {
  const bool is_elf = frame.kind == traces::BurstAddressKind::kElf;
  const auto address = is_elf ? std::optional(frame.address) : table.address_of(frame.address);
  std::vector<symbolizer::SymtabFrame> frames;
  if (address) {
    table.look_up(*address, frames);
  }
  if (frames.empty()) {
    return {};
  }
  const symbolizer::SymtabFrame& outermost = frames.back();
  return symbolizer::display_name(outermost.known_as.empty() ? outermost.function : outermost.known_as);
}

}  // namespace

Result<BurstFunctions> BurstFunctions::open(const std::vector<std::string>& binaries, std::string data_dir) {
  BurstFunctions functions(std::move(data_dir));
  for (const std::string& binary : binaries) {
    TableSource source;
    source.files.binary = binary;
    auto made = make_table(source);
    if (!made) {
      return with_field(propagate(made), "--binary");
    }
    if (made->mapped) {
      std::string build_id(made->mapped->table.identity());
      functions.tables_.emplace(std::move(build_id), std::move(made->mapped));
    }
  }
  return functions;
}

const symbolizer::Symtab* BurstFunctions::table_of(const std::string& build_id) {
  const auto [found, is_new] = tables_.try_emplace(build_id);
  if (is_new && !data_dir_.empty()) {
    if (auto table = open_table(symbolizer::table_path(data_dir_, build_id))) {
      found->second.emplace(std::move(*table));
    }
  }
  return found->second ? &found->second->table : nullptr;
}

void BurstFunctions::name(traces::BurstRecording& recording) {
  traces::BurstStacks& stacks = recording.stacks;
  for (traces::BurstFrame& frame : stacks.frames) {
    const std::string& build_id = stacks.binaries[frame.binary].build_id;
    const bool may_be_named =
        frame.function.empty() && frame.kind != traces::BurstAddressKind::kKernel && !build_id.empty();
    const symbolizer::Symtab* const table = may_be_named ? table_of(build_id) : nullptr;
    if (table != nullptr) {
      frame.function = function_at(*table, frame);
    }
  }
}

}  // namespace plimsoll::cli
