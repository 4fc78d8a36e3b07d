#include "query/plot/line_plot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/well_formed_xml.h"

namespace plimsoll::query {
namespace {

using plimsoll::testing::xml_error;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

LinePlot small_plot() {
  return {.title = "Quota by jobs",
          .x = {.title = "jobs", .is_count = true},
          .y = {.title = "quota (%)", .is_percent = true},
          .lines = {{.name = "quota", .points = {{1, 0.5, "one"}, {2, 1, "two"}}}}};
}

// The document without its style, which has no numbers of the plot.
std::string without_style(const std::string& svg) {
  const size_t start = svg.find("<style>");
  const size_t end = svg.find("</style>\n") + std::string_view("</style>\n").size();
  return svg.substr(0, start) + svg.substr(end);
}

TEST(LinePlotSvg, IsAsDrawn) {
  // The plot is 620 pixels wide from 76, and 320 high from 384 up: 1 of 2 is at 386, half of the quota at 224.
  EXPECT_EQ(
      without_style(to_svg(small_plot())),
      R"svg(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 440" width="720" height="440" role="img" aria-label="Quota by jobs">
<rect class="b" width="100%" height="100%"/>
<text class="t" x="76" y="24">Quota by jobs</text>
<path class="g" d="M76.0 64V384"/><text x="76.0" y="402" text-anchor="middle">0</text>
<path class="g" d="M386.0 64V384"/><text x="386.0" y="402" text-anchor="middle">1</text>
<path class="g" d="M696.0 64V384"/><text x="696.0" y="402" text-anchor="middle">2</text>
<path class="g" d="M76 384.0H696"/><text x="70" y="388.0" text-anchor="end">0</text>
<path class="g" d="M76 320.0H696"/><text x="70" y="324.0" text-anchor="end">20</text>
<path class="g" d="M76 256.0H696"/><text x="70" y="260.0" text-anchor="end">40</text>
<path class="g" d="M76 192.0H696"/><text x="70" y="196.0" text-anchor="end">60</text>
<path class="g" d="M76 128.0H696"/><text x="70" y="132.0" text-anchor="end">80</text>
<path class="g" d="M76 64.0H696"/><text x="70" y="68.0" text-anchor="end">100</text>
<path class="a" fill="none" d="M76 64V384H696"/>
<text x="386" y="426" text-anchor="middle">jobs</text>
<text transform="translate(18 224) rotate(-90)" text-anchor="middle">quota (%)</text>
<path class="l s0" d="M386.0 224.0L696.0 64.0"/>
<circle class="p0" cx="386.0" cy="224.0" r="3.5"><title>one</title></circle>
<circle class="p0" cx="696.0" cy="64.0" r="3.5"><title>two</title></circle>
</svg>
)svg");
}

TEST(LinePlotSvg, HasALegendWhereThereAreSeveralLines) {
  LinePlot plot = small_plot();
  EXPECT_THAT(to_svg(plot), Not(HasSubstr("y=\"48\"")));
  plot.lines.push_back({.name = "other", .points = {{1, 0.25, "x"}}});
  EXPECT_THAT(to_svg(plot), AllOf(HasSubstr("y=\"48\">quota</text>"), HasSubstr("y=\"48\">other</text>"),
                                  HasSubstr("class=\"l s1\"")));
}

TEST(LinePlotSvg, TextsAreTextWhateverTheyHold) {
  const std::string hostile = "</title><script>alert(\"&\")</script>\x1b[2J";
  LinePlot plot{.title = hostile,
                .x = {.title = hostile},
                .y = {.title = hostile},
                .lines = {{.name = hostile, .points = {{1, 1, hostile}}}, {.name = hostile, .points = {}}}};
  const std::string svg = to_svg(plot);
  EXPECT_EQ(xml_error(svg), "");
  EXPECT_THAT(svg, AllOf(Not(HasSubstr("<script>")), Not(HasSubstr("\x1b")),
                         HasSubstr("&lt;/title&gt;&lt;script&gt;alert(&quot;&amp;&quot;)")));
}

TEST(LinePlotSvg, IsWellFormedAndLoadsNothing) {
  const std::string svg = to_svg(small_plot());
  EXPECT_EQ(xml_error(svg), "");
  EXPECT_THAT(svg,
              AllOf(HasSubstr("prefers-color-scheme:dark"), Not(HasSubstr("href")), Not(HasSubstr("url("))));
}

TEST(LinePlotSvg, LogarithmicAxesHaveEqualRatiosAtEqualDistances) {
  LinePlot plot = small_plot();
  plot.x.scale = AxisScale::kLogarithmic;
  plot.lines = {{.name = "", .points = {{1, 1, "a"}, {10, 1, "b"}, {100, 1, "c"}}}};
  EXPECT_THAT(to_svg(plot),
              AllOf(HasSubstr("cx=\"76.0\""), HasSubstr("cx=\"386.0\""), HasSubstr("cx=\"696.0\"")));
}

TEST(LinePlotSvg, PointsThatAnAxisCannotHaveAreLeftOut) {
  LinePlot plot = small_plot();
  plot.x.scale = AxisScale::kLogarithmic;
  plot.lines = {{.name = "",
                 .points = {{0, 1, "zero"},
                            {1, std::numeric_limits<double>::quiet_NaN(), "unknown"},
                            {std::numeric_limits<double>::infinity(), 1, "endless"},
                            {3, 0.5, "good"}}}};
  const std::string svg = to_svg(plot);
  EXPECT_THAT(svg, AllOf(HasSubstr("<title>good"), Not(HasSubstr("zero")), Not(HasSubstr("unknown")),
                         Not(HasSubstr("endless")), Not(HasSubstr("nan")), Not(HasSubstr("inf"))));
  plot.lines.front().points.pop_back();
  EXPECT_THAT(to_svg(plot), HasSubstr("no points to show"));
  EXPECT_EQ(xml_error(to_svg(plot)), "");
}

TEST(XmlError, SaysWhatIsWrong) {
  EXPECT_EQ(xml_error("<a><b x=\"1\"/>text &amp; more</a>\n"), "");
  for (const char* broken : {"<a>", "<a></b>", "<a/><b/>", "<a>&</a>", "<a x=1/>", "<a>1 < 2</a>", "text"}) {
    EXPECT_NE(xml_error(broken), "") << broken;
  }
}

}  // namespace
}  // namespace plimsoll::query
