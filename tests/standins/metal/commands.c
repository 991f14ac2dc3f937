// SPDX-License-Identifier: MIT
// Command queues, command buffers and encoders, and the thread that runs what was committed.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "standins/metal/metal.h"

#pragma GCC diagnostic ignored "-Wcast-function-type"

typedef enum command_kind { COMMAND_LAUNCH, COMMAND_COPY, COMMAND_SIGNAL, COMMAND_WAIT, COMMAND_PRODUCT } command_kind;

typedef struct binding {
  buffer *memory;  // NULL: `bytes`, or nothing
  size_t offset;
  void *bytes;
} binding;

typedef struct command {
  struct command *next;
  command_kind kind;
  pipeline *pipeline;
  binding bindings[MOST_ARGUMENTS];
  uint32_t groups[3], local[3];
  buffer *from, *to;
  size_t from_offset, to_offset, bytes;
  event *event;
  uint64_t value;
  product product;
} command;

typedef struct queue {
  objc_object base;
  gpu *device;
} queue;

enum { STATUS_NEW = 0, STATUS_COMMITTED = 2, STATUS_COMPLETED = 4, STATUS_ERROR = 5 };

typedef struct command_buffer {
  objc_object base;
  queue *queue;
  command *first, **last;
  int has_encoder;
  unsigned long status;  // with the lock, as all below
  id error;
  double start, end;
  struct command_buffer *later;  // in the list of those to run
} command_buffer;

typedef struct encoder {
  objc_object base;
  command_buffer *commands;
  int has_ended;
  pipeline *pipeline;
  binding bindings[MOST_ARGUMENTS];
} encoder;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static command_buffer *oldest;  // of those to run

// --- Bindings and commands ----------------------------------------------------------------------------------------------------

static void clear_binding(binding *b) {
  if (b->memory) drop(&b->memory->base);
  free(b->bytes);
  *b = (binding){0};
}

static void *copy_bytes(const void *bytes, size_t count) {
  void *copy = malloc(count);
  if (!copy) misuse("no memory");
  return memcpy(copy, bytes, count);
}

static void end_command(command *c) {
  for (int i = 0; i < MOST_ARGUMENTS; i++) clear_binding(&c->bindings[i]);
  id held[] = {(id)c->pipeline,  (id)c->from,      (id)c->to,       (id)c->event,
               (id)c->product.a, (id)c->product.b, (id)c->product.y};
  for (size_t i = 0; i < sizeof held / sizeof *held; i++) drop(held[i]);
  free(c);
}

static command *add_command(command_buffer *commands, command_kind kind) {
  command *c = calloc(1, sizeof *c);
  if (!c) misuse("no memory");
  if (commands->status != STATUS_NEW) misuse("a command for a command buffer that was committed");
  c->kind = kind;
  *commands->last = c;
  commands->last = &c->next;
  return c;
}

// --- Running --------------------------------------------------------------------------------------------------------------------

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static uint64_t event_value(event *e) { return __atomic_load_n(&e->value, __ATOMIC_ACQUIRE); }

static int may_run(const command_buffer *commands) {
  for (const command *c = commands->first; c; c = c->next) {
    if (c->kind == COMMAND_WAIT && event_value(c->event) < c->value) return 0;
  }
  return 1;
}

// The newest whose queue has nothing older to run, and that waits for no event.
static command_buffer **choose(void) {
  command_buffer **best = NULL;
  for (command_buffer **link = &oldest; *link; link = &(*link)->later) {
    int is_first = 1;
    for (command_buffer *c = oldest; c != *link; c = c->later) is_first = is_first && c->queue != (*link)->queue;
    if (is_first && may_run(*link)) best = link;
  }
  return best;
}

static int counts_down(int *count) { return *count > 0 && --*count == 0; }

static id run_launch(const command *c, gpu *device) {
  void *arguments[MOST_ARGUMENTS] = {NULL};
  char message[512];
  lock_state();
  state()->launches++;
  int fails = counts_down(&state()->fails);
  if (counts_down(&state()->lost)) device->is_lost = 1;
  unlock_state();
  if (fails) return make_error(ERROR_INTERNAL, "the launch was told to fail");
  if (device->is_lost) return make_error(ERROR_DEVICE_REMOVED, "the GPU is gone");
  for (int i = 0; i < MOST_ARGUMENTS; i++) {
    const binding *b = &c->bindings[i];
    arguments[i] = b->memory ? b->memory->data + b->offset : b->bytes;
  }
  standin_launch launch = {.kernel = c->pipeline->function->kernel, .arguments = arguments, .wave = 32};
  memcpy(launch.groups, c->groups, sizeof launch.groups);
  memcpy(launch.local, c->local, sizeof launch.local);
  return standin_run(&launch, message, sizeof message) ? NULL : make_error(ERROR_INTERNAL, message);
}

