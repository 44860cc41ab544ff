#include <csignal>

#include "cli/parser.h"

int main(int argc, char** argv) {
  // A reader that goes away (perjoule sweep | head) must not end us before knobs are put back; the
  // failed write says it.
  std::signal(SIGPIPE, SIG_IGN);
  // Scripts ask this often, and it needs no verb.
  if (const auto status = perjoule::cli::answer_version(argc, argv)) return *status;
  return perjoule::cli::dispatch(perjoule::cli::all_verbs(), argc, argv);
}
