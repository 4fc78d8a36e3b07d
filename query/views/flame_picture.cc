#include "query/views/flame_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/printable.h"
#include "query/plot/markup.h"

namespace plimsoll::query {
namespace {

constexpr double kWidthPx = 1200;
constexpr double kRowPx = 17;
constexpr double kTopPx = 28;     // for the title
constexpr double kBottomPx = 24;  // for a line of notes
constexpr double kMinFramePx = 1.0 / 3;
// Of a monospaced font of 12 pixels.
constexpr double kCharacterPx = 7.3;

constexpr const char* kStyle =
    ".f{stroke:#fff;stroke-width:.5}text{font:12px monospace;fill:#111;pointer-events:none}"
    ".t{font:14px sans-serif}.n{font:12px sans-serif}";

struct Frame {
  size_t node;
  double start = 0;  // share of the root to its left
  double share = 0;
};

// A frame begins where its parent does, or where its sibling before it ends.
std::vector<Frame> frames_of(const Flame& flame) {
  std::vector<Frame> frames;
  std::vector<double> next;  // by depth: where the next child of the newest node one level up begins
  const double whole = flame.nodes.empty() ? 0 : flame.nodes.front().total;
  if (whole <= 0) {
    return frames;
  }
  for (size_t i = 0; i < flame.nodes.size(); ++i) {
    const FlameNode& node = flame.nodes[i];
    next.resize(node.depth + 1);
    const double start = next[node.depth];
    const double share = node.total / whole;
    next[node.depth] = start + share;
    next.push_back(start);
    frames.push_back({i, start, share});
  }
  return frames;
}

// Yellow to orange: told apart by lightness too, so that everybody can, and always light enough for black text. The same for the same name.
std::string color_of(std::string_view name) {
  uint32_t hash = 2166136261U;  // FNV-1a
  for (const char c : name) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  }
  return fmt::format("hsl({},{}%,{}%)", 22 + hash % 30, 70 + hash / 32 % 20, 62 + hash / 1024 % 16);
}

std::string label_of(const std::string& name, double width_px) {
  const auto fits = static_cast<size_t>(std::max(0.0, (width_px - 4) / kCharacterPx));
  // Bytes, not characters: a name of others than ASCII is cut sooner than it has to be, at the start of a character.
  if (name.size() <= fits) {
    return name;
  }
  if (fits < 3) {
    return {};
  }
  size_t end = fits - 2;
  while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xC0U) == 0x80) {
    --end;
  }
  return name.substr(0, end) + "..";
}

// The name, and a line of numbers.
std::string tooltip_of(const Flame& flame, const Frame& frame) {
  const FlameNode& node = flame.nodes[frame.node];
  const std::optional<double> margin = node.share ? flame.shares[*node.share].margin : std::nullopt;
  return fmt::format("{}\n{}, {}{}", escaped_markup(flame.names[node.name]), readable(node.total, flame.unit),
                     readable(frame.share, "share"), margin ? " " + margin_text(*margin, "share") : "");
}

uint32_t depth_of(const Flame& flame) {
  uint32_t deepest = 0;
  for (const FlameNode& node : flame.nodes) {
    deepest = std::max(deepest, node.depth);
  }
  return deepest;
}

// The frames, and how many are too narrow to be seen.
struct Drawn {
  std::string frames;
  size_t left_out = 0;
};

Drawn draw(const Flame& flame, double base_px) {
  Drawn drawn;
  for (const Frame& frame : frames_of(flame)) {
    const double width_px = frame.share * kWidthPx;
    if (width_px < kMinFramePx) {
      ++drawn.left_out;
      continue;
    }
    const FlameNode& node = flame.nodes[frame.node];
    const std::string name = printable(flame.names[node.name]);
    const double x_px = frame.start * kWidthPx;
    const double y_px = base_px - (node.depth + 1) * kRowPx;
    drawn.frames += fmt::format(
        "<g data-x=\"{:.8g}\" data-w=\"{:.8g}\"><title>{}</title>"
        "<rect class=\"f\" x=\"{:.2f}\" y=\"{:g}\" width=\"{:.2f}\" height=\"{:g}\" fill=\"{}\"/>",
        frame.start, frame.share, tooltip_of(flame, frame), x_px, y_px, width_px, kRowPx - 1, color_of(name));
    if (const std::string label = label_of(name, width_px); !label.empty()) {
      drawn.frames +=
          fmt::format("<text x=\"{:.2f}\" y=\"{:g}\">{}</text>", x_px + 3, y_px + 12, escaped_markup(label));
    }
    drawn.frames += "</g>\n";
  }
  return drawn;
}

