#include "query/plot/line_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "query/plot/markup.h"
#include "query/plot/ticks.h"
#include "query/table/table.h"

namespace plimsoll::query {
namespace {

constexpr double kPlotWidthPx = 720;
constexpr double kPlotHeightPx = 440;
constexpr double kLeftPx = 76;  // for the labels and the title of the y axis
constexpr double kRightPx = 24;
constexpr double kAbovePx = 64;  // for the title and the legend
constexpr double kBelowPx = 56;  // for the labels and the title of the x axis
constexpr size_t kMaxSteps = 8;
constexpr size_t kLineStyles = 4;

// Colours of Okabe and Ito, which the colour-blind can tell apart, lighter on dark; every second line is dashed.
constexpr const char* kPlotStyle =
    ".b{fill:#fff}text{font:12px sans-serif;fill:#222}.t{font-size:15px}.g{stroke:#ddd}.a{stroke:#444}"
    ".l{fill:none;stroke-width:2}.s0{stroke:#0072b2}.s1{stroke:#d55e00;stroke-dasharray:6 3}"
    ".s2{stroke:#009e73}.s3{stroke:#cc79a7;stroke-dasharray:6 3}"
    ".p0{fill:#0072b2}.p1{fill:#d55e00}.p2{fill:#009e73}.p3{fill:#cc79a7}"
    "@media (prefers-color-scheme:dark){.b{fill:#1b1b1b}text{fill:#ddd}.g{stroke:#3a3a3a}.a{stroke:#aaa}"
    ".s0{stroke:#56b4e9}.s1{stroke:#e69f00}.s2{stroke:#2fc08f}.s3{stroke:#e7a3cc}"
    ".p0{fill:#56b4e9}.p1{fill:#e69f00}.p2{fill:#2fc08f}.p3{fill:#e7a3cc}}";

bool fits_axis(double value, const PlotAxis& axis) {
  return std::isfinite(value) && (axis.scale == AxisScale::kLogarithmic ? value > 0 : value >= 0);
}

std::string tick_label(double value, const PlotAxis& axis) {
  return axis.is_percent ? fmt::format("{:.6g}", value * 100) : readable(value, "count");
}

// An axis of so many pixels, from its first tick at 0 to its last.
class ScaledAxis {
 public:
  ScaledAxis(const PlotAxis& axis, const std::vector<double>& values, double length_px)
      : is_logarithmic_(axis.scale == AxisScale::kLogarithmic), length_px_(length_px) {
    if (values.empty()) {
      return;
    }
    const auto [low, high] = std::ranges::minmax(values);
    // Steps of a whole number and more where there are no more of them than the largest value.
    const auto max_steps = axis.is_count
                               ? static_cast<size_t>(std::clamp(high, 1.0, static_cast<double>(kMaxSteps)))
                               : kMaxSteps;
    ticks_ = is_logarithmic_ ? logarithmic_ticks(low, high, kMaxSteps) : linear_ticks(0, high, max_steps);
  }

  const std::vector<double>& ticks() const { return ticks_; }
  double px(double value) const {
    const double first = scaled(ticks_.front());
    return (scaled(value) - first) / (scaled(ticks_.back()) - first) * length_px_;
  }

 private:
  double scaled(double value) const { return is_logarithmic_ ? std::log10(value) : value; }

  bool is_logarithmic_;
  double length_px_;
  std::vector<double> ticks_;
};

class LinePlotDrawing {
 public:
  explicit LinePlotDrawing(const LinePlot& plot)
      : plot_(plot),
        shown_(shown_lines(plot)),
        x_(plot.x, values(&PlotPoint::x), kPlotWidthPx - kLeftPx - kRightPx),
        y_(plot.y, values(&PlotPoint::y), kPlotHeightPx - kAbovePx - kBelowPx) {}

  std::string text() const {
    std::string svg = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:g} {1:g}\" width=\"{0:g}\" "
        "height=\"{1:g}\" role=\"img\" aria-label=\"{2}\">\n<style>{3}</style>\n"
        "<rect class=\"b\" width=\"100%\" height=\"100%\"/>\n"
        "<text class=\"t\" x=\"{4:g}\" y=\"24\">{2}</text>\n",
        kPlotWidthPx, kPlotHeightPx, escaped_markup(plot_.title), kPlotStyle, kLeftPx);
    if (x_.ticks().empty()) {
      return svg + fmt::format("<text x=\"{:g}\" y=\"{:g}\">no points to show</text>\n</svg>\n", kLeftPx,
                               kPlotHeightPx / 2);
    }
    svg += axes() + legend();
    for (size_t i = shown_.size(); i-- > 0;) {  // the first line on top
      svg += line(shown_[i], i % kLineStyles);
    }
    return svg + "</svg>\n";
  }

