#include "query/views/flame_picture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/unit/query/fleet_fixture.h"
#include "tests/well_formed_xml.h"

namespace plimsoll::query::flame_picture_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class FlamePicture : public ::testing::Test {
 protected:
  Flame flame_of(const std::string& stacks) {
    fleet_.add({.stacks = stacks});
    return *flame(*parse_flame({}, 0), **Snapshot::load(fleet_.path()));
  }
  Fleet fleet_;
};

TEST_F(FlamePicture, FramesStandOnTheirCallersInProportion) {
  const std::string svg = to_svg(flame_of("main;parse 30\nmain;copy 10\n"));
  // "all" and main take the whole width, parse three quarters, copy the rest to its right, one row up.
  EXPECT_THAT(svg, HasSubstr("<g data-x=\"0\" data-w=\"1\"><title>main\n"));
  EXPECT_THAT(svg, HasSubstr("<g data-x=\"0\" data-w=\"0.75\"><title>parse\n"));
  EXPECT_THAT(svg, HasSubstr("<g data-x=\"0.75\" data-w=\"0.25\"><title>copy\n"));
  EXPECT_THAT(svg, AllOf(HasSubstr("x=\"0.00\" y=\"28\" width=\"900.00\""),
                         HasSubstr("x=\"900.00\" y=\"28\" width=\"300.00\""),
                         HasSubstr("x=\"0.00\" y=\"45\" width=\"1200.00\"")));
}

TEST_F(FlamePicture, TooltipsHaveValueAndShare) {
  EXPECT_THAT(to_svg(flame_of("main;parse 30\nmain;copy 10\n")), HasSubstr("<title>copy\n10, 25.00 %"));
}

TEST_F(FlamePicture, NamesAreTextWhateverTheyHold) {
  for (const auto& picture : {to_svg, to_html}) {
    Flame hostile;
    hostile.event = "<script>alert(1)</script>";
    hostile.names = {"all", "</title><x y=\"&\">"};
    hostile.nodes = {{.name = 0, .total = 2}, {.name = 1, .total = 2, .depth = 1}};
    const std::string text = picture(hostile);
    EXPECT_THAT(text, Not(HasSubstr("<script>alert")));
    EXPECT_EQ(plimsoll::testing::xml_error(to_svg(hostile)), "");
    EXPECT_THAT(text, HasSubstr("&lt;/title&gt;&lt;x y=&quot;&amp;&quot;&gt;"));
  }
}

TEST_F(FlamePicture, FramesTooNarrowToSeeAreCounted) {
  const std::string svg = to_svg(flame_of("main;large 100000\nmain;tiny 1\n"));
  EXPECT_THAT(svg, Not(HasSubstr("tiny")));
  EXPECT_THAT(svg, HasSubstr("1 frames are too narrow to show"));
}

TEST_F(FlamePicture, LabelsAreCutWhereTheirFrameEnds) {
  const std::string svg = to_svg(flame_of("main;a_name_of_more_than_twenty_letters 1\nmain;other 9\n"));
  EXPECT_THAT(svg, HasSubstr(">a_name_of_mor..</text>"));
}

TEST_F(FlamePicture, APageLoadsNothing) {
  const std::string html = to_html(flame_of("main 1\n"));
  EXPECT_THAT(html, HasSubstr("default-src 'none'"));
  EXPECT_THAT(html, Not(HasSubstr("src=")));
  EXPECT_THAT(html, Not(HasSubstr("href=")));
}

TEST(EmptyFlame, IsAPictureWithoutFrames) {
  EXPECT_THAT(to_svg(Flame()), HasSubstr("0 samples of 0 machines"));
}

}  // namespace
}  // namespace plimsoll::query::flame_picture_test
