// SPDX-License-Identifier: MIT
// What our files use of Apple's <mach/mach.h>, to check their syntax elsewhere (tests/standins/README.md).
#ifndef STANDIN_DARWIN_MACH_MACH_H
#define STANDIN_DARWIN_MACH_MACH_H

typedef int kern_return_t;
typedef unsigned int mach_msg_type_number_t;
typedef unsigned int mach_port_t;
typedef int *host_info64_t;
typedef struct vm_statistics64 {
  unsigned int free_count, active_count, inactive_count, wire_count;
  unsigned int purgeable_count;
} vm_statistics64_data_t;
#define HOST_VM_INFO64       4
#define HOST_VM_INFO64_COUNT ((mach_msg_type_number_t)(sizeof(vm_statistics64_data_t) / sizeof(int)))
#define KERN_SUCCESS         0
extern unsigned long vm_kernel_page_size;
mach_port_t mach_host_self(void);
kern_return_t host_statistics64(mach_port_t, int, host_info64_t, mach_msg_type_number_t *);

#endif