 private:
  static std::vector<PlotLine> shown_lines(const LinePlot& plot) {
    std::vector<PlotLine> lines = plot.lines;
    for (PlotLine& line : lines) {
      std::erase_if(line.points, [&](const PlotPoint& point) {
        return !fits_axis(point.x, plot.x) || !fits_axis(point.y, plot.y);
      });
    }
    return lines;
  }

  std::vector<double> values(double PlotPoint::* coordinate) const {
    std::vector<double> all;
    for (const PlotLine& line : shown_) {
      for (const PlotPoint& point : line.points) {
        all.push_back(point.*coordinate);
      }
    }
    return all;
  }

  double x_px(double x) const { return kLeftPx + x_.px(x); }
  // Down from the top, as SVG counts.
  double y_px(double y) const { return kPlotHeightPx - kBelowPx - y_.px(y); }

  std::string axes() const {
    const double bottom_px = kPlotHeightPx - kBelowPx;
    const double right_px = kPlotWidthPx - kRightPx;
    std::string svg;
    for (const double tick : x_.ticks()) {
      svg += fmt::format(
          "<path class=\"g\" d=\"M{0:.1f} {1:g}V{2:g}\"/>"
          "<text x=\"{0:.1f}\" y=\"{3:g}\" text-anchor=\"middle\">{4}</text>\n",
          x_px(tick), kAbovePx, bottom_px, bottom_px + 18, tick_label(tick, plot_.x));
    }
    for (const double tick : y_.ticks()) {
      svg += fmt::format(
          "<path class=\"g\" d=\"M{0:g} {1:.1f}H{2:g}\"/>"
          "<text x=\"{3:g}\" y=\"{4:.1f}\" text-anchor=\"end\">{5}</text>\n",
          kLeftPx, y_px(tick), right_px, kLeftPx - 6, y_px(tick) + 4, tick_label(tick, plot_.y));
    }
    svg += fmt::format("<path class=\"a\" fill=\"none\" d=\"M{0:g} {1:g}V{2:g}H{3:g}\"/>\n", kLeftPx,
                       kAbovePx, bottom_px, right_px);
    svg += fmt::format("<text x=\"{:g}\" y=\"{:g}\" text-anchor=\"middle\">{}</text>\n",
                       (kLeftPx + right_px) / 2, kPlotHeightPx - 14, escaped_markup(plot_.x.title));
    return svg + fmt::format(
                     "<text transform=\"translate(18 {:g}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n",
                     (kAbovePx + bottom_px) / 2, escaped_markup(plot_.y.title));
  }

  std::string legend() const {
    constexpr double kSamplePx = 28;
    constexpr double kCharacterPx = 6.5;  // more than most of 12 pixels are wide
    std::string svg;
    double x_px = kLeftPx;
    for (size_t i = 0; shown_.size() > 1 && i < shown_.size(); ++i) {
      svg +=
          fmt::format("<path class=\"l s{}\" d=\"M{:g} 44h{:g}\"/><text x=\"{:g}\" y=\"48\">{}</text>\n",
                      i % kLineStyles, x_px, kSamplePx, x_px + kSamplePx + 6, escaped_markup(shown_[i].name));
      x_px += kSamplePx + 24 + kCharacterPx * static_cast<double>(width_of(shown_[i].name));
    }
    return svg;
  }

  std::string line(const PlotLine& line, size_t style) const {
    std::string path;
    std::string points;
    for (const PlotPoint& point : line.points) {
      const double x = x_px(point.x);
      const double y = y_px(point.y);
      path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", x, y);
      points += fmt::format(
          "<circle class=\"p{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\"><title>{}</title></circle>\n", style,
          x, y, escaped_markup(point.tooltip));
    }
    return path.empty() ? "" : fmt::format("<path class=\"l s{}\" d=\"{}\"/>\n", style, path) + points;
  }

  const LinePlot& plot_;
  std::vector<PlotLine> shown_;
  ScaledAxis x_;
  ScaledAxis y_;
};

}  // namespace

std::string to_svg(const LinePlot& plot) {
  return LinePlotDrawing(plot).text();
}

}  // namespace plimsoll::query
