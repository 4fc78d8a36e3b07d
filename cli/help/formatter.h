// How --help looks.
#pragma once

#include <memory>

namespace CLI {
class FormatterBase;
}

namespace plimsoll::cli {

// A flag, what it takes, and what it is for; without the lists of flags that exclude it, which would stand between.
std::shared_ptr<CLI::FormatterBase> plain_formatter();

}  // namespace plimsoll::cli
