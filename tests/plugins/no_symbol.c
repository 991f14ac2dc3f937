// SPDX-License-Identifier: MIT
// A shared library that is no plug-in.
int tsr_not_a_plugin(void);
int tsr_not_a_plugin(void) { return 0; }
