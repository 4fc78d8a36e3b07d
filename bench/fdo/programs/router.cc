// Reads a made-up road map as text, finds places near each other and the shortest ways between them, and prints them, as often as is said:
// router ROUNDS. A program to make compiler profiles of: of Boost's Spirit, Geometry and Graph, tens of thousands of lines.
#include <boost/fusion/include/adapt_struct.hpp>
#include <boost/geometry.hpp>
#include <boost/geometry/geometries/point_xy.hpp>
#include <boost/geometry/index/rtree.hpp>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/dijkstra_shortest_paths.hpp>
#include <boost/spirit/include/karma.hpp>
#include <boost/spirit/include/qi.hpp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

struct Place {
  uint32_t id = 0;
  double x = 0;
  double y = 0;
  std::string name;
};

struct Road {
  uint32_t from = 0;
  uint32_t to = 0;
  double toll = 0;
};

BOOST_FUSION_ADAPT_STRUCT(Place, id, x, y, name)
BOOST_FUSION_ADAPT_STRUCT(Road, from, to, toll)

namespace {

namespace bg = boost::geometry;
namespace bgi = boost::geometry::index;
namespace karma = boost::spirit::karma;
namespace qi = boost::spirit::qi;

using Point = bg::model::d2::point_xy<double>;
using Segment = bg::model::segment<Point>;
using Tree = bgi::rtree<std::pair<Point, uint32_t>, bgi::rstar<16>>;
using Graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::undirectedS, boost::no_property,
                                    boost::property<boost::edge_weight_t, double>>;

constexpr uint32_t kSide = 40;
constexpr uint32_t kPlaces = kSide * kSide;

class Random {
 public:
  uint32_t next(uint32_t limit) {
    state_ ^= state_ << 13U;
    state_ ^= state_ >> 7U;
    state_ ^= state_ << 17U;
    return static_cast<uint32_t>(state_ % limit);
  }

 private:
  uint64_t state_ = 88172645463325252;
};

// A grid with places that are moved a little, and roads to two neighbours of each.
std::string make_map() {
  static constexpr const char* kNames[] = {"mill", "bridge", "north", "harbour",
                                           "hill", "market", "well",  "cross"};
  Random random;
  std::string text;
  for (uint32_t id = 0; id < kPlaces; ++id) {
    const double x = id % kSide + random.next(1000) / 1500.0;
    const double y = id / kSide + random.next(1000) / 1500.0;
    text += "place " + std::to_string(id) + " at " + std::to_string(x) + ", " + std::to_string(y) + " \"" +
            kNames[random.next(8)] + ' ' + kNames[random.next(8)] + "\";\n";
  }
  for (uint32_t id = 0; id < kPlaces; ++id) {
    for (const uint32_t to : {id + 1, id + kSide}) {
      if (to < kPlaces && random.next(8) != 0) {
        text += "road " + std::to_string(id) + " - " + std::to_string(to) + " toll " +
                std::to_string(random.next(400) / 100.0) + ";\n";
      }
    }
  }
  return text;
}

struct Map {
  std::vector<Place> places;
  std::vector<Road> roads;
};

bool parse(const std::string& text, Map& map) {
  using Iterator = std::string::const_iterator;
  const qi::rule<Iterator, std::string()> name = '"' >> +(qi::char_ - '"') >> '"';
  const qi::rule<Iterator, Place(), qi::space_type> place =
      qi::lit("place") >> qi::uint_ >> "at" >> qi::double_ >> ',' >> qi::double_ >> qi::lexeme[name] >> ';';
  const qi::rule<Iterator, Road(), qi::space_type> road =
      qi::lit("road") >> qi::uint_ >> '-' >> qi::uint_ >> "toll" >> qi::double_ >> ';';
  Iterator at = text.begin();
  return qi::phrase_parse(at, text.end(), *place >> *road, qi::space, map.places, map.roads) &&
         at == text.end();
}

double length(const Map& map, const Road& road) {
  const Place& from = map.places[road.from];
  const Place& to = map.places[road.to];
  return static_cast<double>(bg::length(Segment(Point(from.x, from.y), Point(to.x, to.y)))) + road.toll / 10;
}

// Ways from one place, to those that are nearest to some points.
size_t print_ways(const Map& map, uint32_t start, std::string& out) {
  Graph graph(map.places.size());
  for (const Road& road : map.roads) {
    boost::add_edge(road.from, road.to, length(map, road), graph);
  }
  Tree tree;
  for (const Place& place : map.places) {
    tree.insert({Point(place.x, place.y), place.id});
  }
  std::vector<double> distances(map.places.size());
  std::vector<uint64_t> before(map.places.size());
  boost::dijkstra_shortest_paths(graph, start,
                                 boost::predecessor_map(before.data()).distance_map(distances.data()));
  size_t steps = 0;
  Random random;
  for (int query = 0; query < 400; ++query) {
    const Point point(random.next(kSide * 100) / 100.0, random.next(kSide * 100) / 100.0);
    std::vector<std::pair<Point, uint32_t>> nearest;
    tree.query(bgi::nearest(point, 5), std::back_inserter(nearest));
    for (const auto& [at, id] : nearest) {
      uint64_t place = id;
      for (; place != start && before[place] != place; place = before[place]) {
        ++steps;
      }
      karma::generate(std::back_inserter(out),
                      karma::string << ": " << karma::double_ << " via " << karma::uint_ << '\n',
                      map.places[id].name, distances[id], static_cast<uint32_t>(before[id]));
    }
  }
  return steps;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string text = make_map();
  size_t sum = 0;
  for (int round = argc > 1 ? std::atoi(argv[1]) : 1; round > 0; --round) {
    Map map;
    if (!parse(text, map)) {
      std::puts("the map is no map");
      return 1;
    }
    std::string out;
    sum += print_ways(map, static_cast<uint32_t>(round) % kPlaces, out) + out.size();
  }
  std::printf("%zu bytes, sum %zu\n", text.size(), sum);
}
