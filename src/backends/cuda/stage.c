// SPDX-License-Identifier: MIT
// Copies between the device and pageable host memory through pinned chunks. Chunks are allocated at first use and
// kept.
//
// The driver's own staging uses a single thread. Here several threads take pieces in turn. Each thread has two chunks and
// copies into one while the other is being transferred, so that the bus is never idle. The threads stay awake for a while, since programs that copy do so again and again.
#include <string.h>

#include "backends/cuda/cuda.h"
#include "core/alloc.h"
#include "platform/parallel.h"

enum {
  LEAST_PIECE = 256 << 10,  // bytes; smaller pieces cost too much overhead each
  WORTH_A_THREAD = 1 << 20,
  MOST_AWAKE = 128 << 20
};

typedef struct stage_job {
  cuda_queue *queue;
  cu_address device;
  char *host;
  size_t bytes, piece;
  size_t piece_count;
  atomic_size_t next;
  atomic_int code;  // code of the first failure
  cu_result (*worker)(struct stage_job *job, cuda_chunk *chunks);
} stage_job;

static cu_result make_chunk(const tsri_cuda_api *cu, cuda_chunk *chunk) {
  if (chunk->host) return CU_SUCCESS;
  void *host = NULL;
  cu_result code = cu->EventCreate(&chunk->done, CU_EVENT_NO_TIMING);
  if (code != CU_SUCCESS) {
    chunk->done = NULL;
    return code;
  }
  code = cu->MemHostAlloc(&host, CUDA_CHUNK_BYTES, 0);
  if (code == CU_SUCCESS) {
    chunk->host = host;
  } else {
    (void)cu->EventDestroy(chunk->done);
    chunk->done = NULL;
  }
  return code;
}

static cu_result await_chunk(const tsri_cuda_api *cu, cuda_chunk *chunk) {
  if (!chunk->is_busy) return CU_SUCCESS;
  chunk->is_busy = false;
  return cu->EventSynchronize(chunk->done);
}

static cu_result mark_busy(const stage_job *job, cuda_chunk *chunk) {
  cu_result code = job->queue->cu->EventRecord(chunk->done, job->queue->stream);
  chunk->is_busy = code == CU_SUCCESS;
  return code;
}

// Takes the next piece. False if none is left or another thread has failed.
static bool take_piece(stage_job *job, size_t *out_at, size_t *out_bytes) {
  size_t index = atomic_fetch_add(&job->next, 1);
  if (index >= job->piece_count || atomic_load(&job->code) != CU_SUCCESS) return false;
  *out_at = index * job->piece;
  *out_bytes = job->bytes - *out_at < job->piece ? job->bytes - *out_at : job->piece;
  return true;
}

static cu_result send_pieces(stage_job *job, cuda_chunk *chunks) {
  cu_result code = CU_SUCCESS;
  size_t at = 0, bytes = 0;
  for (int turn = 0; code == CU_SUCCESS && take_piece(job, &at, &bytes); turn = (turn + 1) % CUDA_CHUNKS_PER_THREAD) {
    cuda_chunk *chunk = &chunks[turn];
    code = make_chunk(job->queue->cu, chunk);
    if (code == CU_SUCCESS) code = await_chunk(job->queue->cu, chunk);
    if (code != CU_SUCCESS) break;
    memcpy(chunk->host, job->host + at, bytes);
    code = job->queue->cu->MemcpyHtoDAsync(job->device + at, chunk->host, bytes, job->queue->stream);
    if (code == CU_SUCCESS) code = mark_busy(job, chunk);
  }
  return code;
}

typedef struct arriving {
  cuda_chunk *chunk;  // NULL: no piece is on its way
  size_t at, bytes;
} arriving;

static cu_result receive(const stage_job *job, arriving *piece) {
  if (!piece->chunk) return CU_SUCCESS;
  cu_result code = await_chunk(job->queue->cu, piece->chunk);
  if (code == CU_SUCCESS) memcpy(job->host + piece->at, piece->chunk->host, piece->bytes);
  piece->chunk = NULL;
  return code;
}

static cu_result receive_pieces(stage_job *job, cuda_chunk *chunks) {
  cu_result code = CU_SUCCESS;
  arriving last = {NULL, 0, 0}, piece;
  for (int turn = 0; code == CU_SUCCESS; turn = (turn + 1) % CUDA_CHUNKS_PER_THREAD) {
    if (!take_piece(job, &piece.at, &piece.bytes)) break;
    piece.chunk = &chunks[turn];
    code = make_chunk(job->queue->cu, piece.chunk);
    if (code == CU_SUCCESS) code = await_chunk(job->queue->cu, piece.chunk);
    if (code != CU_SUCCESS) break;
    code = job->queue->cu->MemcpyDtoHAsync(piece.chunk->host, job->device + piece.at, piece.bytes, job->queue->stream);
    if (code == CU_SUCCESS) code = mark_busy(job, piece.chunk);
    if (code == CU_SUCCESS) code = receive(job, &last);
    last = piece;
  }
  return code == CU_SUCCESS ? receive(job, &last) : code;
}

