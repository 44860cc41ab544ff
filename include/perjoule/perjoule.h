/* Perjoule's C interface: joules, with their uncertainty, from inside a program.
 *
 *   pj_session* session;
 *   if (pj_open(NULL, &session) != PJ_OK) fprintf(stderr, "%s\n", pj_last_error());
 *   pj_window* window;
 *   pj_begin(session, "step", NULL, &window);
 *   train_step();
 *   pj_result* result;
 *   pj_end(window, &result);
 *   pj_energy total = {sizeof total};
 *   pj_result_total(result, &total);
 *   printf("%g J +- %g J (%s)\n", total.joules, total.expanded_j, pj_state_name(total.state));
 *   pj_result_free(result);
 *   pj_close(session);
 *
 * Every call that can fail answers a pj_status; pj_last_error() then says what happened and what to
 * do, for this thread, until its next call. No exception leaves the library. Structs begin with
 * their own size, which the caller sets, so that a newer library serves an older caller. A session
 * may be used from several threads at once; a window belongs to one thread at a time. Strings are
 * UTF-8; those returned live as long as what they were asked of.
 */
#ifndef PERJOULE_PERJOULE_H
#define PERJOULE_PERJOULE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define PJ_API __attribute__((visibility("default")))
#else
#define PJ_API
#endif

typedef int32_t pj_status;
enum {
  PJ_OK = 0,
  PJ_INVALID_ARGUMENT = 1,
  PJ_NOT_FOUND = 2,
  PJ_NOT_SUPPORTED = 3,
  PJ_PERMISSION_DENIED = 4,
  PJ_UNAVAILABLE = 5,
  PJ_TIMEOUT = 6,
  PJ_OUT_OF_RANGE = 7,
  PJ_DATA_LOSS = 8,
  PJ_CONFLICT = 9,
  PJ_INTERNAL = 10
};

/* What kind of number an energy is. */
enum {
  PJ_MEASURED = 0,
  PJ_SIMULATED = 1,
  PJ_ESTIMATED = 2,
  PJ_RECONSTRUCTED = 3,
  PJ_MISSING = 4, /* the other fields mean nothing */
  PJ_ZERO = 5
};

/* Whether the work was over when a window was closed. */
enum { PJ_SYNCHRONISED = 0, PJ_NOT_REQUESTED = 1, PJ_BUSY_AT_END = 2 };

/* How a window waits for asynchronous work before its closing read. */
enum {
  PJ_SYNC_AUTO = 0, /* the CUDA or HIP runtime this process has loaded, if any */
  PJ_SYNC_NONE = 1,
  PJ_SYNC_CALLBACK = 2
};

typedef struct pj_session pj_session;
typedef struct pj_window pj_window;
typedef struct pj_result pj_result;

typedef struct pj_open_options {
  size_t struct_size;
  double sample_every_s; /* 0: only what must be kept up (gauges, counters that wrap) */
  int32_t no_estimate;   /* not 0: no estimate from CPU time where nothing can be read */
  /* Ids of sources, or of devices with all their sources: the session has only these, and reads no
   * other. source_count 0: all. */
  const char* const* sources;
  size_t source_count;
} pj_open_options;

typedef struct pj_window_options {
  size_t struct_size;
  int32_t sync;                    /* PJ_SYNC_... */
  int32_t (*callback)(void* user); /* for PJ_SYNC_CALLBACK; 0 for success */
  void* user;
  /* not 0: wait for counters to tick before the window begins and after it has ended, so that its
   * edges are known to the gap between two polls and not to a tick (0.1 s on most GPUs). pj_begin
   * and pj_end then take up to two ticks of the slowest counter; that time is not in the window. */
  int32_t tick_aligned;
  /* Ids of pj_source_at, or their devices ("gpu:GPU-8f2c..."): only these are measured, and
   * pj_result_source counts them in the order of pj_source_at. source_count 0: all. */
  const char* const* sources;
  size_t source_count;
} pj_window_options;