// `attributes` of the svg element.
std::string picture(const Flame& flame, std::string_view attributes) {
  const double base_px = kTopPx + (depth_of(flame) + 1) * kRowPx;
  const double height_px = base_px + kBottomPx;
  const Drawn drawn = draw(flame, base_px);
  std::string note =
      fmt::format("{} samples of {} machines", flame.coverage.samples, flame.coverage.machines_drawn);
  note += drawn.left_out > 0 ? fmt::format("; {} frames are too narrow to show", drawn.left_out) : "";
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {:g} {:g}\" width=\"{:g}\" "
      "height=\"{:g}\"{}>\n"
      "<style>{}</style>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
      "<text class=\"t\" x=\"4\" y=\"18\">{}: flame graph</text>\n"
      "{}<text class=\"n\" x=\"4\" y=\"{:g}\">{}</text>\n</svg>\n",
      kWidthPx, height_px, kWidthPx, height_px, attributes, kStyle, escaped_markup(flame.event), drawn.frames,
      base_px + 16, escaped_markup(note));
}

// Frames keep their place and share of the root in data-x and data-w; zooming maps a frame's range to the whole width.
constexpr const char* kScript = R"js(
const svg = document.querySelector("svg"), frames = [...svg.querySelectorAll("g")];
const width = svg.viewBox.baseVal.width, note = document.getElementById("matched");
const name = g => g.firstElementChild.textContent.split("\n")[0];
const place = g => [parseFloat(g.dataset.x), parseFloat(g.dataset.w)];
let zoomed = [];
function show(g) {
  const [start, share] = g ? place(g) : [0, 1];
  for (const f of frames) {
    const [x, w] = place(f), rect = f.querySelector("rect");
    const left = Math.max(0, (x - start) / share), right = Math.min(1, (x + w - start) / share);
    f.style.display = right - left > 1e-9 ? "" : "none";
    rect.setAttribute("x", left * width);
    rect.setAttribute("width", Math.max(0, right - left) * width);
    let text = f.querySelector("text");
    const fits = Math.floor(((right - left) * width - 4) / 7.3), full = name(f);
    if (!text && fits >= 3) {
      text = document.createElementNS("http://www.w3.org/2000/svg", "text");
      text.setAttribute("y", parseFloat(rect.getAttribute("y")) + 12);
      f.append(text);
    }
    if (text) {
      text.setAttribute("x", left * width + 3);
      text.textContent = full.length <= fits ? full : fits < 3 ? "" : full.slice(0, fits - 2) + "..";
    }
  }
}
function zoom(g) { zoomed.push(g); show(g); }
function back() { zoomed.pop(); show(zoomed[zoomed.length - 1]); }
for (const f of frames) {
  f.setAttribute("tabindex", 0);
  f.addEventListener("click", () => zoom(f));
  f.addEventListener("keydown", e => { if (e.key === "Enter") zoom(f); });
}
document.addEventListener("keydown", e => { if (e.key === "Escape") back(); });
document.getElementById("back").addEventListener("click", back);
document.getElementById("search").addEventListener("input", e => {
  let pattern = null;
  try { pattern = e.target.value ? new RegExp(e.target.value) : null; } catch { note.textContent = "no regular expression"; return; }
  const ranges = [];
  for (const f of frames) {
    const hit = pattern !== null && pattern.test(name(f));
    f.querySelector("rect").style.fill = hit ? "#3b82f6" : "";
    if (hit) ranges.push(place(f));
  }
  ranges.sort((a, b) => a[0] - b[0] || b[1] - a[1]);
  let share = 0, end = 0;
  for (const [x, w] of ranges) {
    if (x + w > end) { share += x + w - Math.max(x, end); end = x + w; }
  }
  note.textContent = pattern ? (100 * share).toFixed(2) + " % matched" : "";
});
)js";

}  // namespace

std::string to_svg(const Flame& flame) {
  return picture(flame, "");
}

std::string to_html(const Flame& flame) {
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{0}: flame graph</title>\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
      "script-src 'unsafe-inline'\">\n"
      "<style>body{{font:14px sans-serif;margin:12px;color:#111;background:#fff}}"
      "svg{{width:100%;height:auto}}g{{cursor:pointer}}g:focus "
      "rect{{stroke:#000;stroke-width:2}}</style></head>\n"
      "<body><p><label>Search <input id=\"search\" placeholder=\"regular expression\"></label> "
      "<button id=\"back\">Zoom out</button> <output "
      "id=\"matched\"></output></p>\n{1}<script>{2}</script></body></html>\n",
      escaped_markup(flame.event), picture(flame, " role=\"img\" aria-label=\"Flame graph\""), kScript);
}

}  // namespace plimsoll::query
