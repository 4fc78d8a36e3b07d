#include <algorithm>
#include <cmath>
#include <map>

#include "base/printable.h"
#include "query/views/flame.h"

namespace plimsoll::query {
namespace {

constexpr uint64_t kMaxFoldedBytes = uint64_t{1} << 30;

// Deeper nodes stand at the same place and say how deep they are, so that a line stays readable.
constexpr size_t kDeepestIndent = 40;

std::string folded_name(std::string name) {
  for (char& c : name) {
    const auto byte = static_cast<unsigned char>(c);
    c = c == ';' ? ':' : byte < 0x20 || byte == 0x7F ? ' ' : c;
  }
  return printable(name);
}

// What each node's line counts: its self, and what was cut off above it.
std::vector<double> line_values(const Flame& flame) {
  std::vector<double> values(flame.nodes.size());
  std::vector<size_t> path;
  for (size_t i = 0; i < flame.nodes.size(); ++i) {
    const FlameNode& node = flame.nodes[i];
    values[i] = node.total;
    path.resize(node.depth);
    if (!path.empty()) {
      values[path.back()] -= node.total;
    }
    path.push_back(i);
  }
  // Where nothing was cut, what is left differs from self by rounding.
  constexpr double kRounding = 1e-9;
  for (size_t i = 0; i < values.size(); ++i) {
    const FlameNode& node = flame.nodes[i];
    values[i] = std::abs(values[i] - node.self) <= node.total * kRounding ? node.self : values[i];
  }
  return values;
}

// What stands behind shares; nothing at all where no node has a margin.
class Margins {
 public:
  explicit Margins(const Flame& flame) : flame_(flame) {
    for (const FlameNode& node : flame.nodes) {
      if (node.share) {
        const statistics::Estimate& estimate = flame.shares[*node.share];
        ++kinds_[std::string(statistics::margin_kind_name(estimate.margin_kind))];
        is_any_ = is_any_ || estimate.margin.has_value();
      }
    }
  }

  std::string header() const { return is_any_ ? column("±") : ""; }
  std::string of(const FlameNode& node) const {
    if (!is_any_) {
      return "";
    }
    const std::optional<double> margin = node.share ? flame_.shares[*node.share].margin : std::nullopt;
    return column(margin ? margin_text(*margin, "share") : "");
  }
  // How many shares have margins made of what.
  const std::map<std::string, size_t>& kinds() const { return kinds_; }

 private:
  static std::string column(std::string_view text) { return fmt::format(" {:<6}", text); }

  const Flame& flame_;
  std::map<std::string, size_t> kinds_;
  bool is_any_ = false;
};

struct Line {
  std::string stack;
  double value;
};

std::string sorted_text(std::vector<Line> lines) {
  std::ranges::sort(lines, {}, &Line::stack);
  std::string text;
  for (size_t i = 0; i < lines.size();) {
    double value = 0;
    const std::string& stack = lines[i].stack;
    for (; i < lines.size() && lines[i].stack == stack; ++i) {
      value += lines[i].value;
    }
    if (const auto rounded = std::llround(value); rounded > 0) {
      text += fmt::format("{} {}\n", stack, rounded);
    }
  }
  return text;
}

}  // namespace

Result<std::string> to_folded(const Flame& flame) {
  const std::vector<double> values = line_values(flame);
  std::vector<Line> lines;
  std::string stack;
  std::vector<size_t> ends{0};  // of the part of `stack` up to each depth
  uint64_t bytes = 0;
  for (size_t i = 0; i < flame.nodes.size(); ++i) {
    const FlameNode& node = flame.nodes[i];
    if (node.depth > 0) {
      ends.resize(node.depth);
      stack.resize(ends.back());
      stack += (stack.empty() ? "" : ";") + folded_name(flame.names[node.name]);
      ends.push_back(stack.size());
    }
    if (values[i] <= 0) {
      continue;
    }
    bytes += stack.size();
    if (bytes > kMaxFoldedBytes) {
      return with_hint(fail(ErrorCode::kTooLarge, "the folded stacks take over {} bytes", kMaxFoldedBytes),
                       "select less: with a filter (where), a share (min_share) or a limit");
    }
    lines.push_back({node.depth == 0 ? "[cut off]" : stack, values[i]});
  }
  return sorted_text(std::move(lines));
}

std::string to_text(const Flame& flame, const TextStyle& style) {
  std::string text;
  for (const std::string& note : flame.notes) {
    text += "note: " + printable(note) + "\n";
  }
  text += coverage_text(flame.event, flame.coverage);
  const Margins margins(flame);
  text += emphasized(fmt::format("{:>12}  {:>8}{}  {:>8}", "total", "", margins.header(), "self"),
                     Emphasis::kBold, style) +
          "\n";
  const double sum = flame.nodes.empty() ? 0 : flame.nodes.front().total;
  const auto share = [&](double value) { return readable(sum == 0 ? 0 : value / sum, "share"); };
  const size_t deepest_indent = style.width == 0 ? kDeepestIndent : std::min(kDeepestIndent, style.width / 6);
  for (const FlameNode& node : flame.nodes) {
    const std::string line =
        fmt::format("{:>12}  {:>8}{}  {:>8}  {:{}}{}{}", readable(node.total, flame.unit), share(node.total),
                    margins.of(node), share(node.self), "", 2 * std::min<size_t>(node.depth, deepest_indent),
                    node.depth > deepest_indent ? fmt::format("{}: ", node.depth) : "",
                    folded_name(flame.names[node.name]));
    text += (style.width == 0 ? line : clipped(line, style.width)) + "\n";
  }
  return text + margins_text(margins.kinds());
}

}  // namespace plimsoll::query
