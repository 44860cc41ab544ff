/* A program in C99 that measures itself through the installed header alone. */
#include <stdio.h>
#include <string.h>

#include "perjoule/perjoule.h"

static int check(int good, const char* what) {
  if (!good) fprintf(stderr, "c_consumer: %s: %s\n", what, pj_last_error());
  return good ? 0 : 1;
}

int main(void) {
  int failures = 0;
  pj_session* session = NULL;
  pj_window* window = NULL;
  pj_result* result = NULL;
  pj_energy total;
  failures += check(pj_open(NULL, &session) == PJ_OK, "opening");
  if (failures != 0) return 1;
  failures += check(pj_source_count(session) > 0, "counting sources");
  failures += check(pj_begin(session, "loop", NULL, &window) == PJ_OK, "beginning");
  failures += check(pj_end(window, &result) == PJ_OK, "ending");
  memset(&total, 0, sizeof total);
  failures += check(pj_result_total(result, &total) == PJ_INVALID_ARGUMENT, "a struct without its size is refused");
  total.struct_size = sizeof total;
  failures += check(pj_result_total(result, &total) == PJ_OK, "reading the total");
  failures += check(total.joules >= 0, "joules");
  failures += check(strstr(pj_result_json(result), "perjoule.measurement.v1") != NULL, "json");
  printf("%g J +- %g J (%s, grade %c)\n", total.joules, total.expanded_j, pj_state_name(total.state), total.grade);
  pj_result_free(result);
  pj_close(session);
  return failures;
}
