// SPDX-License-Identifier: MIT
// Records runs of cuDNN's plans that come again and again, and launches what was recorded.
#include "backends/cuda/dnn_replay.h"

#include <string.h>

// RECORDED_RUN: the run at which a graph is recorded; recording takes the host as long as some ten runs. TIMED_RUNS: the shortest of several runs of
// the graph counts, because a run in which the GPU waits for the host takes longer than its kernels.
enum { RECORDED_RUN = 8, TIMED_RUNS = 4 };
static const float most_ms = 0.022F;  // a graph whose kernels take longer is not worth its pause (dnn_replay.h)

static void forget_events(dnn_replay *replay, const tsri_cuda_api *cu) {
  for (int i = 0; i < 2; i++) {
    if (replay->ends[i]) (void)cu->EventDestroy(replay->ends[i]);
    replay->ends[i] = NULL;
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

// Captures what `launch` queues. Nothing has run afterwards, whether or not replay->exec is set.
static void record(dnn_replay *replay, cuda_queue *queue, int (*launch)(const void *context), const void *context) {
  const tsri_cuda_api *cu = queue->cu;
  cu_graph graph = NULL;
  if (cu->StreamBeginCapture(queue->stream, CU_STREAM_CAPTURE_RELAXED) != CU_SUCCESS) return;
  int code = launch(context);
  bool is_good = cu->StreamEndCapture(queue->stream, &graph) == CU_SUCCESS && code == DNN_SUCCESS;
  if (is_good && cu->GraphInstantiate(&replay->exec, graph, 0) != CU_SUCCESS) replay->exec = NULL;
  if (graph) (void)cu->GraphDestroy(graph);
  bool has_events = replay->exec && cu->EventCreate(&replay->ends[0], 0) == CU_SUCCESS &&
                    cu->EventCreate(&replay->ends[1], 0) == CU_SUCCESS;
  if (!has_events) forget_events(replay, cu);
}

// Takes the time of the last timed run if it has ended. After the last of them, a graph that takes too long is given up.
static void take_time(dnn_replay *replay, const tsri_cuda_api *cu) {
  float ms = 0;
  if (!replay->is_timing || cu->EventQuery(replay->ends[1]) != CU_SUCCESS) return;
  if (cu->EventElapsedTime(&ms, replay->ends[0], replay->ends[1]) != CU_SUCCESS) ms = 0;
  replay->is_timing = false;
  if (replay->timed++ == 0 || ms < replay->least_ms) replay->least_ms = ms;
  if (replay->timed < TIMED_RUNS) return;
  forget_events(replay, cu);
  if (replay->least_ms <= most_ms) return;
  (void)cu->GraphExecDestroy(replay->exec);
  replay->exec = NULL;
}

// False: there is no graph, or it does not start.
static bool launch_graph(dnn_replay *replay, cuda_queue *queue) {
  const tsri_cuda_api *cu = queue->cu;
  if (replay->ends[0]) take_time(replay, cu);
  if (!replay->exec) return false;
  bool is_timed =
      replay->ends[0] && !replay->is_timing && cu->EventRecord(replay->ends[0], queue->stream) == CU_SUCCESS;
  bool is_launched = cu->GraphLaunch(replay->exec, queue->stream) == CU_SUCCESS;
  if (is_timed) replay->is_timing = cu->EventRecord(replay->ends[1], queue->stream) == CU_SUCCESS;
  return is_launched;
}

int tsri_dnn_replay(dnn_replays *replays, cuda_queue *queue, const dnn_run *run, int (*launch)(const void *context),
                    const void *context) {
  if (queue->is_recording) return launch(context);
  dnn_replay *replay = find(replays, run, queue->cu);
  if (replay->uses < RECORDED_RUN && ++replay->uses == RECORDED_RUN) record(replay, queue, launch, context);
  return launch_graph(replay, queue) ? DNN_SUCCESS : launch(context);
}
