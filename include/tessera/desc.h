// SPDX-License-Identifier: MIT
// Options of operators (ops.h), in structs whose zero value is the usual choice; NULL in place of a description means all zeros:
//
//   tsr_tensor *loss = tsr_cross_entropy(logits, labels, 1, &(tsr_loss_desc){.smoothing = 0.1});
//
// Ownership: a description, and the tensors that it names, are borrowed for the time of the call.
#ifndef TESSERA_DESC_H
#define TESSERA_DESC_H

#include <stdbool.h>
#include <stdint.h>

#include <tessera/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

// How the losses of single elements are combined.
typedef enum tsr_loss_reduction {
  // their mean; with weights of classes or ignored labels: their sum divided by the sum of the weights that count
  TSR_LOSS_MEAN,
  TSR_LOSS_SUM,        // their sum
  TSR_LOSS_NONE,       // each of them, as a tensor
  TSR_LOSS_BATCH_MEAN  // their sum divided by the size of axis 0
} tsr_loss_reduction;

// The comment of each loss in ops.h says which of these options it reads. The others must be 0, otherwise the call fails with TSR_ERR_INVALID_ARGUMENT.
typedef struct tsr_loss_desc {
  tsr_loss_reduction reduction;
  bool ignores;                 // whether labels equal to `ignored` count for nothing
  int64_t ignored;              // -100 is a common one
  double smoothing;             // 0 to 1: how much of each label is spread evenly over all classes
  double delta;                 // huber: where the square ends; 0 means 1
  tsr_tensor *weight;           // of each class (labels), or of each element, broadcast to the loss; NULL: 1
  tsr_tensor *positive_weight;  // weight of the positive part (target near 1), broadcast to the loss; NULL: 1
} tsr_loss_desc;

// --- Writing by index ------------------------------------------------------------------------------------------------

// How a new element is combined with the old one, and how several new ones for the same position are combined.
typedef enum tsr_combine {
  TSR_COMBINE_REPLACE,  // the last in row-major order stays
  TSR_COMBINE_ADD,
  TSR_COMBINE_MUL,
  TSR_COMBINE_MAX,
  TSR_COMBINE_MIN
} tsr_combine;

typedef struct tsr_scatter_desc {
  tsr_combine combine;
} tsr_scatter_desc;

// --- Windows ---------------------------------------------------------------------------------------------------------

// Most spatial axes of convolutions and pooling. Entry i of each array below belongs to spatial axis i of the tensor; entries beyond its last spatial axis
// are not read.
#define TSR_MAX_SPATIAL 3

typedef enum tsr_padding {
  TSR_PADDING_GIVEN,       // .before and .after
  TSR_PADDING_SAME,        // as much as makes ceil(size / stride) windows; an odd one goes after the axis
  TSR_PADDING_SAME_BEFORE  // as TSR_PADDING_SAME, but an odd one goes before the axis
} tsr_padding;

typedef struct tsr_conv_desc {
  int64_t stride[TSR_MAX_SPATIAL];    // from one window to the next; 0 means 1
  int64_t dilation[TSR_MAX_SPATIAL];  // from one element of a window to the next; 0 means 1
  int64_t before[TSR_MAX_SPATIAL];    // zeros before each axis (transposed: elements of the result left out there)
  int64_t after[TSR_MAX_SPATIAL];     // and after it
  int64_t output_padding[TSR_MAX_SPATIAL];  // transposed: additional elements at the end of the result
  int64_t groups;                           // number of groups of channels, each convolved by itself; 0 means 1
  tsr_padding padding;
  bool channels_last;  // x and the result are [image, spatial …, channel]
} tsr_conv_desc;

typedef struct tsr_pool_desc {
  int64_t size[TSR_MAX_SPATIAL];      // of a window; 0 means the whole axis
  int64_t stride[TSR_MAX_SPATIAL];    // from one window to the next; 0 means the window's size
  int64_t dilation[TSR_MAX_SPATIAL];  // from one element of a window to the next; 0 means 1
  int64_t before[TSR_MAX_SPATIAL];    // padding before each axis: positions that windows may cover, without elements
  int64_t after[TSR_MAX_SPATIAL];     // and after it
  // Adaptive pooling: the number of windows that cover each axis, in place of all options above. 0: not adaptive.
  int64_t output[TSR_MAX_SPATIAL];
  double power;         // lp_pool: p; 0 means 2
  bool rounds_up;       // elements left over at the end get a (smaller) window of their own
  bool counts_padding;  // avg_pool: positions of the padding count in the mean, as 0
  bool channels_last;   // x and the result are [image, spatial …, channel]
} tsr_pool_desc;

