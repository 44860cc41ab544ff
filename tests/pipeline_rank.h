/* A rank of a pipeline written in C, for pipeline_rank_on_twin_test.cc. Each answers how many of
 * its expectations were not met, and prints which. */
#ifndef PERJOULE_TESTS_PIPELINE_RANK_H
#define PERJOULE_TESTS_PIPELINE_RANK_H

#ifdef __cplusplus
extern "C" {
#endif

/* What the test does at the beginning of an iteration, once the rank has its orders. */
typedef void (*on_iteration)(void* user, int iteration);

/* Trains so many iterations of three microbatches as the only stage, and leaves. `server` as in
 * pj_pipeline_options. */
int pipeline_rank_trains(const char* server, int iterations, on_iteration begun, void* user);

/* Calls all functions with what they must refuse. PERJOULE_PIPELINE must not be set. */
int pipeline_rank_is_refused(const char* server);

/* Trains on, though `end_server` ends the server. */
int pipeline_rank_outlives(const char* server, void (*end_server)(void* user), void* user);

#ifdef __cplusplus
}
#endif
#endif
