// SPDX-License-Identifier: MIT
// Header, description, data; the checksum is known last, so the header is written again at the end.
#include "saved/write.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/file.h"

// A file that is being written.
typedef struct output {
  FILE *file;
  const char *path;
  uint64_t bytes, checksum;
} output;

static tsr_status fail(const output *out) {
  return TSRI_FAIL(TSR_ERR_IO, "capture_save: %s cannot be written: %s", out->path,
                   errno ? strerror(errno) : "the disk may be full");
}

// Writes bytes and zeros up to the next multiple of the alignment; both are part of the checksum.
static tsr_status put(output *out, const void *data, size_t bytes) {
  static const char zeros[TSRI_SAVED_ALIGNMENT];
  size_t rest = bytes % TSRI_SAVED_ALIGNMENT, whole = bytes - rest;
  unsigned char last[TSRI_SAVED_ALIGNMENT] = {0};
  memcpy(last, (const char *)data + whole, rest);
  errno = 0;
  if (whole && fwrite(data, 1, whole, out->file) != whole) return fail(out);
  if (rest && fwrite(last, 1, sizeof last, out->file) != sizeof last) return fail(out);
  out->checksum = tsri_saved_checksum(out->checksum, data, whole);
  if (rest) out->checksum = tsri_saved_checksum(out->checksum, last, sizeof last);
  out->bytes += whole + (rest ? sizeof zeros : 0);
  return TSR_OK;
}

static tsr_status put_header(output *out, const tsri_saved_header *header) {
  tsri_builder text = {0};
  tsri_saved_put_header(&text, header);
  errno = 0;
  tsr_status status = text.has_failed ? TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "capture_save: no host memory for a header")
                      : fseek(out->file, 0, SEEK_SET) != 0 || fwrite(text.text, 1, text.bytes, out->file) != text.bytes
                          ? fail(out)
                          : TSR_OK;
  if (status == TSR_OK) out->checksum = tsri_saved_checksum(TSRI_SAVED_CHECKSUM_START, text.text, 32);
  tsri_builder_deinit(&text);
  return status;
}

static tsr_status put_leaf(output *out, const tsri_saved_data *data) {
  enum { PIECE = 16 << 20 };
  size_t most = data->bytes < PIECE ? data->bytes : PIECE;
  void *memory = most ? tsri_malloc(most) : NULL;
  if (!most) return TSR_OK;
  if (!memory) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "capture_save: no host memory for %zu bytes of elements", most);
  tsr_status status = TSR_OK;
  for (size_t done = 0; done < data->bytes && status == TSR_OK; done += most) {
    size_t piece = data->bytes - done < most ? data->bytes - done : most;
    status = tsr_buffer_download(data->buffer, done, memory, piece);
    if (status == TSR_OK) status = put(out, memory, piece);
  }
  tsri_free(memory);
  return status;
}

static uint64_t aligned(uint64_t bytes) {
  return (bytes + TSRI_SAVED_ALIGNMENT - 1) / TSRI_SAVED_ALIGNMENT * TSRI_SAVED_ALIGNMENT;
}

static tsr_status write_all(output *out, const char *description, size_t description_bytes, const tsri_saved_data *data,
                            uint32_t data_count) {
  tsri_saved_header header = {.version = TSRI_SAVED_VERSION,
                              .description_bytes = description_bytes,
                              .file_bytes = TSRI_SAVED_HEADER_BYTES + aligned(description_bytes)};
  for (uint32_t i = 0; i < data_count; i++) header.file_bytes += aligned(data[i].bytes);
  tsr_status status = put_header(out, &header);
  if (status == TSR_OK) status = put(out, description, description_bytes);
  for (uint32_t i = 0; i < data_count && status == TSR_OK; i++) status = put_leaf(out, &data[i]);
  header.checksum = out->checksum;
  return status == TSR_OK ? put_header(out, &header) : status;
}

tsr_status tsri_saved_write(const char *path, const char *description, size_t description_bytes,
                            const tsri_saved_data *data, uint32_t data_count) {
  tsri_beside beside;
  tsr_status status = tsri_beside_open(&beside, path, "capture_save");
  if (status != TSR_OK) return status;
  output out = {.file = beside.file, .path = path};
  status = write_all(&out, description, description_bytes, data, data_count);
  return tsri_beside_close(&beside, status, "capture_save");
}
