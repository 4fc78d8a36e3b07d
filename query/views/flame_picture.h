// A flame graph as a picture: for reports, tickets, and whoever has a browser and no server.
#pragma once

#include <string>

#include "query/views/flame.h"

namespace plimsoll::query {

// A self-contained SVG 1.1 document of 1,200 pixels' width, the root at the bottom, each frame with its name where it fits, and name, value,
// share and margin as its tooltip. Frames narrower than a third of a pixel are left out; a line below says how many. Costs about 200 bytes a
// frame.
std::string to_svg(const Flame& flame);

// A self-contained page with the same picture, which zooms (click, or Enter on a focused frame), goes back (Escape) and searches by
// regular expression, and shows the share that matches. Nothing is loaded from anywhere.
std::string to_html(const Flame& flame);

}  // namespace plimsoll::query
