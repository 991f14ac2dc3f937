// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "platform/trust.h"
#include "support/test.h"

static char folder[64], resolved[TSRI_PATH_BYTES], reason[256];

// Two results may be in use at the same time.
static const char *inside(const char *name) {
  static char paths[2][128];
  static int turn;
  char *path = paths[turn ^= 1];
  snprintf(path, sizeof paths[0], "%s/%s", folder, name);
  return path;
}

static void begin(void) {
  snprintf(folder, sizeof folder, "/tmp/tessera-trust-XXXXXX");
  CHECK(mkdtemp(folder) != NULL);
  FILE *file = tsri_private_file_create(inside("file"));
  CHECK(file != NULL && fputs("text", file) >= 0 && fclose(file) == 0);
}

static void end(void) {
  chmod(folder, 0700);
  remove(inside("file"));
  remove(inside("other"));
  CHECK(rmdir(folder) == 0);
}

static bool is_trusted(const char *path) { return tsri_path_is_trusted(path, resolved, reason, sizeof reason); }

TEST(a_process_of_its_own_user_sees_variables_that_are_not_empty) {
  CHECK(!tsri_has_borrowed_rights());
  setenv("TSR_TEST_TRUST", "value", 1);
  CHECK_STR(tsri_environment("TSR_TEST_TRUST"), "value");
  setenv("TSR_TEST_TRUST", "", 1);
  CHECK(tsri_environment("TSR_TEST_TRUST") == NULL);
  unsetenv("TSR_TEST_TRUST");
  CHECK(tsri_environment("TSR_TEST_TRUST") == NULL);
}

TEST(what_only_its_user_can_change_is_trusted_below_a_sticky_folder) {
  begin();
  CHECK(is_trusted("/"));
  CHECK(is_trusted(inside("file")));
  CHECK_STR(resolved, inside("file"));
  CHECK(!is_trusted("/tmp"));  // sticky, but writable by everybody itself
  CHECK_STR_HAS(reason, "the folder /tmp can be written by others (mode 1777");
  end();
}

TEST(what_others_can_write_is_not_trusted_nor_what_is_below_it) {
  begin();
  chmod(inside("file"), 0620);
  CHECK(!is_trusted(inside("file")));
  CHECK_STR_HAS(reason, "can be written by others (mode 0620; chmod go-w");
  chmod(inside("file"), 0600);
  chmod(folder, 0702);
  CHECK(!is_trusted(inside("file")));
  CHECK_STR_HAS(reason, folder);
  CHECK_STR_HAS(reason, "mode 0702");
  end();
}

TEST(links_are_followed_to_what_they_lead_to) {
  begin();
  CHECK(symlink(folder, inside("other")) == 0);
  char through[160];
  snprintf(through, sizeof through, "%s/file", inside("other"));
  CHECK(is_trusted(through));
  CHECK_STR(resolved, inside("file"));
  CHECK(!is_trusted(inside("not there")));
  CHECK_STR_HAS(reason, "No such file");
  end();
}

TEST(what_belongs_to_another_user_is_not_trusted) {
  if (geteuid() != 0) SKIP("only root can give files to another user");
  begin();
  CHECK(chown(inside("file"), 12345, (gid_t)-1) == 0);
  CHECK(!is_trusted(inside("file")));
  CHECK_STR_HAS(reason, "belongs to user 12345, who is neither root nor the user of this process");
  CHECK(tsri_private_file_open(inside("file")) == NULL);
  end();
}

TEST(private_files_are_regular_and_nobody_else_can_write_them) {
  begin();
  struct stat facts;
  CHECK(stat(inside("file"), &facts) == 0);
  CHECK_EQ_INT(facts.st_mode & 07777, 0600);
  CHECK(tsri_private_file_create(inside("file")) == NULL);  // does not overwrite an existing file
  FILE *file = tsri_private_file_open(inside("file"));
  CHECK(file != NULL && fgetc(file) == 't' && fclose(file) == 0);
  chmod(inside("file"), 0602);
  CHECK(tsri_private_file_open(inside("file")) == NULL);
  chmod(inside("file"), 0600);
  CHECK(symlink(inside("file"), inside("other")) == 0);
  CHECK(tsri_private_file_open(inside("other")) == NULL);  // does not follow links
  CHECK(remove(inside("other")) == 0);
  CHECK(mkfifo(inside("other"), 0600) == 0);
  CHECK(tsri_private_file_open(inside("other")) == NULL);  // returns at once
  CHECK(tsri_private_file_open(folder) == NULL);
  end();
}

TEST(the_age_of_a_file_is_that_of_its_last_change) {
  begin();
  CHECK(tsri_file_age(inside("file")) >= 0 && tsri_file_age(inside("file")) < 1000);
  CHECK(tsri_file_age(folder) < 0);
  CHECK(tsri_file_age(inside("not there")) < 0);
  end();
}
