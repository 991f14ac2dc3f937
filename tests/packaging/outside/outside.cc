// SPDX-License-Identifier: MIT
// The same from C++: the headers declare C linkage, so this links.
#include <tessera/tessera.h>
#include <cstdio>

int main() {
  std::printf("outside: tessera %s works from C++\n", tsr_version());
  return tsr_status_name(TSR_OK) == nullptr;
}
