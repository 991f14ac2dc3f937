// SPDX-License-Identifier: MIT
// A kernel of one's own: the Mandelbrot set, written once, run on every device found. Writes mandelbrot.pgm, prints the
// time and a checksum of each device's image, and fails if two images differ.
//
//   03_kernel [FILE.pgm]
//
// docs/kernel-language.md describes the language.
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <tessera/tessera.h>

enum { WIDTH = 768, HEIGHT = 512, LIMIT = 200 };

static const char source[] =
    "// How many rounds of z = z^2 + c stay within the circle of radius 2.\n"
    "u32 escape(f32 cx, f32 cy, u32 limit) {\n"
    "    f32 x = 0, y = 0;\n"
    "    for (u32 round = 0; round < limit; round++) {\n"
    "        f32 xx = x * x, yy = y * y;\n"
    "        if (xx + yy > 4) return round;\n"
    "        y = 2 * x * y + cy;\n"
    "        x = xx - yy + cx;\n"
    "    }\n"
    "    return limit;\n"
    "}\n"
    "\n"
    "// One item computes one pixel. Items beyond the edge of the image return at once.\n"
    "kernel mandelbrot<WG = 16, WG_Y = 16>(out u8 image[], u32 width, u32 height, f32 left, f32 top, f32 step,\n"
    "                                      u32 limit) {\n"
    "    u32 px = global.x, py = global.y;\n"
    "    if (px >= width || py >= height) return;\n"
    "    u32 rounds = escape(left + f32(px) * step, top + f32(py) * step, limit);\n"
    "    image[py * width + px] = rounds == limit ? 0 : 55 + rounds * 200 / limit;\n"
    "}\n";

static double milliseconds(void) {
  struct timespec now;
  timespec_get(&now, TIME_UTC);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

// FNV-1a
static unsigned checksum(const unsigned char *data, size_t bytes) {
  unsigned sum = 2166136261u;
  for (size_t i = 0; i < bytes; i++) sum = (sum ^ data[i]) * 16777619u;
  return sum;
}

static tsr_status draw(tsr_kernel *kernel, tsr_tensor *image) {
  const tsr_arg args[] = {tsr_arg_tensor(image), tsr_arg_int(WIDTH),          tsr_arg_int(HEIGHT), tsr_arg_float(-2.1),
                          tsr_arg_float(-1.0),   tsr_arg_float(2.0 / HEIGHT), tsr_arg_int(LIMIT)};
  return tsr_kernel_launch(kernel, tsr_grid_for(kernel, WIDTH, HEIGHT, 1), args, 7);
}

// Draws on one device. The first launch also builds the kernel there; the second is timed.
static tsr_status draw_on(tsr_kernel *kernel, tsr_device *device, unsigned char *out_pixels, double *out_time) {
  tsr_tensor *image = tsr_zeros(device, TSR_U8, TSR_SHAPE(HEIGHT, WIDTH));
  tsr_status status = draw(kernel, image);
  if (status == TSR_OK) status = tsr_device_synchronize(device);
  double start = milliseconds();
  if (status == TSR_OK) status = draw(kernel, image);
  if (status == TSR_OK) status = tsr_device_synchronize(device);
  *out_time = milliseconds() - start;
  if (status == TSR_OK) status = tsr_read(image, out_pixels, (size_t)WIDTH * HEIGHT);
  tsr_release(image);
  return status;
}

static int write_image(const char *path, const unsigned char *pixels) {
  FILE *file = fopen(path, "wb");
  if (!file) return 1;
  fprintf(file, "P5\n%d %d\n255\n", WIDTH, HEIGHT);
  size_t written = fwrite(pixels, 1, (size_t)WIDTH * HEIGHT, file);
  return fclose(file) != 0 || written != (size_t)WIDTH * HEIGHT;
}

// Draws on device `index` of a backend and compares with the first image, which it makes if there is none yet.
static int visit(tsr_kernel *kernel, const char *backend, int index, unsigned char *first, int *has_first) {
  static unsigned char pixels[WIDTH * HEIGHT];
  double time = 0;
  tsr_device *device = NULL;
  tsr_status status = tsr_device_open(&(tsr_device_desc){.backend = backend, .index = index}, &device);
  if (status == TSR_OK) status = draw_on(kernel, device, pixels, &time);
  tsr_device_release(device);
  if (status == TSR_ERR_UNSUPPORTED) {  // the device runs no kernels, or lacks something
    printf("%-8s %d  skipped: %s\n", backend, index, tsr_last_error());
    return 0;
  }
  if (status != TSR_OK) {
    printf("%-8s %d  failed: %s\n", backend, index, tsr_last_error());
    return 1;
  }
  if (!*has_first) memcpy(first, pixels, sizeof pixels);
  *has_first = 1;
  int is_same = memcmp(first, pixels, sizeof pixels) == 0;
  printf("%-8s %d  %8.2f ms  checksum %08x%s\n", backend, index, time, checksum(pixels, sizeof pixels),
         is_same ? "" : "  DIFFERENT");
  return !is_same;
}

int main(int argc, char **argv) {
  static unsigned char image[WIDTH * HEIGHT];
  const char *path = argc > 1 ? argv[1] : "mandelbrot.pgm";
  tsr_kernel *kernel = NULL;
  tsr_discovery *found = NULL;
  if (tsr_kernel_build(&(tsr_kernel_desc){.source = source, .file_name = "mandelbrot.tk"}, &kernel) != TSR_OK ||
      tsr_discover(&found) != TSR_OK) {
    fprintf(stderr, "%s\n", tsr_last_error());
    tsr_kernel_release(kernel);
    return 1;
  }
  int failures = 0, has_image = 0;
  for (int i = 0; i < found->backend_count; i++) {
    for (int j = 0; j < found->backends[i].device_count; j++) {
      failures += visit(kernel, found->backends[i].name, j, image, &has_image);
    }
  }
  if (!has_image || write_image(path, image) != 0) {
    fprintf(stderr, "%s could not be written\n", path);
    failures++;
  }
  tsr_discovery_release(found);
  tsr_kernel_release(kernel);
  return failures != 0;
}