// The work of one thread: makes the context current and uses this thread's own chunks.
static void run_part(void *user, int part) {
  stage_job *job = user;
  int none = CU_SUCCESS;
  bool was_pushed = tsri_cuda_enter(job->queue->device);
  cu_result code = job->worker(job, &job->queue->chunks[(size_t)part * CUDA_CHUNKS_PER_THREAD]);
  tsri_cuda_leave(job->queue->device, was_pushed);
  if (code != CU_SUCCESS) atomic_compare_exchange_strong(&job->code, &none, code);
}

static cu_result run(stage_job *job) {
  size_t most = job->bytes / WORTH_A_THREAD, cores = (size_t)tsri_cpu_count();
  int threads = (int)(most < cores ? most : cores);
  if (threads > CUDA_COPY_THREADS) threads = CUDA_COPY_THREADS;
  if (threads < 1) threads = 1;
  // Four pieces per thread. With eight, an upload of 40 MB takes 12 % longer on an H200, since each piece costs calls of the driver.
  size_t piece = job->bytes / ((size_t)threads * 4);
  job->piece = piece < LEAST_PIECE ? LEAST_PIECE : piece < CUDA_CHUNK_BYTES ? piece : CUDA_CHUNK_BYTES;
  job->piece_count = (job->bytes + job->piece - 1) / job->piece;
  // Threads stay awake only after short copies: for one that takes milliseconds, the time to wake them does not matter.
  bool is_short = job->bytes <= MOST_AWAKE;
  (is_short ? tsri_parallel_awake : tsri_parallel)(threads, threads, run_part, job);
  return atomic_load(&job->code);
}

cu_result tsri_cuda_stage_in(cuda_queue *queue, cu_address to, const void *from, size_t bytes) {
  // The cast removes const: send_pieces only reads job.host.
  stage_job job = {
      .queue = queue, .device = to, .host = (char *)(uintptr_t)from, .bytes = bytes, .worker = send_pieces};
  return run(&job);
}

cu_result tsri_cuda_stage_out(cuda_queue *queue, void *to, cu_address from, size_t bytes) {
  stage_job job = {.queue = queue, .device = from, .host = to, .bytes = bytes, .worker = receive_pieces};
  return run(&job);
}

// --- Small copies to the host ---------------------------------------------------------------------------------------

static size_t padded(size_t bytes) { return (bytes + 15) & ~(size_t)15; }

bool tsri_cuda_readback_fits(const cuda_queue *queue, size_t bytes) {
  return queue->readback_count < CUDA_READBACKS && bytes <= CUDA_READBACK_BYTES - queue->readback_used;
}

cu_result tsri_cuda_readback(cuda_queue *queue, void *to, cu_address from, size_t bytes) {
  cu_result code = CU_SUCCESS;
  if (!queue->readback_host) {
    void *host = NULL;
    code = queue->cu->MemHostAlloc(&host, CUDA_READBACK_BYTES, 0);
    if (code != CU_SUCCESS) return code;
    queue->readback_host = host;
  }
  code = queue->cu->MemcpyDtoHAsync(queue->readback_host + queue->readback_used, from, bytes, queue->stream);
  if (code != CU_SUCCESS) return code;
  queue->readbacks[queue->readback_count++] = (cuda_readback){to, queue->readback_used, bytes};
  queue->readback_used += padded(bytes);
  return CU_SUCCESS;
}

void tsri_cuda_readback_finish(cuda_queue *queue) {
  for (int i = 0; i < queue->readback_count; i++) {
    const cuda_readback *readback = &queue->readbacks[i];
    memcpy(readback->to, queue->readback_host + readback->offset, readback->bytes);
  }
  queue->readback_count = 0;
  queue->readback_used = 0;
}

void tsri_cuda_stage_deinit(cuda_queue *queue) {
  for (size_t i = 0; i < sizeof queue->chunks / sizeof queue->chunks[0]; i++) {
    if (queue->chunks[i].host) (void)queue->cu->MemFreeHost(queue->chunks[i].host);
    if (queue->chunks[i].done) (void)queue->cu->EventDestroy(queue->chunks[i].done);
  }
  if (queue->readback_host) (void)queue->cu->MemFreeHost(queue->readback_host);
}