typedef struct pj_energy {
  size_t struct_size;
  double joules;
  double expanded_j; /* two sigma */
  double lower_j;    /* hard bounds, infinite where there are none */
  double upper_j;
  int32_t state; /* PJ_MEASURED ...; of a total, that of the least certain source in it */
  char grade;    /* 'A' to 'D' */
  char boundary; /* '0' to '4': B0 device ... B4 life cycle */
  /* not 0: no figure with a plus-minus but a bound, for part of what was drawn went unseen: the
   * truth is `joules` or any amount more (less for an upper bound); nothing may be chosen by it.
   * Where the struct was padding before, so that its size and older callers are as they were. */
  int8_t is_lower_bound;
  int8_t is_upper_bound;
} pj_energy;

typedef struct pj_source {
  size_t struct_size;
  const char* id;      /* "gpu:GPU-8f2c...", "cpu:0/package" */
  const char* scope;   /* "board", "package", "dram" */
  const char* backend; /* "nvml", "powercap", "estimator" */
  double tick_s;
  int32_t summed; /* not 0: part of the total; 0: overlaps another source */
} pj_source;

PJ_API const char* pj_version(void);
/* What went wrong in this thread's last call, and what to do; "" after a success. */
PJ_API const char* pj_last_error(void);
/* "measured", "simulated", ... */
PJ_API const char* pj_state_name(int32_t state);

/* Finds the machine's meters and starts keeping them up. Power limits and other settings that a
 * killed perjoule process of this user left behind are put back first, as far as this process may;
 * those of a living one are not touched. `options` may be NULL. */
PJ_API pj_status pj_open(const pj_open_options* options, pj_session** session);
/* Windows still open are dropped. NULL is fine. */
PJ_API void pj_close(pj_session* session);
PJ_API size_t pj_source_count(const pj_session* session);
PJ_API pj_status pj_source_at(const pj_session* session, size_t index, pj_source* source);

/* Opens a window over all sources, or those of `options`. Windows nest and overlap freely.
 * `options` may be NULL. */
PJ_API pj_status pj_begin(pj_session* session, const char* name, const pj_window_options* options,
                          pj_window** window);
/* Closes the window and frees it, whatever the answer. */
PJ_API pj_status pj_end(pj_window* window, pj_result** result);
/* Drops a window without reading. NULL is fine. */
PJ_API void pj_drop(pj_window* window);

PJ_API pj_status pj_result_total(const pj_result* result, pj_energy* energy);
/* One source's energy, in the order of pj_source_at; of a window over some of them, of those. */
PJ_API pj_status pj_result_source(const pj_result* result, size_t index, pj_energy* energy);
PJ_API double pj_result_seconds(const pj_result* result);
PJ_API int32_t pj_result_sync(const pj_result* result); /* PJ_SYNCHRONISED ... */
/* The document perjoule.measurement.v1 (notes and uncertainty budget included), living as long as
 * the result. */
PJ_API const char* pj_result_json(pj_result* result);
PJ_API void pj_result_free(pj_result* result);

/* Finds the power limit of a training while it goes on: measures steps under each limit from the
 * highest down, then sets the one the rule chooses, on all GPUs this process may see
 * (CUDA_VISIBLE_DEVICES and its like; those of other jobs are left alone). Limits are put back by
 * pj_steps_end, and after a crash by the next perjoule process.
 *
 *   pj_steps* steps;
 *   pj_steps_begin(session, NULL, &steps);
 *   for (...) { train_step(); pj_steps_done(steps, 1); }
 *   pj_steps_end(steps);
 */
typedef struct pj_steps pj_steps;

typedef struct pj_steps_options {
  size_t struct_size;
  const char* rule; /* "eta=0.5" (also for NULL), "slowdown=1.1", "edp", ... as perjoule frontier
                       has them */
  double warm_up_steps; /* under each limit; 10 for 0, none below 0 */
  double profile_steps; /* measured under each limit; 40 for 0 */
  double least_s;       /* and as long at least; 1 for 0 */
  double drift; /* change of a step after which all is measured again; 0.1 for 0, never below 0 */
  int32_t per_gpu; /* not 0: each GPU its own limit, where that costs the job no time */
} pj_steps_options;

/* PJ_NOT_FOUND where no GPU's power limit can be set. `options` may be NULL. */
PJ_API pj_status pj_steps_begin(pj_session* session, const pj_steps_options* options,
                                pj_steps** steps);
/* So many steps more are done. Costs a comparison, and a reading of every GPU when a measurement
 * may end; may set limits. When a GPU takes a limit no more it puts all of them back, fails with
 * why once, and from then on does nothing: the training can go on. */