static float element(const buffer *b, size_t offset) {
  float value = 0;
  if (offset + sizeof value > b->bytes)
    misuse("a matrix reaches %zu bytes into a buffer of %zu", offset + sizeof value, b->bytes);
  memcpy(&value, b->data + offset, sizeof value);
  return value;
}

static void run_product(const product *p) {
  for (size_t batch = 0; batch < p->count; batch++) {
    for (size_t i = 0; i < p->m; i++) {
      for (size_t j = 0; j < p->n; j++) {
        float sum = 0;
        for (size_t k = 0; k < p->k; k++) {
          size_t a = p->is_transposed[0] ? k * p->rows[0] + i * 4 : i * p->rows[0] + k * 4;
          size_t b = p->is_transposed[1] ? j * p->rows[1] + k * 4 : k * p->rows[1] + j * 4;
          sum += element(p->a, p->offsets[0] + batch * p->batches[0] + a) *
                 element(p->b, p->offsets[1] + batch * p->batches[1] + b);
        }
        sum *= (float)p->alpha;
        size_t at = p->offsets[2] + batch * p->batches[2] + i * p->rows[2] + j * 4;
        (void)element(p->y, at);
        memcpy(p->y->data + at, &sum, sizeof sum);
      }
    }
  }
  __atomic_add_fetch(&state()->products, 1, __ATOMIC_RELAXED);
}

static id run_command(const command *c, gpu *device) {
  switch (c->kind) {
    case COMMAND_LAUNCH:
      return run_launch(c, device);
    case COMMAND_COPY:
      memmove(c->to->data + c->to_offset, c->from->data + c->from_offset, c->bytes);
      __atomic_add_fetch(&state()->copies, 1, __ATOMIC_RELAXED);
      return NULL;
    case COMMAND_SIGNAL:
      __atomic_store_n(&c->event->value, c->value, __ATOMIC_RELEASE);
      return NULL;
    case COMMAND_PRODUCT:
      run_product(&c->product);
      return NULL;
    default:
      return NULL;
  }
}

// Events are signalled even by work that fails, or others would wait for ever.
static void run_buffer(command_buffer *commands) {
  gpu *device = commands->queue->device;
  id failed = device->is_lost ? make_error(ERROR_DEVICE_REMOVED, "the GPU is gone") : NULL;
  double start = now();
  if (state()->slow > 0) usleep((useconds_t)state()->slow);
  for (const command *c = commands->first; c; c = c->next) {
    if (!failed || c->kind == COMMAND_SIGNAL) {
      id error = run_command(c, device);
      if (error) failed = error;
    }
  }
  pthread_mutex_lock(&lock);
  commands->start = start;
  commands->end = now();
  commands->error = failed;
  commands->status = failed ? STATUS_ERROR : STATUS_COMPLETED;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
}

static void *work(void *unused) {
  (void)unused;
  pthread_mutex_lock(&lock);
  for (;;) {
    command_buffer **link = choose();
    if (!link) {
      pthread_cond_wait(&changed, &lock);
      continue;
    }
    command_buffer *commands = *link;
    pthread_mutex_unlock(&lock);
    run_buffer(commands);  // stays in the list meanwhile, so that nothing later of its queue begins
    pthread_mutex_lock(&lock);
    command_buffer **again = &oldest;
    while (*again != commands) again = &(*again)->later;
    *again = commands->later;
    pthread_mutex_unlock(&lock);
    drop(&commands->base);
    pthread_mutex_lock(&lock);
  }
  return NULL;
}

static void start_worker(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, work, NULL) != 0) misuse("no thread for the GPU's work");
  pthread_detach(thread);
}

// --- Encoders -------------------------------------------------------------------------------------------------------------------

static void end_encoder(id self) {
  encoder *e = (encoder *)self;
  if (!e->has_ended) misuse("an encoder is released before endEncoding");
  for (int i = 0; i < MOST_ARGUMENTS; i++) clear_binding(&e->bindings[i]);
  drop((id)e->pipeline);
  drop(&e->commands->base);
}

static encoder *open_encoder(id self) {
  encoder *e = (encoder *)self;
  if (e->has_ended) misuse("a command for an encoder that has ended");
  return e;
}

static void end_encoding(id self, SEL selector) {
  (void)selector;
  open_encoder(self)->commands->has_encoder = 0;
  ((encoder *)self)->has_ended = 1;
}

