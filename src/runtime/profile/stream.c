// SPDX-License-Identifier: MIT
// Keeps the records of each stream in chunks. All streams together may have session->chunk_limit chunks; when these are used up, a stream drops its own
// oldest chunk to make room.
#include "core/alloc.h"
#include "runtime/profile/recorder.h"

tsri_profile_stream *tsri_stream_create(tsr_profile *session, const tsri_profiled *owner) {
  tsri_profile_stream *stream = tsri_calloc(1, sizeof *stream);
  if (!stream) return NULL;
  stream->chunks = tsri_calloc(session->chunk_limit, sizeof *stream->chunks);
  if (!stream->chunks) {
    tsri_free(stream);
    return NULL;
  }
  stream->session = session;
  stream->owner = owner;
  stream->next = session->streams;
  session->streams = stream;
  return stream;
}

// Adds up to `count` of the oldest records to the totals, and forgets them.
static void drop(tsri_profile_stream *stream, uint64_t count) {
  for (; count > 0 && stream->first_number < stream->next_number; count--, stream->first_number++) {
    const tsri_profile_entry *entry = tsri_stream_at(stream, stream->first_number);
    double share =
        stream->owner ? tsri_profiled_share(stream->owner, entry) : tsri_profile_share(stream->session, entry);
    tsri_totals_add(&stream->dropped, entry, share);
  }
}

static tsri_profile_entry **place_of(const tsri_profile_stream *stream, uint64_t number) {
  return &stream->chunks[number / TSRI_PROFILE_CHUNK % stream->session->chunk_limit];
}

// Drops the oldest chunk and makes it the place of the next record. False: the stream has none.
static bool reuse_oldest(tsri_profile_stream *stream) {
  if (stream->first_number == stream->next_number) return false;
  tsri_profile_entry **oldest = place_of(stream, stream->first_number), *chunk = *oldest;
  drop(stream, TSRI_PROFILE_CHUNK);
  *oldest = NULL;
  *place_of(stream, stream->next_number) = chunk;
  return true;
}

// A chunk for the next record: a new one as long as the session may have more, else the stream's oldest. A stream that has none gets one in any case.
static bool open_chunk(tsri_profile_stream *stream) {
  tsr_profile *session = stream->session;
  tsri_profile_entry **place = place_of(stream, stream->next_number);
  bool is_full = atomic_load_explicit(&session->chunk_count, memory_order_relaxed) >= session->chunk_limit;
  bool is_open = is_full && reuse_oldest(stream);
  if (!is_open) {
    *place = tsri_malloc(TSRI_PROFILE_CHUNK * sizeof **place);
    atomic_fetch_add_explicit(&session->chunk_count, *place != NULL, memory_order_relaxed);
    is_open = *place || reuse_oldest(stream);  // out of host memory: drop the oldest chunk instead
  }
  stream->newest = *place;
  return is_open;
}

tsri_profile_entry *tsri_stream_add(tsri_profile_stream *stream) {
  uint64_t place = stream->next_number % TSRI_PROFILE_CHUNK;
  if (place == 0 && !open_chunk(stream)) return NULL;
  stream->next_number++;
  return &stream->newest[place];
}

// --- The finished profile ------------------------------------------------------------------------------------------------

static uint64_t end_of(const tsri_profile_entry *entry) { return entry->host_start_ns + entry->host_ns; }

// The stream whose oldest record, of those that are not in the list yet, ends first. NULL: there is none.
static tsri_profile_stream *earliest(const tsr_profile *session) {
  tsri_profile_stream *first = NULL;
  uint64_t first_ns = 0;
  for (tsri_profile_stream *at = session->streams; at; at = at->next) {
    if (at->first_number == at->next_number) continue;
    uint64_t ns = end_of(tsri_stream_at(at, at->first_number));
    if (first && ns >= first_ns) continue;
    first = at;
    first_ns = ns;
  }
  return first;
}

void tsri_streams_join(tsr_profile *session) {
  uint64_t kept = 0, all = 0;
  for (tsri_profile_stream *at = session->streams; at; at = at->next) {
    kept += at->next_number - at->first_number;
    all += at->next_number;
  }
  session->records = kept > 0 ? tsri_malloc((size_t)kept * sizeof *session->records) : NULL;
  session->record_count = session->records ? kept : 0;
  session->dropped_count = all - session->record_count;
  for (tsri_profile_stream *at = session->streams; at; at = at->next) {
    if (!session->records) drop(at, UINT64_MAX);
    tsri_totals_merge(&session->dropped, &at->dropped);
  }
  for (uint64_t i = 0; i < session->record_count; i++) {
    tsri_profile_stream *stream = earliest(session);
    const tsri_profile_entry *entry = session->records[i] = tsri_stream_at(stream, stream->first_number++);
    uint64_t end_ns = entry->start_ns + entry->duration_ns;  // of many short pieces of work that is estimated, too
    if (end_ns > session->duration_ns) session->duration_ns = end_ns;
  }
}

void tsri_streams_release(tsr_profile *session) {
  for (tsri_profile_stream *at = session->streams, *next; at; at = next) {
    next = at->next;
    for (size_t i = 0; i < session->chunk_limit; i++) tsri_free(at->chunks[i]);
    tsri_free(at->chunks);
    tsri_totals_deinit(&at->dropped);
    tsri_free(at);
  }
  tsri_free(session->records);
}
