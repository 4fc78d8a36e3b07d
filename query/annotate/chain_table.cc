#include "query/annotate/chain_table.h"

#include <algorithm>
#include <utility>

#include "query/annotate/function_match.h"

namespace plimsoll::annotate {
namespace {

// Inlined calls nest some dozens deep at most; a crafted file may say otherwise. What lies deeper counts at the call.
constexpr size_t kMaxDepth = 64;

}  // namespace

uint32_t ChainTable::chain_at(uint64_t address, const std::string& function) {
  frames_.clear();
  if (symbols_ != nullptr) {
    symbols_->look_up(address, frames_);
  }
  const size_t depth = std::min(frames_.size(), kMaxDepth);
  Chain chain;
  chain.reserve(std::max<size_t>(depth, 1));
  for (size_t i = 0; i < depth; ++i) {
    const symbolizer::SymtabFrame& frame = frames_[frames_.size() - 1 - i];
    chain.push_back({i == 0 ? name(function) : name_of(frame), file(frame.file), frame.line});
  }
  if (chain.empty()) {
    chain.push_back({.function = name(function)});
  }
  const auto [known, is_new] =
      chains_.try_emplace(std::move(chain), static_cast<uint32_t>(annotation_.chains.size()));
  if (is_new) {
    annotation_.chains.push_back(known->first);
  }
  return known->second;
}

uint32_t ChainTable::name_of(const symbolizer::SymtabFrame& frame) {
  const std::string_view linked = frame.known_as.empty() ? frame.function : frame.known_as;
  const auto [known, is_new] = linked_names_.try_emplace(linked, 0);
  if (is_new && !linked.empty()) {
    known->second = name(shown_name(frame));
  }
  return known->second;
}

uint32_t ChainTable::name(const std::string& text) {
  const auto [known, is_new] = names_.try_emplace(text, static_cast<uint32_t>(annotation_.names.size()));
  if (is_new) {
    annotation_.names.push_back(text);
  }
  return known->second;
}

uint32_t ChainTable::file(std::string_view path) {
  if (path.empty()) {
    return 0;
  }
  const auto [known, is_new] = files_.try_emplace(path, static_cast<uint32_t>(annotation_.files.size()));
  if (is_new) {
    annotation_.files.push_back({.path = std::string(path)});
  }
  return known->second;
}

}  // namespace plimsoll::annotate