static void set_pipeline(id self, SEL selector, id given) {
  (void)selector;
  encoder *e = open_encoder(self);
  if (!given) misuse("setComputePipelineState: of nil");
  keep(given);
  drop((id)e->pipeline);
  e->pipeline = (pipeline *)given;
}

static binding *binding_at(id self, unsigned long index) {
  if (index >= MOST_ARGUMENTS) misuse("argument %lu of at most %d", index, MOST_ARGUMENTS);
  binding *b = &open_encoder(self)->bindings[index];
  clear_binding(b);
  return b;
}

static void set_buffer(id self, SEL selector, id given, unsigned long offset, unsigned long index) {
  (void)selector;
  binding *b = binding_at(self, index);
  b->memory = (buffer *)keep(given);
  b->offset = offset;
  if (given && offset >= b->memory->bytes) misuse("offset %lu in a buffer of %zu bytes", offset, b->memory->bytes);
}

static void set_bytes(id self, SEL selector, const void *bytes, unsigned long count, unsigned long index) {
  (void)selector;
  if (count == 0 || count > MOST_INLINE_BYTES) misuse("setBytes of %lu bytes", count);
  binding_at(self, index)->bytes = copy_bytes(bytes, count);
  // The size is not kept: the address sanitizer knows it.
}

// Metal copies the arguments that the pipeline has; a later launch may change any of them.
static void dispatch(id self, SEL selector, size3 groups, size3 local) {
  (void)selector;
  encoder *e = open_encoder(self);
  if (!e->pipeline) misuse("a launch without a pipeline");
  unsigned long items = local.width * local.height * local.depth;
  if (items == 0 || items > e->pipeline->function->max_items) misuse("groups of %lu items", items);
  if (groups.width == 0 || groups.height == 0 || groups.depth == 0) misuse("a launch without groups");
  command *c = add_command(e->commands, COMMAND_LAUNCH);
  c->pipeline = (pipeline *)keep((id)e->pipeline);
  const uint32_t sizes[6] = {(uint32_t)groups.width, (uint32_t)groups.height, (uint32_t)groups.depth,
                             (uint32_t)local.width,  (uint32_t)local.height,  (uint32_t)local.depth};
  memcpy(c->groups, sizes, sizeof c->groups);
  memcpy(c->local, sizes + 3, sizeof c->local);
  uint32_t count = standin_argument_count(e->pipeline->function->kernel);
  for (uint32_t i = 0; i < count; i++) {
    binding *b = &e->bindings[i];
    c->bindings[i] = (binding){(buffer *)keep((id)b->memory), b->offset, NULL};
    if (!b->bytes) continue;
    c->bindings[i].bytes = b->bytes;  // given away: each launch sets its own
    b->bytes = NULL;
  }
}

static void blit_copy(id self, SEL selector, id from, unsigned long from_offset, id to, unsigned long to_offset,
                      unsigned long bytes) {
  (void)selector;
  encoder *e = open_encoder(self);
  buffer *source = (buffer *)from, *target = (buffer *)to;
  if ((from_offset | to_offset | bytes) % 4 != 0) misuse("a copy that is no multiple of four bytes");
  if (from_offset + bytes > source->bytes || to_offset + bytes > target->bytes) misuse("a copy beyond a buffer's end");
  command *c = add_command(e->commands, COMMAND_COPY);
  c->from = (buffer *)keep(from);
  c->to = (buffer *)keep(to);
  c->from_offset = from_offset;
  c->to_offset = to_offset;
  c->bytes = bytes;
}

static const objc_class compute_class = {
    .name = "MTLComputeCommandEncoder",
    .bytes = sizeof(encoder),
    .end = end_encoder,
    .methods = (const objc_method[]){METHOD("endEncoding", end_encoding),
                                     METHOD("setComputePipelineState:", set_pipeline),
                                     METHOD("setBuffer:offset:atIndex:", set_buffer),
                                     METHOD("setBytes:length:atIndex:", set_bytes),
                                     METHOD("dispatchThreadgroups:threadsPerThreadgroup:", dispatch),
                                     {NULL, NULL}}};
static const objc_class blit_class = {
    .name = "MTLBlitCommandEncoder",
    .bytes = sizeof(encoder),
    .end = end_encoder,
    .methods = (const objc_method[]){METHOD("endEncoding", end_encoding),
                                     METHOD("copyFromBuffer:sourceOffset:toBuffer:destinationOffset:size:", blit_copy),
                                     {NULL, NULL}}};

static id make_encoder(command_buffer *commands, const objc_class *class) {
  if (commands->has_encoder) misuse("a second encoder before endEncoding of the first");
  commands->has_encoder = 1;
  encoder *e = (encoder *)make_object(class);
  e->commands = (command_buffer *)keep(&commands->base);
  return autorelease(&e->base);
}