typedef enum tsr_resize_mode {
  TSR_RESIZE_NEAREST,  // the nearest element
  TSR_RESIZE_LINEAR,   // two neighbours, weighted by their distance
  TSR_RESIZE_CUBIC     // four neighbours
} tsr_resize_mode;

// Where an element of the result comes from, with ONNX' names and formulas: n elements become m, scale is m / n or given.
typedef enum tsr_resize_coordinates {
  TSR_RESIZE_HALF_PIXEL,            // (i + 0.5) / scale - 0.5
  TSR_RESIZE_PYTORCH_HALF_PIXEL,    // the same, and 0 where m is 1
  TSR_RESIZE_ALIGN_CORNERS,         // i * (n - 1) / (m - 1): first and last elements stay
  TSR_RESIZE_ASYMMETRIC,            // i / scale
  TSR_RESIZE_HALF_PIXEL_SYMMETRIC,  // as half_pixel, around the middle where m was rounded
  TSR_RESIZE_CROP                   // tf_crop_and_resize: from start * (n - 1) to stop * (n - 1), and .outside beyond x
} tsr_resize_coordinates;

// Which of two neighbours is the nearest.
typedef enum tsr_resize_rounding {
  TSR_RESIZE_ROUND_PREFER_FLOOR,  // the nearer one; of two equally near the first
  TSR_RESIZE_ROUND_PREFER_CEIL,   // the nearer one; of two equally near the second
  TSR_RESIZE_FLOOR,               // the first
  TSR_RESIZE_CEIL                 // the second
} tsr_resize_rounding;

// Entry i of each array belongs to the i-th axis that is resized.
typedef struct tsr_resize_desc {
  tsr_resize_mode mode;
  tsr_resize_coordinates coordinates;
  tsr_resize_rounding rounding;   // nearest
  double scale[TSR_MAX_SPATIAL];  // what the formulas call scale; 0 means m / n
  double start[TSR_MAX_SPATIAL];  // crop: where it begins and ends, 0 to 1 being all of x
  double stop[TSR_MAX_SPATIAL];
  double outside;         // crop: the value of elements beyond x
  double cubic;           // cubic: the coefficient; 0 means -0.75
  bool excludes_outside;  // elements beyond x have weight 0; else the first and the last element are repeated there
} tsr_resize_desc;

typedef enum tsr_grid_mode {
  TSR_GRID_LINEAR,
  TSR_GRID_NEAREST,
  TSR_GRID_CUBIC  // of images with two axes; the coefficient is -0.75
} tsr_grid_mode;

// What is read beyond an image.
typedef enum tsr_grid_padding {
  TSR_GRID_ZEROS,      // 0
  TSR_GRID_BORDER,     // the outermost elements
  TSR_GRID_REFLECTION  // the image mirrored at its ends
} tsr_grid_padding;

typedef struct tsr_grid_desc {
  tsr_grid_mode mode;
  tsr_grid_padding padding;
  bool align_corners;  // -1 and 1 are the middles of the outermost elements; else the ends of the image
} tsr_grid_desc;

typedef struct tsr_roi_desc {
  int64_t rows;      // of the result; 0 means 1
  int64_t columns;   // of the result; 0 means 1
  int64_t points;    // points read in each part, along each axis; 0: as many as the part has elements there
  double scale;      // from coordinates of regions to those of x; 0 means 1
  bool takes_max;    // the largest of the points; else their mean
  bool not_aligned;  // element 0 is at 0, not at 0.5, and regions are at least 1 by 1, as in the first publications
} tsr_roi_desc;

typedef enum tsr_bag_mode { TSR_BAG_SUM, TSR_BAG_MEAN, TSR_BAG_MAX } tsr_bag_mode;

typedef struct tsr_bag_desc {
  tsr_bag_mode mode;
  bool ignores;         // whether indices equal to `ignored` are skipped
  int64_t ignored;      // choose a value beyond the table: -1 would mean its last row
  tsr_tensor *weights;  // sum: of each index, in the shape of the indices; NULL: 1
} tsr_bag_desc;

typedef struct tsr_nms_desc {
  // a box is dropped if its intersection with a better box is more than this part of their union; 0 means 0.5
  double overlap;
  int64_t most;    // boxes of each class of each image; 0: any number
  double least;    // with .drops_low: boxes whose score is not above it are dropped
  bool drops_low;  // whether .least counts
  bool is_centre;  // a box is x and y of its middle, width, height; else two opposite corners
} tsr_nms_desc;

