/* In C99, through the public header alone. */
#include "pipeline_rank.h"

#include <stdio.h>
#include <string.h>

#include "perjoule/perjoule.h"

static int expect(int good, const char* what) {
  if (!good) fprintf(stderr, "pipeline_rank: not so: %s (%s)\n", what, pj_last_error());
  return good ? 0 : 1;
}

/* The last call is refused with that status, and says why. */
static int refused(pj_status status, pj_status expected, const char* what) {
  if (status == expected && pj_last_error()[0] != '\0') return 0;
  fprintf(stderr, "pipeline_rank: %s: status %d in place of %d (%s)\n", what, (int)status, (int)expected,
          pj_last_error());
  return 1;
}

static pj_pipeline_options options_for(const char* server) {
  pj_pipeline_options options;
  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  options.server = server;
  options.sync = PJ_SYNC_NONE;
  return options;
}

static int32_t count_call(void* user) {
  ++*(int*)user;
  return 0;
}

static int32_t fail_call(void* user) {
  (void)user;
  return 1;
}

static int iterate(pj_pipeline* rank) {
  int failures = 0;
  int32_t microbatch;
  for (microbatch = 0; microbatch < 3; ++microbatch) {
    failures += expect(pj_pipeline_begin(rank, "forward", microbatch, 0) == PJ_OK, "a forward begins");
    failures += expect(pj_pipeline_end(rank) == PJ_OK, "a forward ends");
    failures += expect(pj_pipeline_begin(rank, "backward", microbatch, 0) == PJ_OK, "a backward begins");
    failures += expect(pj_pipeline_end(rank) == PJ_OK, "a backward ends");
  }
  return failures + expect(pj_pipeline_end_iteration(rank) == PJ_OK, "an iteration ends");
}

int pipeline_rank_trains(const char* server, int iterations, on_iteration begun, void* user) {
  int failures = 0;
  int calls = 0;
  int i;
  pj_session* session = NULL;
  pj_pipeline* rank = NULL;
  pj_pipeline_options options = options_for(server);
  options.sync = PJ_SYNC_CALLBACK;
  options.callback = count_call;
  options.user = &calls;
  if (expect(pj_open(NULL, &session) == PJ_OK, "a session opens") != 0) return 1;
  failures += expect(pj_pipeline_join(session, &options, &rank) == PJ_OK, "the rank joins");
  if (rank != NULL) {
    failures += expect(pj_pipeline_epoch(rank) < 0, "there are no orders before the first iteration");
    for (i = 0; i < iterations; ++i) {
      failures += expect(pj_pipeline_begin_iteration(rank) == PJ_OK, "an iteration begins");
      failures += expect(pj_pipeline_epoch(rank) >= 0, "there are orders");
      begun(user, i);
      failures += iterate(rank);
    }
    failures += expect(calls == iterations * 12, "the callback is called at both ends of instructions");
    failures += expect(pj_pipeline_leave(rank) == PJ_OK, "the rank leaves");
  }
  pj_close(session);
  return failures;
}

static int joins_are_refused(pj_session* session, const char* server) {
  int failures = 0;
  char long_path[300];
  pj_pipeline* rank = NULL;
  pj_pipeline_options options = options_for(server);
  failures += refused(pj_pipeline_join(NULL, &options, &rank), PJ_INVALID_ARGUMENT, "no session");
  failures += refused(pj_pipeline_join(session, &options, NULL), PJ_INVALID_ARGUMENT, "no rank to fill");
  options.struct_size = 0;
  failures += refused(pj_pipeline_join(session, &options, &rank), PJ_INVALID_ARGUMENT, "no struct_size");
  options = options_for(server);
  options.sync = 9;
  failures += refused(pj_pipeline_join(session, &options, &rank), PJ_INVALID_ARGUMENT, "no such sync");
  options = options_for(server);
  options.sync = PJ_SYNC_CALLBACK;
  failures += refused(pj_pipeline_join(session, &options, &rank), PJ_INVALID_ARGUMENT, "no callback");
  options = options_for(server);
  options.stage = 1;
  failures += refused(pj_pipeline_join(session, &options, &rank), PJ_INVALID_ARGUMENT, "no such stage");
  options = options_for(server);
  options.pipeline = -1;
  failures += refused(pj_pipeline_join(session, &options, &rank), PJ_INVALID_ARGUMENT, "no such pipeline");
  options = options_for(server);
  options.device = "gpu:77";
  failures += refused(pj_pipeline_join(session, &options, &rank), PJ_NOT_FOUND, "no such GPU");
  failures += refused(pj_pipeline_join(session, NULL, &rank), PJ_NOT_FOUND, "no server is named");
  memset(long_path, 'p', sizeof long_path - 1);
  long_path[sizeof long_path - 1] = '\0';
  options = options_for(long_path);
  failures += refused(pj_pipeline_join(session, &options, &rank), PJ_INVALID_ARGUMENT, "no path of a socket");
  /* At once: no server will ever listen below a file. */
  options = options_for("/dev/null/plan");
  failures += refused(pj_pipeline_join(session, &options, &rank), PJ_UNAVAILABLE, "no server can be there");
  return failures + expect(rank == NULL, "there is no rank after a refusal");
}