static id compute_encoder(id self, SEL selector) {
  (void)selector;
  return make_encoder((command_buffer *)self, &compute_class);
}
static id blit_encoder(id self, SEL selector) {
  (void)selector;
  return make_encoder((command_buffer *)self, &blit_class);
}

// --- Command buffers --------------------------------------------------------------------------------------------------------------

static void end_buffer(id self) {
  command_buffer *commands = (command_buffer *)self;
  for (command *c = commands->first, *next; c; c = next) {
    next = c->next;
    end_command(c);
  }
  drop(commands->error);
  drop(&commands->queue->base);
}

static command_buffer *without_encoder(id self) {
  command_buffer *commands = (command_buffer *)self;
  if (commands->has_encoder) misuse("a command buffer is used while an encoder is open");
  return commands;
}

static void add_event(id self, command_kind kind, id given, uint64_t value) {
  command *c = add_command(without_encoder(self), kind);
  c->event = (event *)keep(given);
  c->value = value;
}
static void encode_signal(id self, SEL selector, id given, uint64_t value) {
  (void)selector;
  add_event(self, COMMAND_SIGNAL, given, value);
}
static void encode_wait(id self, SEL selector, id given, uint64_t value) {
  (void)selector;
  add_event(self, COMMAND_WAIT, given, value);
}

void encode_product(id self, const product *p) {
  command *c = add_command(without_encoder(self), COMMAND_PRODUCT);
  c->product = *p;
  keep(&p->a->base), keep(&p->b->base), keep(&p->y->base);
}

static void commit(id self, SEL selector) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  (void)selector;
  command_buffer *commands = without_encoder(self);
  pthread_once(&once, start_worker);
  pthread_mutex_lock(&lock);
  if (commands->status != STATUS_NEW) misuse("a command buffer is committed twice");
  commands->status = STATUS_COMMITTED;
  command_buffer **link = &oldest;
  while (*link) link = &(*link)->later;
  *link = (command_buffer *)keep(self);
  state()->command_buffers++;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
}

static void wait_for(id self, SEL selector) {
  (void)selector;
  command_buffer *commands = (command_buffer *)self;
  pthread_mutex_lock(&lock);
  if (commands->status == STATUS_NEW) misuse("waiting for a command buffer that was not committed");
  while (commands->status < STATUS_COMPLETED) pthread_cond_wait(&changed, &lock);
  pthread_mutex_unlock(&lock);
}

static unsigned long status_of(id self, SEL selector) {
  (void)selector;
  pthread_mutex_lock(&lock);
  unsigned long status = ((command_buffer *)self)->status;
  pthread_mutex_unlock(&lock);
  return status;
}
static id error_of(id self, SEL selector) {
  (void)selector;
  return ((command_buffer *)self)->error;
}
static double start_time(id self, SEL selector) {
  (void)selector;
  return ((command_buffer *)self)->start;
}
static double end_time(id self, SEL selector) {
  (void)selector;
  return ((command_buffer *)self)->end;
}

static const objc_class buffer_of_commands_class = {
    .name = "MTLCommandBuffer",
    .bytes = sizeof(command_buffer),
    .end = end_buffer,
    .methods = (const objc_method[]){METHOD("computeCommandEncoder", compute_encoder),
                                     METHOD("blitCommandEncoder", blit_encoder),
                                     METHOD("encodeSignalEvent:value:", encode_signal),
                                     METHOD("encodeWaitForEvent:value:", encode_wait),
                                     METHOD("commit", commit),
                                     METHOD("waitUntilCompleted", wait_for),
                                     METHOD("status", status_of),
                                     METHOD("error", error_of),
                                     METHOD("GPUStartTime", start_time),
                                     METHOD("GPUEndTime", end_time),
                                     {NULL, NULL}}};

// --- Queues -----------------------------------------------------------------------------------------------------------------------

static void end_queue(id self) { drop(&((queue *)self)->device->base); }

static id new_command_buffer(id self, SEL selector) {
  (void)selector;
  command_buffer *commands = (command_buffer *)make_object(&buffer_of_commands_class);
  commands->queue = (queue *)keep(self);
  commands->last = &commands->first;
  return autorelease(&commands->base);
}

static const objc_class queue_class = {
    .name = "MTLCommandQueue",
    .bytes = sizeof(queue),
    .end = end_queue,
    .methods = (const objc_method[]){METHOD("commandBuffer", new_command_buffer), {NULL, NULL}}};

id make_queue(gpu *device) {
  queue *q = (queue *)make_object(&queue_class);
  q->device = (gpu *)keep(&device->base);
  return &q->base;
}

const objc_class *const command_classes[] = {NULL};
