// SPDX-License-Identifier: MIT
// Records runs of cuDNN's plans that are repeated, and launches the recorded graphs.
#include "backends/cuda/dnn_replay.h"

#include <string.h>

// RECORDED_RUN: the run at which a graph is recorded; recording costs the host as much as some ten runs. TIMED_RUNS: how many runs are timed in each of the two
// ways. The shortest time counts, because a loop may sometimes wait for results.
enum { RECORDED_RUN = 8, TIMED_RUNS = 5 };

static void forget_events(dnn_replay *replay, const tsri_cuda_api *cu) {
  for (int i = 0; i < 2; i++) {
    if (replay->begins[i]) (void)cu->EventDestroy(replay->begins[i]);
    replay->begins[i] = NULL;
  }
}

static void forget(dnn_replay *replay, const tsri_cuda_api *cu) {
  forget_events(replay, cu);
  if (replay->exec) (void)cu->GraphExecDestroy(replay->exec);
  memset(replay, 0, sizeof *replay);
}

void tsri_dnn_replays_deinit(dnn_replays *replays, const tsri_cuda_api *cu) {
  for (int i = 0; i < DNN_REPLAYS; i++) forget(&replays->list[i], cu);
}

static dnn_replay *find(dnn_replays *replays, const dnn_run *run, const tsri_cuda_api *cu) {
  for (int i = 0; i < DNN_REPLAYS; i++) {
    if (memcmp(&replays->list[i].run, run, sizeof *run) == 0) return &replays->list[i];
  }
  dnn_replay *replay = &replays->list[replays->next];
  replays->next = (replays->next + 1) % DNN_REPLAYS;
  forget(replay, cu);
  replay->run = *run;
  return replay;
}

// Captures the work that `launch` queues as a graph, in replay->exec. Nothing has run afterwards, even if that fails.
static void record(dnn_replay *replay, cuda_queue *queue, int (*launch)(const void *context), const void *context) {
  const tsri_cuda_api *cu = queue->cu;
  cu_graph graph = NULL;
  if (cu->StreamBeginCapture(queue->stream, CU_STREAM_CAPTURE_RELAXED) != CU_SUCCESS) return;
  int code = launch(context);
  bool is_good = cu->StreamEndCapture(queue->stream, &graph) == CU_SUCCESS && code == DNN_SUCCESS;
  if (is_good && cu->GraphInstantiate(&replay->exec, graph, 0) != CU_SUCCESS) replay->exec = NULL;
  if (graph) (void)cu->GraphDestroy(graph);
}

static void settle(dnn_replay *replay, const tsri_cuda_api *cu) {
  bool is_faster = replay->least_ms[DNN_BY_GRAPH] < replay->least_ms[DNN_BY_LIBRARY];
  replay->is_settled = true;
  replay->way = is_faster ? DNN_BY_GRAPH : DNN_BY_LIBRARY;
  forget_events(replay, cu);
  if (is_faster || !replay->exec) return;
  (void)cu->GraphExecDestroy(replay->exec);
  replay->exec = NULL;
}

// Takes the time between the begins of two runs. False: the second has not begun yet.
static bool take_time(dnn_replay *replay, const tsri_cuda_api *cu) {
  float ms = 0, *least = &replay->least_ms[replay->way];
  if (cu->EventQuery(replay->begins[1]) != CU_SUCCESS) return false;
  replay->queued = 0;
  if (cu->EventElapsedTime(&ms, replay->begins[0], replay->begins[1]) != CU_SUCCESS) return true;
  if (replay->timed++ < DNN_WAYS || ms < *least) *least = ms;
  return true;
}

// Called at the begin of each run until the way is settled. Runs in both ways are timed in turns.
static void time_run(dnn_replay *replay, cuda_queue *queue) {
  const tsri_cuda_api *cu = queue->cu;
  if (replay->queued == 2 && !take_time(replay, cu)) return;
  if (replay->timed == DNN_WAYS * TIMED_RUNS || !replay->exec) {
    settle(replay, cu);
    return;
  }
  if (replay->queued == 0) replay->way = replay->timed % DNN_WAYS == 0 ? DNN_BY_LIBRARY : DNN_BY_GRAPH;
  cu_event *begin = &replay->begins[replay->queued];
  if (!*begin && cu->EventCreate(begin, 0) != CU_SUCCESS) *begin = NULL;
  if (*begin && cu->EventRecord(*begin, queue->stream) == CU_SUCCESS) replay->queued++;
}

int tsri_dnn_replay(dnn_replays *replays, cuda_queue *queue, const dnn_run *run, int (*launch)(const void *context),
                    const void *context) {
  if (queue->is_recording) return launch(context);
  dnn_replay *replay = find(replays, run, queue->cu);
  if (replay->uses < RECORDED_RUN && ++replay->uses == RECORDED_RUN) record(replay, queue, launch, context);
  if (replay->uses == RECORDED_RUN && !replay->is_settled) time_run(replay, queue);
  bool is_launched = replay->way == DNN_BY_GRAPH && queue->cu->GraphLaunch(replay->exec, queue->stream) == CU_SUCCESS;
  return is_launched ? DNN_SUCCESS : launch(context);
}
