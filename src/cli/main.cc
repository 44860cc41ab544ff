#include "cli/parser.h"

int main(int argc, char** argv) {
  // Scripts ask this often, and it needs no verb.
  if (perjoule::cli::answer_version(argc, argv)) return 0;
  return perjoule::cli::dispatch(perjoule::cli::all_verbs(), argc, argv);
}