PJ_API pj_status pj_steps_done(pj_steps* steps, double count);
/* What follows until the next step (validation, a checkpoint) is no training; neither it nor that
 * step is measured. Reads every GPU. */
PJ_API pj_status pj_steps_epoch_ended(pj_steps* steps);
/* Not 0 once a limit was chosen. */
PJ_API int32_t pj_steps_settled(const pj_steps* steps);
/* The limit asked for last, W; 0 before the first; with per_gpu the highest (pj_steps_json has
 * all). */
PJ_API double pj_steps_limit_w(const pj_steps* steps);
/* perjoule.train-steps.v1, living until the next call with these steps. */
PJ_API const char* pj_steps_json(pj_steps* steps);
/* Puts every limit back and frees, whatever the answer. Before pj_close. NULL is fine. */
PJ_API pj_status pj_steps_end(pj_steps* steps);

/* A rank of a pipeline-parallel training: tells the plan server (`perjoule pipeline run`) what its
 * instructions take, and sets its GPU's clock before each as the plan has it.
 *
 *   pj_pipeline_options options = {sizeof options};
 *   options.stage = stage;
 *   pj_pipeline* rank;
 *   pj_pipeline_join(session, &options, &rank);
 *   for (...) {
 *     pj_pipeline_begin_iteration(rank);
 *     pj_pipeline_begin(rank, "forward", microbatch, 0);  forward();  pj_pipeline_end(rank);
 *     pj_pipeline_end_iteration(rank);
 *   }
 *   pj_pipeline_leave(rank);
 *
 * When the server ends, or the GPU takes a setting no more, the next call says why, the GPU is as
 * it was found, and every later call succeeds and does nothing: the training can go on. A rank
 * belongs to one thread at a time. */
typedef struct pj_pipeline pj_pipeline;

typedef struct pj_pipeline_options {
  size_t struct_size;
  const char* server; /* the socket; NULL: that of the variable PERJOULE_PIPELINE */
  const char* device; /* its GPU ("gpu:0", "GPU-8f2c..."); NULL: the one this process may see */
  int32_t pipeline;   /* data-parallel replica, from 0 */
  int32_t stage;      /* from 0 */
  int32_t tensor;     /* among the GPUs that share the stage, from 0 */
  int32_t sync; /* PJ_SYNC_...: waits for the GPU before an instruction begins and before it ends */
  int32_t (*callback)(void* user); /* for PJ_SYNC_CALLBACK; 0 for success */
  void* user;
} pj_pipeline_options;

/* PJ_NOT_FOUND where no server is named, PJ_UNAVAILABLE where none answers. `session` and `options`
 * as in pj_steps_begin; close the session after the rank has left. */
PJ_API pj_status pj_pipeline_join(pj_session* session, const pj_pipeline_options* options,
                                  pj_pipeline** rank);
/* Tells what the iteration before took, and learns the settings of this one. */
PJ_API pj_status pj_pipeline_begin_iteration(pj_pipeline* rank);
/* An instruction of the stage's order, by its name in the schedule ("forward", "backward"), its
 * microbatch and chunk. Its setting is asked for; a thread of the library's carries it out. */
PJ_API pj_status pj_pipeline_begin(pj_pipeline* rank, const char* instruction, int32_t microbatch,
                                   int32_t chunk);
PJ_API pj_status pj_pipeline_end(pj_pipeline* rank);
PJ_API pj_status pj_pipeline_end_iteration(pj_pipeline* rank);
/* Changes with the orders: the same number means the same settings. Below 0 before the first. */
PJ_API int64_t pj_pipeline_epoch(const pj_pipeline* rank);
/* Puts the GPU back as found and frees, whatever the answer. NULL is fine. */
PJ_API pj_status pj_pipeline_leave(pj_pipeline* rank);

/* Another pipeline keeps all waiting: from the next iteration on the others take their time. Of
 * `pipeline`, that takes `slowdown` times what all take at the highest setting. From any process;
 * `server` as above. */
PJ_API pj_status pj_straggler_begin(const char* server, int32_t pipeline, double slowdown);
PJ_API pj_status pj_straggler_end(const char* server, int32_t pipeline);

/* Tells `perjoule run --unit` around this process that units of work are done; without one it does
 * nothing. */
PJ_API pj_status pj_unit_done(double units);

#ifdef __cplusplus
}
#endif
#endif