static int calls_are_refused(pj_session* session, const char* server) {
  int failures = 0;
  pj_pipeline* rank = NULL;
  pj_pipeline* second = NULL;
  pj_pipeline_options options = options_for(server);
  options.callback = fail_call;
  if (expect(pj_pipeline_join(session, &options, &rank) == PJ_OK, "the rank joins") != 0) return 1;
  failures += refused(pj_pipeline_join(session, &options, &second), PJ_CONFLICT, "a stage has one rank");
  failures += expect(second == NULL, "there is no second rank");
  failures += refused(pj_pipeline_begin(rank, "forward", 0, 0), PJ_INVALID_ARGUMENT, "outside an iteration");
  failures += refused(pj_pipeline_end_iteration(rank), PJ_INVALID_ARGUMENT, "none has begun");
  failures += expect(pj_pipeline_begin_iteration(rank) == PJ_OK, "an iteration begins");
  failures += refused(pj_pipeline_begin_iteration(rank), PJ_INVALID_ARGUMENT, "within another");
  failures += refused(pj_pipeline_begin(rank, NULL, 0, 0), PJ_INVALID_ARGUMENT, "no instruction");
  failures += refused(pj_pipeline_begin(rank, "sideward", 0, 0), PJ_INVALID_ARGUMENT, "no such one");
  failures += refused(pj_pipeline_begin(rank, "forward", 3, 0), PJ_INVALID_ARGUMENT, "no such microbatch");
  failures += refused(pj_pipeline_begin(rank, "forward", 0, 1), PJ_INVALID_ARGUMENT, "no such chunk");
  failures += refused(pj_pipeline_end(rank), PJ_INVALID_ARGUMENT, "nothing runs");
  failures += iterate(rank);
  failures += expect(pj_pipeline_leave(rank) == PJ_OK, "the rank leaves");
  options.sync = PJ_SYNC_CALLBACK;
  if (expect(pj_pipeline_join(session, &options, &rank) == PJ_OK, "the place is free again") != 0) return 1;
  failures += expect(pj_pipeline_begin_iteration(rank) == PJ_OK, "an iteration begins");
  failures += refused(pj_pipeline_begin(rank, "forward", 0, 0), PJ_UNAVAILABLE, "a callback that fails");
  return failures + expect(pj_pipeline_leave(rank) == PJ_OK, "the rank leaves all the same");
}

static int nulls_are_refused(void) {
  int failures = 0;
  failures += refused(pj_pipeline_begin_iteration(NULL), PJ_INVALID_ARGUMENT, "no rank begins");
  failures += refused(pj_pipeline_begin(NULL, "forward", 0, 0), PJ_INVALID_ARGUMENT, "no rank runs");
  failures += refused(pj_pipeline_end(NULL), PJ_INVALID_ARGUMENT, "no rank ends");
  failures += refused(pj_pipeline_end_iteration(NULL), PJ_INVALID_ARGUMENT, "no rank is through");
  failures += expect(pj_pipeline_epoch(NULL) < 0, "no rank has no orders");
  return failures + expect(pj_pipeline_leave(NULL) == PJ_OK, "no rank may leave");
}

static int stragglers_are_refused(const char* server) {
  int failures = 0;
  failures += refused(pj_straggler_begin(NULL, 0, 1.2), PJ_NOT_FOUND, "no server is named");
  failures += refused(pj_straggler_end(NULL, 0), PJ_NOT_FOUND, "no server is named");
  failures += refused(pj_straggler_begin(server, 3, 1.2), PJ_INVALID_ARGUMENT, "no such pipeline");
  failures += refused(pj_straggler_begin(server, -1, 1.2), PJ_INVALID_ARGUMENT, "no pipeline at all");
  failures += refused(pj_straggler_begin(server, 0, 0.5), PJ_INVALID_ARGUMENT, "faster than all");
  failures += refused(pj_straggler_end(server, 0), PJ_NOT_FOUND, "it was no straggler");
  failures += expect(pj_straggler_begin(server, 0, 1.2) == PJ_OK, "a straggler is told of");
  failures += expect(pj_straggler_end(server, 0) == PJ_OK, "and is none any more");
  return failures + refused(pj_straggler_end(server, 0), PJ_NOT_FOUND, "it is over already");
}

int pipeline_rank_is_refused(const char* server) {
  int failures = nulls_are_refused() + stragglers_are_refused(server);
  pj_session* session = NULL;
  if (expect(pj_open(NULL, &session) == PJ_OK, "a session opens") != 0) return 1;
  failures += joins_are_refused(session, server);
  failures += calls_are_refused(session, server);
  pj_close(session);
  return failures;
}

int pipeline_rank_outlives(const char* server, void (*end_server)(void* user), void* user) {
  int failures = 0;
  pj_session* session = NULL;
  pj_pipeline* rank = NULL;
  pj_pipeline_options options = options_for(server);
  if (expect(pj_open(NULL, &session) == PJ_OK, "a session opens") != 0) return 1;
  failures += expect(pj_pipeline_join(session, &options, &rank) == PJ_OK, "the rank joins");
  if (rank != NULL) {
    failures += expect(pj_pipeline_begin_iteration(rank) == PJ_OK, "an iteration begins");
    failures += iterate(rank);
    end_server(user);
    failures += refused(pj_pipeline_begin_iteration(rank), PJ_UNAVAILABLE, "the server has ended");
    failures += iterate(rank);
    failures += expect(pj_pipeline_begin_iteration(rank) == PJ_OK, "the training goes on");
    failures += iterate(rank);
    failures += expect(pj_pipeline_leave(rank) == PJ_OK, "the rank leaves");
  }
  pj_close(session);
  return failures;
}
