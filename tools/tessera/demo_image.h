// SPDX-License-Identifier: MIT
// The image of `tessera demo`: colours for the iterations of each pixel, written as an image file.
#ifndef TESSERA_TOOL_DEMO_IMAGE_H
#define TESSERA_TOOL_DEMO_IMAGE_H

#include <stdbool.h>

// `path` ends in .png or .ppm. `rounds` has DEMO_IMAGE_WIDTH times DEMO_IMAGE_HEIGHT elements. False after a message.
bool demo_image_write(const char *path, const float *rounds);

#endif
