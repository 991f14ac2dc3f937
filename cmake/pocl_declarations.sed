# SPDX-License-Identifier: MIT
# Of Clang's opencl-c.h, leaves out declarations that our kernels do not use (pocl.cmake): sed -E -f.
/__ovld.*;$/ {
  # Functions of vectors, except loads and stores of two and four elements.
  /(char|short|int|long|float|double|half)(3|8|16)[^0-9a-z_]/ d
  /(char|short|int|long|float|double|half)[24][^0-9a-z_]/ {
    /v(load|store)/ ! d
  }
  # Images, copies by work-groups, atomics of C11.
  /image|event_t|_explicit\(|atomic_(u?int|u?long|float|double|flag|half)/ d
}
