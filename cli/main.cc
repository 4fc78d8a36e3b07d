#include "cli/command_line.h"

int main(int argc, char** argv) {
  return plimsoll::cli::run(argc, argv);
}
