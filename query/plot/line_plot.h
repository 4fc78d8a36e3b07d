// Plots of lines as SVG, for reports: what a command has as a table, to look at.
//
// Pure; any thread.
#pragma once

#include <string>
#include <vector>

namespace plimsoll::query {

struct PlotPoint {
  double x = 0;
  double y = 0;
  std::string tooltip;
};

struct PlotLine {
  std::string name;  // in the legend, which plots of several lines have
  std::vector<PlotPoint> points;
};

enum class AxisScale { kLinearFromZero, kLogarithmic };

struct PlotAxis {
  std::string title;  // with the unit of the numbers
  AxisScale scale = AxisScale::kLinearFromZero;
  bool is_percent = false;  // values are shares of 1, shown times 100; the title says %
  bool is_count = false;    // values are whole numbers, and so are ticks
};

struct LinePlot {
  std::string title;
  PlotAxis x;
  PlotAxis y;
  std::vector<PlotLine> lines;
};

// A whole document that loads nothing, light or dark as the reader prefers. Texts may hold anything. Points that are not finite or, on
// a logarithmic axis, not above 0, are left out; without any point the plot says so.
std::string to_svg(const LinePlot& plot);

}  // namespace plimsoll::query
