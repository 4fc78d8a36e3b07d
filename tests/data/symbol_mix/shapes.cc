// NOLINTBEGIN
#include <functional>
#include <memory>
#include <stdexcept>
#include <variant>
#include <vector>

#include "bits.h"
#include "parts.h"

namespace mix {

struct Named {
  virtual ~Named() = default;
  virtual unsigned name() const = 0;
};

struct Shape {
  virtual ~Shape() = default;
  virtual double area() const = 0;
  virtual Shape& grow(double by) = 0;
};

// Called through Named, its functions need thunks.
class Square : public Shape, public Named {
 public:
  explicit Square(double side) : side_(check(side)) {}
  double area() const override { return side_ * side_; }
  Square& grow(double by) override {
    side_ = check(side_ * by);
    return *this;
  }
  unsigned name() const override { return rotate(static_cast<unsigned>(side_), 3); }

 private:
  static double check(double side) {
    if (side < 0) {
      throw std::invalid_argument("a side is at least zero");
    }
    return side;
  }
  double side_;
};

class Ring : public Shape, public Named {
 public:
  Ring(double inner, double outer) : inner_(inner), outer_(outer) {}
  ~Ring() override { ++ended; }
  double area() const override { return 3.14159 * (outer_ * outer_ - inner_ * inner_); }
  Ring& grow(double by) override {
    outer_ *= by;
    return *this;
  }
  unsigned name() const override { return blend(static_cast<unsigned>(inner_), ended); }

  static inline unsigned ended = 0;

 private:
  double inner_;
  double outer_;
};

}  // namespace mix

namespace {

using Cell = std::variant<int, double, std::unique_ptr<mix::Shape>>;

struct Value {
  double operator()(int x) const { return x; }
  double operator()(double x) const { return x + 0.5; }
  double operator()(const std::unique_ptr<mix::Shape>& shape) const { return shape->area(); }
};

__attribute__((noinline)) unsigned step(const mix::Named& named) {
  return blend(named.name(), 9);
}

std::vector<Cell> cells(unsigned seed) {
  std::vector<Cell> made;
  for (unsigned i = 0; i < 20; ++i) {
    seed = blend(seed, i);
    switch (seed % 4) {
      case 0:
        made.emplace_back(static_cast<int>(seed));
        break;
      case 1:
        made.emplace_back(seed / 3.0);
        break;
      case 2:
        made.emplace_back(std::make_unique<mix::Square>(seed % 50));
        break;
      default:
        made.emplace_back(std::make_unique<mix::Ring>(seed % 5, seed % 9));
    }
  }
  return made;
}

unsigned sum_by(const std::vector<Cell>& row, const std::function<bool(double)>& wanted) {
  static const unsigned first = rotate(static_cast<unsigned>(row.size()), 4);
  double sum = first;
  for (const Cell& cell : row) {
    const double value = std::visit(Value(), cell);
    sum += wanted(value) ? value : 0;
  }
  return static_cast<unsigned>(static_cast<long>(sum));
}

}  // namespace

unsigned shapes(unsigned seed) {
  const auto row = cells(seed);
  const double least = seed % 10;
  unsigned sum = sum_by(row, [least](double value) { return value > least; });
  sum += sum_by(row, [](double value) { return value < 1000; });
  struct Counter : mix::Named {
    unsigned count = 0;
    unsigned name() const override { return count; }
  } counter;
  counter.count = sum;
  try {
    mix::Square square(seed - 7.0);
    square.grow(2);
    sum += step(square);
  } catch (const std::invalid_argument& error) {
    sum += static_cast<unsigned>(error.what()[0]);
  }
  return sum + step(counter);
}
// NOLINTEND
