#include "cli/parser.h"

int main(int argc, char** argv) {
  return perjoule::cli::dispatch(perjoule::cli::all_verbs(), argc, argv);
}
