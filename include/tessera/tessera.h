// SPDX-License-Identifier: MIT
// Tessera: tensors on any device. This header includes all the others.
#ifndef TESSERA_H
#define TESSERA_H

#include <tessera/autocast.h>
#include <tessera/buffer.h>
#include <tessera/cache.h>
#include <tessera/capture.h>
#include <tessera/config.h>
#include <tessera/desc.h>
#include <tessera/device.h>
#include <tessera/dlpack.h>
#include <tessera/dtype.h>
#include <tessera/estimate.h>
#include <tessera/export.h>
#include <tessera/grad.h>
#include <tessera/host.h>
#include <tessera/interrupt.h>
#include <tessera/kernel.h>
#include <tessera/log.h>
#include <tessera/memory.h>
#include <tessera/ops.h>
#include <tessera/optim.h>
#include <tessera/params.h>
#include <tessera/placement.h>
#include <tessera/profile.h>
#include <tessera/queue.h>
#include <tessera/scope.h>
#include <tessera/shape.h>
#include <tessera/status.h>
#include <tessera/tensor.h>
#include <tessera/tune.h>
#include <tessera/version.h>

#endif
