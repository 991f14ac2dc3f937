// SPDX-License-Identifier: MIT
// An image blurred by Fourier transforms on every device found: its transform times a Gaussian, transformed back. Writes blurred.pgm, and fails if a device's
// image differs from the first one by more than a level of grey.
//
//   06_blur [FILE.pgm]
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tessera/tessera.h>

enum { WIDTH = 300, HEIGHT = 200 };

// Rings of black and white around the middle, from 0 to 255.
static tsr_tensor *draw(tsr_device *device) {
  tsr_tensor *x = tsr_linspace(device, TSR_F32, -1.5, 1.5, WIDTH);
  tsr_tensor *y = tsr_unsqueeze(tsr_linspace(device, TSR_F32, -1, 1, HEIGHT), 1);
  tsr_tensor *waves = tsr_sin(tsr_mul_scalar(tsr_hypot(x, y), 25));
  return tsr_mul_scalar(tsr_cast(tsr_gt_scalar(waves, 0), TSR_F32), 255);
}

// exp(-(distance / spread)^2 / 2) for frequencies 0, 1, … of an axis, where those of the second half are negative if `wraps`.
static tsr_tensor *gaussian(tsr_device *device, int64_t size, int64_t count, bool wraps, double spread) {
  tsr_tensor *k = tsr_arange(device, TSR_F32, 0, (double)count, 1);
  if (wraps) k = tsr_minimum(k, tsr_rsub_scalar(k, (double)size));
  return tsr_exp(tsr_mul_scalar(tsr_square(tsr_div_scalar(k, (double)size * spread)), -0.5));
}

static tsr_status blur(tsr_device *device, unsigned char *out_pixels) {
  tsr_tensor *waves = tsr_rfft(draw(device), NULL, 0);  // [HEIGHT, WIDTH / 2 + 1, 2]
  tsr_tensor *down = tsr_unsqueeze(gaussian(device, HEIGHT, HEIGHT, true, 0.02), 1);
  tsr_tensor *kept = tsr_mul(down, gaussian(device, WIDTH, WIDTH / 2 + 1, false, 0.02));
  tsr_tensor *image = tsr_irfft(tsr_mul(waves, tsr_unsqueeze(kept, 2)), WIDTH, NULL, 0);
  tsr_tensor *pixels = tsr_cast(tsr_clamp(tsr_round(image), 0, 255), TSR_U8);
  return tsr_read(pixels, out_pixels, (size_t)WIDTH * HEIGHT);
}

static int write_image(const char *path, const unsigned char *pixels) {
  FILE *file = fopen(path, "wb");
  if (!file) return 1;
  fprintf(file, "P5\n%d %d\n255\n", WIDTH, HEIGHT);
  size_t written = fwrite(pixels, 1, (size_t)WIDTH * HEIGHT, file);
  return fclose(file) != 0 || written != (size_t)WIDTH * HEIGHT;
}

static int largest_difference(const unsigned char *a, const unsigned char *b) {
  int largest = 0;
  for (int i = 0; i < WIDTH * HEIGHT; i++) {
    int difference = abs(a[i] - b[i]);
    if (difference > largest) largest = difference;
  }
  return largest;
}

// Blurs on one device, and compares with the first image, which it makes if there is none yet.
static int visit(const char *backend, int index, unsigned char *first, int *has_first) {
  static unsigned char pixels[WIDTH * HEIGHT];
  tsr_device *device = NULL;
  tsr_status status = tsr_device_open(&(tsr_device_desc){.backend = backend, .index = index}, &device);
  if (status == TSR_OK) {
    tsr_scope *scope = tsr_scope_begin(device);
    status = blur(device, pixels);
    tsr_scope_end(scope);
  }
  tsr_device_release(device);
  if (status != TSR_OK) {
    printf("%-8s %d  %s: %s\n", backend, index, status == TSR_ERR_UNSUPPORTED ? "skipped" : "failed", tsr_last_error());
    return status != TSR_ERR_UNSUPPORTED;
  }
  if (!*has_first) memcpy(first, pixels, sizeof pixels);
  *has_first = 1;
  int difference = largest_difference(first, pixels);
  printf("%-8s %d  differs by %d\n", backend, index, difference);
  return difference > 1;
}

int main(int argc, char **argv) {
  static unsigned char image[WIDTH * HEIGHT];
  const char *path = argc > 1 ? argv[1] : "blurred.pgm";
  tsr_discovery *found = NULL;
  if (tsr_discover(&found) != TSR_OK) {
    fprintf(stderr, "%s\n", tsr_last_error());
    return 1;
  }
  int failures = 0, has_image = 0;
  for (int i = 0; i < found->backend_count; i++) {
    for (int j = 0; j < found->backends[i].device_count; j++) {
      failures += visit(found->backends[i].name, j, image, &has_image);
    }
  }
  if (!has_image || write_image(path, image) != 0) {
    fprintf(stderr, "%s could not be written\n", path);
    failures++;
  }
  tsr_discovery_release(found);
  return failures != 0;
}
