// The program `moe`.
#include "cli/program.hpp"

int main(int argc, char** argv) { return moe::cli::run_program(argc, argv); }