// Options of rnn, lstm and gru.
typedef struct tsr_recurrent_desc {
  tsr_tensor *bias_input;   // [gates * hidden], NULL: 0
  tsr_tensor *bias_hidden;  // [gates * hidden], NULL: 0
  tsr_tensor *hidden;       // the state before the first step, [batch, hidden]; NULL: 0
  tsr_tensor *cell;         // lstm: the cell before the first step
  bool reverse;             // steps are taken from the last one to the first
  bool relu;                // rnn: relu in place of tanh
} tsr_recurrent_desc;

// --- Attention -------------------------------------------------------------------------------------------------------

typedef struct tsr_attention_desc {
  double scale;    // of the products of queries and keys; 0 means 1 / sqrt(size of a head)
  double softcap;  // c: each score s becomes c * tanh(s / c); 0: no soft cap
  int64_t window;  // causal: a query attends to this many keys up to its own position; 0: to all of them
  // ALiBi, a slope for each head: slope * (position of the key - position of the query) is added to each score. NULL: none.
  tsr_tensor *slopes;
  // A paged cache: k and v are [blocks, kv heads, positions of a block, size], and row b of `blocks`, [batch, blocks of a sequence], lists the
  // blocks of sequence b, in order. Keys in blocks that do not exist are ignored. NULL: k and v are [batch, kv heads, keys, size].
  tsr_tensor *blocks;
  tsr_tensor *lengths;  // [batch]: of sequence b, only the first lengths[b] keys exist. NULL: all do
  // A query attends only to keys up to its own position; the last query is at the position of the last key.
  bool causal;
} tsr_attention_desc;

// --- Transformers ----------------------------------------------------------------------------------------------------

typedef struct tsr_rope_desc {
  double base;   // pair i of n pairs is rotated by the angle position * base^(-i / n); 0 means 10000
  double scale;  // factor of positions: 0.5 is linear interpolation to twice the length, -1 rotates back; 0 means 1
  int64_t size;  // how many elements of the last axis are rotated, from its beginning; 0 means all
  tsr_tensor *frequencies;  // one for each pair, used in place of base^(-i / n); NULL: none
  bool interleaved;         // pairs are neighbours, 2i and 2i + 1; else i and i + n
} tsr_rope_desc;

// What is applied to each element of a product.
typedef enum tsr_activation {
  TSR_ACTIVATION_NONE,
  TSR_ACTIVATION_RELU,
  TSR_ACTIVATION_GELU,
  TSR_ACTIVATION_GELU_TANH,
  TSR_ACTIVATION_SILU,
  TSR_ACTIVATION_SIGMOID,
  TSR_ACTIVATION_TANH
} tsr_activation;

// How tsr_sample chooses a class by its logit. The options are applied in this order.
typedef struct tsr_sample_desc {
  double temperature;  // logits are divided by it; 0 means 1
  int64_t top_k;       // only this many of the most probable classes; 0: all. 1 always chooses the most probable one
  double top_p;        // only the most probable classes that together reach this probability, at least one; 0 means 1
  double min_p;        // only classes with at least this share of the probability of the most probable one
} tsr_sample_desc;

typedef struct tsr_linear_desc {
  tsr_activation activation;
  tsr_tensor *residual;  // of the result's shape, added after the activation; NULL: none
} tsr_linear_desc;

// --- Quantised weights -----------------------------------------------------------------------------------------------

// Blocks of weights as GGUF files store them, little-endian. The elements of a block are neighbours on the last axis. The last part of each comment is the formula
// of an element; d and m are f16, q is the stored integer of the element.
typedef enum tsr_quant_format {
  TSR_QUANT_Q8_0,  // 32 elements in 34 bytes, 8.5 bits each: d, then q of 8 bits; d * q
  TSR_QUANT_Q4_0,  // 32 elements in 18 bytes, 4.5 bits each: d, then q of 4 bits; d * (q - 8)
  TSR_QUANT_Q4_K,  // 256 elements in 144 bytes, 4.5 bits each: d and m; each 32 have a scale s and a minimum t of 6 bits; d * s * q - m * t
  TSR_QUANT_Q6_K  // 256 elements in 210 bytes, 6.6 bits each: q of 6 bits, each 16 have a scale s of 8 bits, d; d * s * (q - 32)
} tsr_quant_format;

#define TSR_QUANT_FORMAT_COUNT 4

#ifdef __cplusplus
}
#endif

#endif
