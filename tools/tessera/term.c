// SPDX-License-Identifier: MIT
// The terminal: whether there is one, its width, and its colours.
#include "term.h"

#include <stdlib.h>
#include <string.h>

#if defined(_WIN32)
#include <io.h>
#include <windows.h>

static bool is_terminal(void) { return _isatty(_fileno(stdout)) != 0; }

static int window_columns(void) {
  CONSOLE_SCREEN_BUFFER_INFO info;
  if (!GetConsoleScreenBufferInfo(GetStdHandle(STD_OUTPUT_HANDLE), &info)) return 0;
  return info.srWindow.Right - info.srWindow.Left + 1;
}

void term_init(void) {
  DWORD mode = 0;
  HANDLE console = GetStdHandle(STD_OUTPUT_HANDLE);
  if (GetConsoleMode(console, &mode)) {
    SetConsoleMode(console, mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING);
  }
}
#elif defined(__wasm__)
static bool is_terminal(void) { return false; }

static int window_columns(void) { return 0; }

void term_init(void) {}
#else
#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

static bool is_terminal(void) { return isatty(STDOUT_FILENO) != 0; }

static int window_columns(void) {
  struct winsize size = {0};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

void term_init(void) {
  for (int descriptor = STDIN_FILENO; descriptor <= STDERR_FILENO; descriptor++) {
    if (fcntl(descriptor, F_GETFD) != -1 || errno != EBADF) continue;
    // Opened in the wrong mode, so that using it is an error. open() returns the lowest free descriptor, which is this
    // one.
    if (open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY) == -1) return;
  }
}
#endif

bool term_has_colour(void) {
  const char *forbidden = getenv("NO_COLOR"), *kind = getenv("TERM");
  if (forbidden && *forbidden) return false;
#if !defined(_WIN32)  // the Windows console needs no TERM
  if (!kind || !*kind) return false;
#endif
  if (kind && strcmp(kind, "dumb") == 0) return false;
  return is_terminal();
}

bool term_is_terminal(void) { return is_terminal(); }

int term_columns(void) {
  const char *given = getenv("COLUMNS");
  int columns = given ? atoi(given) : 0;
  if (columns <= 0 && is_terminal()) columns = window_columns();  // a serial line may not know its width
  return columns > 0 ? columns : 80;
}

const char *term_begin(term_style style, bool colour) {
  static const char *const sequences[] = {
      [TERM_PLAIN] = "",        [TERM_BOLD] = "\x1b[1m", [TERM_DIM] = "\x1b[2m",
      [TERM_GOOD] = "\x1b[32m", [TERM_BAD] = "\x1b[31m",
  };
  return colour ? sequences[style] : "";
}

const char *term_end(term_style style, bool colour) { return colour && style != TERM_PLAIN ? "\x1b[0m" : ""; }
