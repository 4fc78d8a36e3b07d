// `flame`: the stacks of a selection merged into one tree.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "query/selection/parameters.h"
#include "query/snapshot/snapshot.h"
#include "query/table/table.h"
#include "statistics/estimate.h"

namespace plimsoll::query {

// No answer has more nodes; one takes about 100 bytes.
inline constexpr size_t kMaxFlameNodes = 2'000'000;

// Nodes whose shares have margins: the largest, so many at most; and fewer, but no fewer than the other number, where they would come to more
// than kMaxFlameSums with a sum for each machine.
inline constexpr size_t kMaxFlameMargins = 500;
inline constexpr size_t kFewestFlameMargins = 20;
inline constexpr size_t kMaxFlameSums = 1'000'000;

// What JSON looks like: a tree, or a list for each attribute of the nodes, which also says where their code is. The lists take a tenth
// of the bytes, and no reader's recursion.
enum class FlameForm : uint8_t { kTree, kColumns };

struct FlameRequest {
  Selection selection;
  double min_share = 0;           // nodes with a smaller share of the total are cut
  size_t limit = kMaxFlameNodes;  // nodes of the answer: those with the largest totals
  bool margins = true;
  FlameForm form = FlameForm::kTree;
};

// Parameters: those of a selection (query/selection/parameters.h); min_share, limit, margins (yes or no), form (tree or columns).
Result<FlameRequest> parse_flame(const Parameters& parameters, int64_t now_ns);

struct FlameNode {
  uint32_t name = 0;                   // index into Flame::names
  double self = 0;                     // of samples whose leaf this is, in the event's unit
  double total = 0;                    // self and all that is above it, cut or not
  uint32_t depth = 0;                  // of the root: 0
  std::optional<uint32_t> share = {};  // index into Flame::shares
};

enum class FrameKind : uint8_t { kNative, kKernel, kJit, kBpf, kUnknown };
inline constexpr size_t kFrameKinds = 5;
// "native", "kernel" (its modules too), "jit", "bpf", "unknown" (without a symbol or a stack).
std::string_view name_of(FrameKind kind);

// Where a node's code is: of the frames that were merged into it, the one with the largest total.
struct FlameFrame {
  uint32_t binary = 0;  // index into Flame::binaries
  uint32_t file = 0;    // index into Flame::files
  uint32_t line = 0;    // 0: unknown
  FrameKind kind = FrameKind::kUnknown;
  bool is_inlined = false;
};

// Nodes stand in preorder: a node's children follow it, the largest total first, each with its own. No recursion is
// needed to walk them, however deep the stacks.
struct Flame {
  std::string event;
  std::string unit;  // "ns", "bytes", "count"
  std::vector<std::string> notes;
  Coverage coverage;
  std::vector<std::string> names;
  std::vector<FlameNode> nodes;  // the first is the root, "all"
  // What parts of the root's total nodes' totals are, with their margins of error.
  std::vector<statistics::Estimate> shares;
  FlameForm form = FlameForm::kTree;
  // In the form of columns, of each node.
  std::vector<FlameFrame> frames = {};
  std::vector<std::string> binaries = {};
  std::vector<std::string> files = {};
};

// Each frame is a node, inlined ones included. Locations without a name stand as "[no symbol in BINARY]", samples
// without a stack as "[no stack]". Costs a pass over the rows, and what is shown: nodes that are cut are not built, and a note says
// what falls to them. With margins, a second pass.
Result<Flame> flame(const FlameRequest& request, const Snapshot& snapshot);

// "main;parse;lex 1200": a line for each stack, sorted, its self value rounded to the event's unit. What a cut took off
// counts where it was cut. ';' in a name becomes ':', a control character a space. Lines that round to 0 are left out.
// kTooLarge where the lines of very deep stacks would take over a gigabyte.
Result<std::string> to_folded(const Flame& flame);
// For people: a line for each node, indented by its depth, cut where a terminal ends.
std::string to_text(const Flame& flame, const TextStyle& style = {});
// {"event", "unit", "notes", "coverage": {...}, "tree": {"name", "self", "total", "children": [...]}}; nodes whose share of the root's
// total was estimated also have "total_share", "total_share_margin", "total_share_low", "total_share_high" (absent where there is no
// margin) and "total_margin_kind", as tables do.
// As columns: {..., "names", "binaries", "files", "kinds": [text], "nodes": {"name", "depth", "self", "total", "kind", "inlined", "binary",
// "file", "line": a list of numbers each, by node in preorder}, "margins": {"node", "share", "margin", "low", "high", "kind": lists}}.
std::string to_json(const Flame& flame);

// The inverse of to_json(), in either form; for answers of a server.
Result<Flame> flame_from_json(std::string_view text);

}  // namespace plimsoll::query
